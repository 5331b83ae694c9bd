/**
 * Markdown to HTML, block by block. Pure functions and classes: what becomes of the HTML is the
 * business of `markdown.js`.
 *
 * Raw HTML in markdown is text, but for a few tags without attributes; links are checked, images
 * are never loaded: an image's address is the known way to leak what was said. A text costs no more
 * than `bounds.js` allows: what is nested too deep, or takes too much work, is plain text.
 */

import { Lexer, Marked } from "../vendor/marked/marked.esm.js";
import { legible, LIMITS } from "./bounds.js";
import { highlighted, languageOf, pieces } from "./highlight.js";
import { safeLink } from "./links.js";
import { t } from "./texts.js";

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escape = (text) => text.replace(/[&<>"']/g, (character) => ESCAPES[character]);

const anchor = (href, inner) =>
  `<a href="${escape(href)}" target="_blank" rel="noopener noreferrer nofollow">${inner}</a>`;

/** One that is not closed ends with its block, like any element that is no formatting one. */
const PLAIN_TAG = /^<(?:br ?\/?|\/?(?:sub|sup|kbd))>$/i;

const TAG_OF_DETAILS = /<(\/?)details>/gi;
const BEGIN_OF_DETAILS = /^ {0,3}<details>/i;
const SUMMARY = /^\s*<summary>([^]*?)<\/summary>/i;

/** `<details>`, with others in it; one that is not closed goes to the end. */
const details = {
  name: "details",
  level: "block",
  childTokens: ["summary", "tokens"],
  tokenizer(source) {
    const begin = BEGIN_OF_DETAILS.exec(source);
    if (!begin) return undefined;
    const { inner, raw } = partsOfDetails(source, begin[0].length);
    const [summary = "", words = ""] = SUMMARY.exec(inner) ?? [];
    const token = { type: "details", raw, summary: [], tokens: [] };
    this.lexer.inline(words.trim(), token.summary);
    this.lexer.blockTokens(inner.slice(summary.length), token.tokens);
    return token;
  },
  renderer({ summary, tokens }) {
    const words = this.parser.parseInline(summary) || t("Details");
    return `<details><summary>${words}</summary>${this.parser.parse(tokens)}</details>`;
  },
};

function partsOfDetails(source, from) {
  let depth = 1;
  for (const { 0: tag, 1: isEnd, index } of source.slice(from).matchAll(TAG_OF_DETAILS)) {
    depth += isEnd ? -1 : 1;
    const end = from + index;
    if (depth === 0)
      return { inner: source.slice(from, end), raw: source.slice(0, end + tag.length) };
  }
  return { inner: source.slice(from), raw: source };
}

/** In a line; as `$` is money too, none is a mark that a blank follows, or a digit behind it. */
const INLINE_FORMULA =
  /^(?:\$\$([^$]+)\$\$|\$((?![\s$])(?:\\.|[^\\$\n])+)(?<!\s)\$(?!\d)|\\\((.+?)\\\)|\\\[(.+?)\\\])/s;
const BLOCK_FORMULA = /^ {0,3}(?:\$\$([^$]+)\$\$|\\\[(.+?)\\\])[ \t]*(?:\n|$)/s;
const DISPLAYED = /^ *(?:\$\$|\\\[)/;

const formulaOf = (name, level, pattern) => ({
  name,
  level,
  tokenizer(source) {
    const [raw, ...inner] = pattern.exec(source.slice(0, LIMITS.formula)) ?? [];
    const tex = inner.find((found) => found !== undefined)?.trim();
    return tex ? { type: name, raw, tex, isDisplay: DISPLAYED.test(raw) } : undefined;
  },
  renderer({ tex, isDisplay }) {
    const code = `<code class="math${isDisplay ? " display" : ""}">${escape(tex)}</code>`;
    return level === "inline" ? code : `<p>${code}</p>`;
  },
});

const formulas = [
  formulaOf("blockFormula", "block", BLOCK_FORMULA),
  formulaOf("formula", "inline", INLINE_FORMULA),
];

/** Text up to the next formula; all other marks end it anyway. */
function inlineText(source) {
  const text = this.rules.inline.text.exec(source)?.[0];
  if (!text) return undefined;
  const mark = text.indexOf("$", 1);
  const raw = mark < 0 ? text : text.slice(0, mark);
  return { type: "text", raw, text: raw, escaped: this.lexer.state.inRawBlock };
}

/** The level of the heading before: none is more than one below it, whatever it looks like. */
let levelAbove = 1;

const marked = new Marked({
  gfm: true,
  extensions: [details, ...formulas],
  tokenizer: { inlineText },
  renderer: {
    html({ text, block }) {
      if (PLAIN_TAG.test(text.trim())) return text.trim();
      return block ? `<p>${escape(text.trim())}</p>` : escape(text);
    },
    link({ href, tokens }) {
      const inner = this.parser.parseInline(tokens);
      const safe = safeLink(href);
      return safe ? anchor(safe, inner) : inner;
    },
    image({ href, text }) {
      const safe = safeLink(href);
      const label = `${t("Image:")} ${escape(text || t("no description"))}`;
      return safe ? anchor(safe, label) : `<span class="no-image">${label}</span>`;
    },
    heading({ tokens, depth }) {
      const wanted = Math.min(depth + 1, 6);
      const level = Math.min(wanted, levelAbove + 1);
      levelAbove = level;
      const look = level === wanted ? "" : ` class="as-h${wanted}"`;
      return `<h${level}${look}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
    checkbox({ checked }) {
      return checked ? "☑ " : "☐ ";
    },
    code({ text, lang }) {
      const language = languageOf(lang);
      return codeOf(language, highlighted(text, language) ?? escape(text));
    },
  },
});

const codeOf = (language, inner) =>
  `<pre><code class="${language && `language-${language}`}">${inner}</code></pre>`;

/**
 * Characters that can begin or end something inline: the lexer may look at the rest of the text for
 * each of them.
 */
const marksIn = (text) => countOf(text, /[!-/:-@[-`{-~]/g);

const countOf = (text, pattern) => text.match(pattern)?.length ?? 0;

/** Takes as text what is nested too deep, and everything when the work of its text is done. */
class BoundedLexer extends Lexer {
  #depth = 0;
  #steps;

  constructor(length) {
    super(marked.defaults);
    this.#steps = LIMITS.steps + LIMITS.stepsPerCharacter * length;
  }

  blockTokens(source, tokens = [], ...rest) {
    return this.#nested(source, tokens, LIMITS.blockSteps, () =>
      super.blockTokens(source, tokens, ...rest),
    );
  }

  inlineTokens(source, tokens = []) {
    return this.#nested(source, tokens, 1 + marksIn(source), () =>
      super.inlineTokens(source, tokens),
    );
  }

  #nested(source, tokens, stepsPerCharacter, lex) {
    const steps = source.length * stepsPerCharacter;
    if (this.#depth === LIMITS.nesting || steps > this.#steps) {
      const text = { type: "text", raw: source, text: source, escaped: false };
      tokens.push({ ...text, tokens: [text] });
      return tokens;
    }
    this.#steps -= steps;
    this.#depth += 1;
    try {
      return lex();
    } finally {
      this.#depth -= 1;
    }
  }
}

/** The tokens of a text. A text that the lexer fails on is one token. */
function lexed(text) {
  try {
    return new BoundedLexer(text.length).lex(text);
  } catch {
    return [{ type: PLAIN, raw: text }];
  }
}

/** With their TeX: a character of it counts as an element, for it may take as long. */
const FORMULAS = /<code class="math[^<]*/g;
const PLAIN = "plain";
const isSeen = ({ type }) => type !== "space" && type !== "def";
const plain = (text) => ({ text: legible(text), markup: null, elements: 1, joins: false });

/** @param {((text: string) => string) | null} close  closes what is half typed */
function blocksOf(token, close) {
  if (token.type === PLAIN) return [plain(token.raw)];
  const isClosed =
    close === null || token.type === "code" || token.raw.length > LIMITS.closedCharacters;
  try {
    const tokens = isClosed ? [token] : lexed(close(token.raw)).filter(isSeen);
    const blocks = markupsOf(tokens).map((made, i) => {
      const markup = legible(made);
      return { text: token.raw, markup, elements: elementsIn(markup), joins: i > 0 };
    });
    const elements = blocks.reduce((sum, block) => sum + block.elements, 0);
    return elements > LIMITS.blockElements ? [plain(token.raw)] : blocks;
  } catch {
    return [plain(token.raw)];
  }
}

const elementsIn = (markup) =>
  countOf(markup, /<[a-z]/g) +
  LIMITS.elementsPerBlock * countOf(markup, /<(?:pre|table)>/g) +
  (markup.match(FORMULAS)?.join("").length ?? 0);

/** One, but for a list, a table or code that is long: each of them has some of its rows. */
function markupsOf(tokens) {
  const [token] = tokens;
  if (tokens.length > 1 || !Object.hasOwn(IN_PIECES, token?.type)) return [marked.parser(tokens)];
  return IN_PIECES[token.type](token);
}

const IN_PIECES = {
  code({ text, lang }) {
    const language = languageOf(lang);
    const markup = highlighted(text, language);
    if (markup === null) return [codeOf(language, escape(text))];
    return pieces(markup).map((piece) => codeOf(language, piece));
  },
  list: (token) =>
    grouped(token.items, ({ raw }) => raw.length).map((items) =>
      marked.parser([{ ...token, items }]),
    ),
  table: (token) =>
    grouped(token.rows, (row) => row.reduce((sum, { text }) => sum + text.length, 0)).map((rows) =>
      marked.parser([{ ...token, rows }]),
    ),
};

/** What a row takes beside its characters. */
const ROW = 30;

/** Rows in groups, by the lengths of their texts. */
function grouped(rows, lengthOf) {
  const groups = [[]];
  let length = 0;
  for (const row of rows) {
    if (length > LIMITS.pieceCharacters) {
      groups.push([]);
      length = 0;
    }
    groups.at(-1).push(row);
    length += ROW + lengthOf(row);
  }
  return groups;
}

/** Blocks at the end that more text may still change. */
const OPEN_BLOCKS = 2;
const NOTHING = { blocks: 0, characters: 0, elements: 0, level: 1 };

/**
 * The blocks of a text that may still grow: while it does, only the last of them are made again. A
 * block has its `text` and its `markup`, HTML; null: it is plain text. A long list, table or code
 * is several blocks: the rows of those with `joins` belong to the list, table or code before them.
 */
export class Blocks {
  #text = "";
  #streaming = false;
  /** The blocks at the beginning that more text does not change: how many, and what they take. */
  #frozen = NOTHING;

  /**
   * @param {((text: string) => string) | null} close  closes what is half typed at the end of a
   *   text that streams
   * @returns {{from: number, blocks: {text: string, markup: string | null, elements:
   *   number, joins: boolean}[]}}  the blocks from a
   *   number on; those before it are as they were
   */
  update(text, streaming, close) {
    const whole = text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
    const goesOn = streaming && this.#streaming && whole.startsWith(this.#text);
    if (!goesOn) this.#frozen = NOTHING;
    this.#text = whole;
    this.#streaming = streaming;
    const { blocks: from, characters, elements } = this.#frozen;
    const open = whole.slice(characters);
    if (elements > LIMITS.elements) return { from, blocks: [plain(open)] };
    return { from, blocks: this.#made(open, lexed(open), close) };
  }

  #made(open, tokens, close) {
    const seen = tokens.filter(isSeen);
    const firstOpen = this.#streaming && seen.length > OPEN_BLOCKS ? seen.at(-OPEN_BLOCKS) : null;
    const before = this.#frozen;
    const blocks = [];
    let used = 0;
    let { elements } = before;
    levelAbove = before.level;
    const freeze = () => {
      this.#frozen = {
        blocks: before.blocks + blocks.length,
        characters: before.characters + used,
        elements,
        level: levelAbove,
      };
    };
    for (const token of tokens) {
      if (token === firstOpen) freeze();
      if (elements > LIMITS.elements) {
        freeze();
        return [...blocks, plain(open.slice(used))];
      }
      if (isSeen(token)) {
        const made = blocksOf(token, this.#streaming && token === seen.at(-1) ? close : null);
        blocks.push(...made);
        for (const block of made) elements += block.elements + LIMITS.elementsPerBlock;
      }
      used += token.raw.length;
    }
    return blocks;
  }
}
