/**
 * Source code to HTML with classes. What comes out is sanitized by markdown.js. The library is
 * loaded with the first code that has colours, and each language with its first code; until then
 * code is plain.
 */

import { LIMITS } from "./bounds.js";

const GRAMMARS = {
  bash: () => import("../vendor/highlight/bash.min.js"),
  c: () => import("../vendor/highlight/c.min.js"),
  cpp: () => import("../vendor/highlight/cpp.min.js"),
  css: () => import("../vendor/highlight/css.min.js"),
  diff: () => import("../vendor/highlight/diff.min.js"),
  go: () => import("../vendor/highlight/go.min.js"),
  java: () => import("../vendor/highlight/java.min.js"),
  javascript: () => import("../vendor/highlight/javascript.min.js"),
  json: () => import("../vendor/highlight/json.min.js"),
  python: () => import("../vendor/highlight/python.min.js"),
  rust: () => import("../vendor/highlight/rust.min.js"),
  sql: () => import("../vendor/highlight/sql.min.js"),
  typescript: () => import("../vendor/highlight/typescript.min.js"),
  xml: () => import("../vendor/highlight/xml.min.js"),
  yaml: () => import("../vendor/highlight/yaml.min.js"),
};
export const LANGUAGES = Object.keys(GRAMMARS);
const ALIASES = {
  "c++": "cpp",
  console: "bash",
  html: "xml",
  js: "javascript",
  jsonc: "json",
  jsx: "javascript",
  patch: "diff",
  py: "python",
  rs: "rust",
  sh: "bash",
  shell: "bash",
  svg: "xml",
  ts: "typescript",
  tsx: "typescript",
  yml: "yaml",
  zsh: "bash",
};
const NAME = /^[\w+#.-]{1,20}$/;
const LONG_WORD = new RegExp(`[\\w$]{${LIMITS.colouredWord}}`);
const CACHED = 300;
const cache = new Map();
let library = null;
/** Promises of languages that are loaded or are being loaded, by their names. */
const loading = new Map();
const loaded = new Set();

/** The name of a language, also of one without colours; an empty string for what is no name. */
export function languageOf(info) {
  const name = (info ?? "")
    .trim()
    .split(/[\s,{]/)[0]
    .toLowerCase();
  if (Object.hasOwn(ALIASES, name)) return ALIASES[name];
  return NAME.test(name) ? name : "";
}

/** Escaped and marked up; null when the text is to be shown plain. */
export function highlighted(text, language) {
  const most = LIMITS.colouredCharactersOf[language] ?? LIMITS.colouredCharacters;
  if (!loaded.has(language) || text.length > most || LONG_WORD.test(text)) return null;
  const key = `${language}\n${text}`;
  const known = cache.get(key);
  if (known !== undefined) return known;
  const markup = coloured(text, language);
  if (cache.size >= CACHED) cache.delete(cache.keys().next().value);
  cache.set(key, markup);
  return markup;
}

const TAG_OR_TEXT = /<[^>]*>|[^<]+/g;

/**
 * Markup in pieces that are drawn one after the other. An element that one of them ends in goes on
 * in the next.
 *
 * @param {string} markup @returns {string[]}
 */
export function pieces(markup) {
  const made = [];
  const open = [];
  let piece = "";
  /** Characters of its beginning, which others have opened. */
  let opened = 0;
  for (const [part] of markup.matchAll(TAG_OR_TEXT)) {
    if (piece.length - opened > LIMITS.pieceMarkup && part.startsWith("<span")) {
      made.push(piece + "</span>".repeat(open.length));
      piece = open.join("");
      opened = piece.length;
    }
    piece += part;
    if (part.startsWith("</")) open.pop();
    else if (part.startsWith("<")) open.push(part);
  }
  return [...made, piece];
}

/** Null: it would be too many elements, or the library fails. */
function coloured(text, language) {
  try {
    const markup = library.marked(text, language);
    return markup.split("<span").length > LIMITS.blockElements ? null : markup;
  } catch {
    return null;
  }
}

/**
 * Call back once a language has colours that was shown without; never if it has them already or
 * has none, or if they cannot be loaded: the next code tries again.
 */
export async function onceLoaded(language, paint) {
  if (loaded.has(language) || !Object.hasOwn(GRAMMARS, language)) return;
  if (!loading.has(language)) loading.set(language, load(language));
  try {
    await loading.get(language);
  } catch {
    loading.delete(language);
    return;
  }
  paint();
}

async function load(language) {
  const [highlighter, grammar] = await Promise.all([
    import("./highlighter.js"),
    GRAMMARS[language](),
  ]);
  library = highlighter;
  library.register(language, grammar.default);
  loaded.add(language);
}
