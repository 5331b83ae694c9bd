/**
 * Markdown and code to DOM: the one module that makes elements out of text with markup in it.
 * Everything goes through DOMPurify, as a fragment.
 *
 * While a text streams only its last blocks are made again (`blocks.js`); what is half typed is
 * closed for the eye by remend, which is loaded with the first text that streams.
 */

import DOMPurify from "../vendor/dompurify/purify.es.js";
import { Directive, directive } from "../vendor/lit-html/directive.js";
import { noChange } from "../vendor/lit-html/lit-html.js";
import { Blocks } from "./blocks.js";
import { legible, LIMITS } from "./bounds.js";
import { splitAtDates } from "./dates.js";
import { mathOf, onceDrawn } from "./formulas.js";
import { highlighted, onceLoaded, pieces } from "./highlight.js";
import { Pace } from "./paint.js";
import { join, patch } from "./patch.js";
import { t } from "./texts.js";

/** @type {{sanitize: (markup: string, options: object) => DocumentFragment}} */
const purifier = DOMPurify;
const CLEAN = {
  RETURN_DOM_FRAGMENT: true,
  ALLOWED_TAGS: [
    ..."div p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote strong em del code pre a span".split(" "),
    ..."table thead tbody tr th td sub sup kbd details summary".split(" "),
  ],
  ALLOWED_ATTR: ["href", "rel", "target", "class", "start", "align", "dir"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};
/** What formulas are made of. */
const CLEAN_MATH = {
  RETURN_DOM_FRAGMENT: true,
  ALLOWED_TAGS: [
    ..."math mrow mi mn mo mtext mspace ms mfrac msqrt mroot mstyle merror mpadded".split(" "),
    ..."mphantom menclose msub msup msubsup munder mover munderover".split(" "),
    ..."mmultiscripts mprescripts mtable mtr mtd".split(" "),
  ],
  ALLOWED_ATTR: [
    ..."display displaystyle scriptlevel class mathvariant form fence separator".split(" "),
    ..."stretchy symmetric largeop movablelimits accent accentunder lspace rspace".split(" "),
    ..."minsize maxsize linethickness width height depth voffset notation".split(" "),
    ..."columnspan rowspan".split(" "),
  ],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

/** Until it is loaded, and without it, half-typed marks are shown as they are. */
let remend = null;

async function loadRemend(show) {
  const loaded = await import("../vendor/remend/remend.js").catch(() => null);
  if (loaded === null) return;
  remend = loaded.default;
  show();
}

class MarkdownView {
  #element;
  #text = "";
  #streaming = false;
  #blocks = new Blocks();
  /** Blocks as they are shown, each with its `element`; `rows`: its nodes that have joined one. */
  #shown = [];
  #pace = new Pace(() => this.#draw());
  /** Languages whose colours are being loaded. */
  #awaited = new Set();
  #isDue = false;

  constructor(element) {
    this.#element = element;
  }

  update(text, streaming) {
    if (text === this.#text && streaming === this.#streaming && this.#shown.length) return;
    if (streaming && !this.#streaming && !remend)
      loadRemend(() => this.#streaming && this.#pace.soon());
    this.#text = text;
    this.#streaming = streaming;
    if (streaming) this.#pace.soon();
    else this.#pace.now();
  }

  /** Draw blocks in place of those that are known; many of them in several tasks. */
  *#draw() {
    const { from, blocks } = this.#blocks.update(this.#text, this.#streaming, remend);
    this.#colourLater(blocks);
    let rest = blocks;
    let known = inPlaceOf(blocks, this.#shown.splice(from));
    while (rest.length) {
      const end = endOfTask(rest, known);
      if (end < blocks.length) yield;
      this.#place(rest.slice(0, end), known);
      rest = rest.slice(end);
      known = known.slice(end);
    }
  }

  #place(blocks, known) {
    const made = elementsOf(blocks.filter((block, i) => !isSame(block, known[i])));
    for (const [i, block] of blocks.entries())
      this.#shown.push(
        isSame(block, known[i])
          ? known[i]
          : { ...block, ...this.#put(made.next().value, block, known[i]) },
      );
  }

  #put(made, { joins }, known) {
    const element = joins
      ? this.#shown.at(-1).element
      : placed(this.#element, known?.element, made);
    const rows = joins
      ? join(rowsOf(element), known?.rows ?? [], [...rowsOf(made).childNodes])
      : [];
    finishLater(element);
    return { element, rows };
  }

  /** Make blocks again once their colours are loaded, which may be before the last is drawn. */
  #colourLater(blocks) {
    const markups = blocks.map(({ markup }) => markup ?? "");
    for (const [, language] of markups.flatMap((markup) => [...markup.matchAll(LANGUAGE)])) {
      if (this.#awaited.has(language)) continue;
      this.#awaited.add(language);
      onceLoaded(language, () => this.#again()).finally(() => this.#awaited.delete(language));
    }
  }

  /** Make all blocks anew, in a task of its own; those that stay as they were are not drawn. */
  #again() {
    if (this.#isDue) return;
    this.#isDue = true;
    setTimeout(() => {
      this.#isDue = false;
      this.#blocks = new Blocks();
      this.#pace.now();
    });
  }
}

/** The language of code, in markup. */
const LANGUAGE = /<code class="language-([^"]+)/g;

/** A hidden tab has no frames that wait, and slow timers. */
const nextTask = () =>
  document.hidden ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve));

/** How many blocks are drawn in one task. */
function endOfTask(blocks, known) {
  let elements = 0;
  const past = blocks.findIndex((block, i) => {
    if (!isSame(block, known[i])) elements += block.elements + LIMITS.elementsPerBlock;
    return elements > LIMITS.elementsPerTask;
  });
  return past < 0 ? blocks.length : Math.max(past, 1);
}

/** Whether a block is what is shown in its place. */
const isSame = ({ text, markup }, known) =>
  known !== undefined && known.markup === markup && (markup !== null || known.text === text);

/** Show a block at the end of a text, or in the element of its place. */
function placed(parent, element, made) {
  if (element?.nodeName === made.nodeName) {
    patch(element, made);
    return element;
  }
  if (element) element.replaceWith(made);
  else parent.append(made);
  return made;
}

/** What the rows of a block are in that others may join. */
const rowsOf = (block) => block.querySelector(":scope > :is(ul, ol), tbody, pre > code");

/** What is shown in the place of each block. What is shown in no place is removed. */
function inPlaceOf(blocks, shown) {
  const groups = [];
  for (const one of shown) {
    if (one.joins) groups.at(-1).push(one);
    else groups.push([one]);
  }
  let group = [];
  const places = blocks.map(({ joins }) => {
    if (!joins) {
      removeAll(group);
      group = groups.shift() ?? [];
    }
    return group.shift();
  });
  removeAll([...group, ...groups.flat()]);
  return places;
}

function removeAll(blocks) {
  for (const { joins, element, rows } of blocks)
    for (const node of joins ? rows : [element]) node.remove();
}

/**
 * The elements of blocks. All HTML is cleaned at once: DOMPurify takes longer to begin than for a
 * block.
 */
function* elementsOf(blocks) {
  const markup = blocks
    .map((block) => `<div class="block" dir="auto">${block.markup ?? ""}</div>`)
    .join("");
  const elements = [...purifier.sanitize(markup, CLEAN).children];
  for (const [i, block] of blocks.entries())
    yield block.markup === null ? plainElement(block.text) : furnished(elements[i]);
}

function plainElement(text) {
  const block = document.createElement("p");
  block.className = "block plain";
  block.dir = "auto";
  block.textContent = text;
  return block;
}

function furnished(block) {
  for (const table of block.querySelectorAll("table")) inScroller(table);
  for (const pre of block.querySelectorAll("pre")) withCopy(pre);
  for (const formula of block.querySelectorAll("code.math")) drawFormula(formula);
  keepDates(block);
  return block;
}

/** The TeX stays if it cannot be drawn. */
function drawFormula(element) {
  const markup = mathOf(element.textContent, element.classList.contains("display"));
  if (markup !== null) element.replaceWith(purifier.sanitize(markup, CLEAN_MATH));
}

const languageIn = (code) => code.className.replace("language-", "");

function finishLater(block) {
  for (const element of block.querySelectorAll("code.math"))
    onceDrawn(() => element.isConnected && drawFormula(element));
}

function keepDates(block) {
  if (splitAtDates(block.textContent).length === 1) return;
  const texts = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) found.push(texts.currentNode);
  for (const text of found.filter(({ parentElement }) => !parentElement.closest("pre"))) {
    const pieces = splitAtDates(text.data);
    if (pieces.length > 1)
      text.replaceWith(...pieces.map((piece, i) => (i % 2 ? dateElement(piece) : piece)));
  }
}

