/**
 * Source code to HTML with classes. What comes out is sanitized by markdown.js. The library is
 * loaded with the first code that has colours; until then code is plain.
 */

import { LIMITS } from "./bounds.js";

const LANGUAGES = new Set(["bash", "javascript", "json", "python"]);
const ALIASES = { js: "javascript", jsonc: "json", py: "python", sh: "bash", shell: "bash" };
const LONG_WORD = new RegExp(`[\\w$]{${LIMITS.colouredWord}}`);
const CACHED = 300;
const cache = new Map();
let library = null;
let loading = null;

/** The name of a language that is known here, or an empty string. */
export function languageOf(info) {
  const name = (info ?? "").trim().split(/\s+/)[0].toLowerCase();
  if (Object.hasOwn(ALIASES, name)) return ALIASES[name];
  return LANGUAGES.has(name) ? name : "";
}

/** Escaped and marked up; null when the text is to be shown plain. */
export function highlighted(text, language) {
  if (
    library === null ||
    !language ||
    text.length > LIMITS.colouredCharacters ||
    LONG_WORD.test(text)
  )
    return null;
  const key = `${language}\n${text}`;
  const known = cache.get(key);
  if (known !== undefined) return known;
  const markup = coloured(text, language);
  if (cache.size >= CACHED) cache.delete(cache.keys().next().value);
  cache.set(key, markup);
  return markup;
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
 * Call back once there are colours for what was shown without; never if there are already, or if
 * they cannot be loaded: the next code tries again.
 */
export async function onceLoaded(paint) {
  if (library !== null) return;
  loading ??= import("./highlighter.js");
  try {
    library = await loading;
  } catch {
    loading = null;
    return;
  }
  paint();
}
