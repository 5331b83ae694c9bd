/**
 * Markdown and code to DOM: the one module that makes elements out of text with markup in it.
 *
 * Everything goes through DOMPurify, as a fragment. Raw HTML in markdown is text, links are
 * checked, images are never loaded: an image's address is the known way to leak what was said.
 *
 * While a text streams it is cut into blocks and only the last ones are made again; what is half
 * typed is closed for the eye by remend, which is loaded with the first text that streams.
 */

import "../vendor/dompurify/purify.min.js";
import { Marked } from "../vendor/marked/marked.esm.js";
import { Directive, directive } from "../vendor/lit-html/directive.js";
import { noChange } from "../vendor/lit-html/lit-html.js";
import { DATE } from "./dates.js";
import { highlighted, languageOf, onceLoaded } from "./highlight.js";
import { safeLink } from "./links.js";

/** The minified file has no exports. */
const { DOMPurify } = globalThis;

const CLEAN = {
  RETURN_DOM_FRAGMENT: true,
  ALLOWED_TAGS: [
    ..."p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote strong em del code pre a span".split(" "),
    ..."table thead tbody tr th td".split(" "),
  ],
  ALLOWED_ATTR: ["href", "rel", "target", "class", "start", "align"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escape = (text) => text.replace(/[&<>"']/g, (character) => ESCAPES[character]);

const anchor = (href, inner) =>
  `<a href="${escape(href)}" target="_blank" rel="noopener noreferrer nofollow">${inner}</a>`;

const marked = new Marked({
  gfm: true,
  renderer: {
    html({ text, block }) {
      return block ? `<p>${escape(text.trim())}</p>` : escape(text);
    },
    link({ href, tokens }) {
      const inner = this.parser.parseInline(tokens);
      const safe = safeLink(href);
      return safe ? anchor(safe, inner) : inner;
    },
    image({ href, text }) {
      const safe = safeLink(href);
      const label = `Image: ${escape(text || "no description")}`;
      return safe ? anchor(safe, label) : `<span class="no-image">${label}</span>`;
    },
    heading({ tokens, depth }) {
      const level = Math.min(depth + 1, 6);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
    checkbox({ checked }) {
      return checked ? "☑ " : "☐ ";
    },
    code({ text, lang }) {
      const language = languageOf(lang);
      const inner = highlighted(text, language) ?? escape(text);
      return `<pre><code class="${language && `language-${language}`}">${inner}</code></pre>`;
    },
  },
});

/** Until it is loaded, and without it, half-typed marks are shown as they are. */
let remend = null;

async function loadRemend(show) {
  const loaded = await import("../vendor/remend/remend.js").catch(() => null);
  if (loaded === null) return;
  remend = loaded.default;
  show();
}

/** Blocks at the end that more text may still change. */
const OPEN_BLOCKS = 2;

class MarkdownView {
  #element;
  #text = "";
  #streaming = false;
  #blocks = [];
  #frozen = { blocks: 0, chars: 0 };

  constructor(element) {
    this.#element = element;
  }

  update(text, streaming) {
    if (text === this.#text && streaming === this.#streaming && this.#blocks.length) return;
    const goesOn = streaming && this.#streaming && text.startsWith(this.#text);
    if (!goesOn) this.#frozen = { blocks: 0, chars: 0 };
    if (streaming && !this.#streaming && !remend) loadRemend(() => this.#streaming && this.#again());
    this.#text = text;
    this.#streaming = streaming;
    this.#again();
  }

  #again() {
    this.#show(this.#frozen.blocks, marked.lexer(this.#text.slice(this.#frozen.chars)), this.#streaming);
  }

  #show(from, tokens, streaming) {
    const visible = tokens.filter((token) => token.type !== "space" && token.type !== "def");
    visible.forEach((token, index) => {
      const isLast = streaming && index === visible.length - 1;
      this.#place(from + index, isLast ? closed(token) : [token]);
    });
    for (const block of this.#blocks.splice(from + visible.length)) block.element.remove();
    if (streaming) this.#freeze(from, tokens, visible);
  }

  #place(index, tokens) {
    const markup = marked.parser(tokens);
    const known = this.#blocks[index];
    if (known?.markup === markup) return;
    const element = blockElement(markup);
    if (known) known.element.replaceWith(element);
    else this.#element.append(element);
    this.#blocks[index] = { markup, element };
  }

  #freeze(from, tokens, visible) {
    const done = visible.length - OPEN_BLOCKS;
    if (done <= 0) return;
    const firstOpen = tokens.indexOf(visible[done]);
    const before = tokens.slice(0, firstOpen);
    const chars = before.reduce((sum, token) => sum + token.raw.length, 0);
    this.#frozen = { blocks: from + done, chars: this.#frozen.chars + chars };
  }
}

/** The tokens of a block that is still being typed, closed. */
function closed(token) {
  if (token.type === "code" || !remend) return [token];
  return marked.lexer(remend(token.raw)).filter((item) => item.type !== "space");
}

function blockElement(markup) {
  const block = document.createElement("div");
  block.className = "block";
  block.append(DOMPurify.sanitize(markup, CLEAN));
  for (const table of block.querySelectorAll("table")) inScroller(table);
  for (const pre of block.querySelectorAll("pre")) withCopy(pre);
  for (const element of block.querySelectorAll("pre > code[class^='language-']")) onceLoaded(() => paintLater(element));
  if (block.textContent.match(DATE)) keepDates(block);
  return block;
}

/** Code that was shown before its colours were loaded. */
function paintLater(element) {
  const markup = highlighted(element.textContent, languageOf(element.className.replace("language-", "")));
  if (markup !== null) element.replaceChildren(DOMPurify.sanitize(markup, CLEAN));
}

function keepDates(block) {
  const texts = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) found.push(texts.currentNode);
  for (const text of found.filter(({ parentElement }) => !parentElement.closest("pre"))) {
    for (const { 0: date, index } of [...text.data.matchAll(DATE)].reverse()) {
      const whole = text.splitText(index);
      whole.splitText(date.length);
      const span = document.createElement("span");
      span.className = "iso";
      whole.replaceWith(span);
      span.append(whole);
    }
  }
}

function inScroller(table) {
  const scroller = document.createElement("div");
  scroller.className = "scroller";
  scroller.tabIndex = 0;
  scroller.role = "region";
  scroller.ariaLabel = "Table";
  table.replaceWith(scroller);
  scroller.append(table);
}

function withCopy(pre) {
  const frame = document.createElement("div");
  frame.className = "code";
  const bar = document.createElement("div");
  bar.className = "code-bar";
  const name = document.createElement("span");
  name.textContent = pre.firstElementChild?.className.replace("language-", "") || "text";
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet copy-code";
  button.textContent = "Copy";
  button.ariaLabel = "Copy code";
  bar.append(name, button);
  pre.tabIndex = 0;
  pre.role = "region";
  pre.ariaLabel = "Code";
  pre.replaceWith(frame);
  frame.append(bar, pre);
}

class MarkdownDirective extends Directive {
  #view;

  update(part, [text, streaming]) {
    this.#view ??= new MarkdownView(part.element);
    this.#view.update(text, streaming);
    return noChange;
  }

  render() {
    return noChange;
  }
}

class CodeDirective extends Directive {
  #shown;

  update(part, [text, language]) {
    if (this.#shown === text) return noChange;
    this.#shown = text;
    const paint = () => {
      const markup = highlighted(text, language);
      if (markup === null) part.element.textContent = text;
      else part.element.replaceChildren(DOMPurify.sanitize(markup, CLEAN));
    };
    paint();
    if (language) onceLoaded(() => this.#shown === text && paint());
    return noChange;
  }

  render() {
    return noChange;
  }
}

/** On an element: `<div ${markdown(text, streaming)}>`. */
export const markdown = directive(MarkdownDirective);

/** On an element: `<code ${code(text, "json")}>`. */
export const code = directive(CodeDirective);