function dateElement(date) {
  const span = document.createElement("span");
  span.className = "iso";
  span.textContent = date;
  return span;
}

function inScroller(table) {
  const scroller = document.createElement("div");
  scroller.className = "scroller";
  scroller.tabIndex = 0;
  scroller.role = "group";
  scroller.ariaLabel = t("Table");
  table.replaceWith(scroller);
  scroller.append(table);
}

function withCopy(pre) {
  const frame = document.createElement("div");
  frame.className = "code";
  const bar = document.createElement("div");
  bar.className = "code-bar";
  const name = document.createElement("span");
  name.textContent = (pre.firstElementChild && languageIn(pre.firstElementChild)) || "text";
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet copy-code";
  button.textContent = t("Copy");
  button.ariaLabel = t("Copy code");
  bar.append(name, button);
  pre.tabIndex = 0;
  pre.role = "group";
  pre.ariaLabel = t("Code");
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
    const shown = legible(text);
    part.element.textContent = shown;
    const paint = () => this.#paint(part.element, shown, highlighted(shown, language));
    paint();
    if (language) onceLoaded(language, () => this.#shown === text && paint());
    return noChange;
  }

  /** Put colours in place of the plain text, piece by piece. */
  async #paint(element, text, markup) {
    const current = this.#shown;
    if (markup === null) return;
    const rest = document.createTextNode(text);
    for (const piece of pieces(markup)) {
      const made = purifier.sanitize(piece, CLEAN);
      rest.data = rest.data.slice(made.textContent.length);
      if (rest.isConnected) rest.before(made);
      else element.replaceChildren(made, rest);
      await nextTask();
      if (this.#shown !== current) return;
    }
  }

  render() {
    return noChange;
  }
}

/** On an element: `<div ${markdown(text, streaming)}>`. */
export const markdown = directive(MarkdownDirective);

/** On an element: `<code ${code(text, "json")}>`. */
export const code = directive(CodeDirective);
