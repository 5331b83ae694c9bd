/**
 * Formulas in TeX to MathML, as text. What comes out is sanitized by markdown.js. The library is
 * loaded with the first formula; until then, and where it fails, the TeX is shown.
 */

import { LIMITS } from "./bounds.js";

const OPTIONS = { throwOnError: true, trust: false, maxExpand: 500, maxSize: [20, 20] };
/** The page's policy refuses them, and says so for each. */
const STYLE = / style="[^"]*"/g;
const CACHED = 300;
const cache = new Map();
/** @type {{renderToString: (tex: string, options: object) => string} | null} */
let library = null;
/** @type {Promise<void> | null} */
let loading = null;

/**
 * Null when the TeX is to be shown.
 *
 * @param {string} tex @param {boolean} isDisplay  it stands in a line of its own
 * @returns {string | null}
 */
export function mathOf(tex, isDisplay) {
  if (library === null || tex.length > LIMITS.formula) return null;
  const key = `${isDisplay}${tex}`;
  if (!cache.has(key)) {
    if (cache.size >= CACHED) cache.delete(cache.keys().next().value);
    cache.set(key, made(tex, isDisplay));
  }
  return cache.get(key);
}

/**
 * Null: it is no TeX, or would be too many elements.
 *
 * @param {string} tex @param {boolean} displayMode
 */
function made(tex, displayMode) {
  try {
    const markup = library?.renderToString(tex, { ...OPTIONS, displayMode }) ?? "";
    const isTooLarge = markup.split("<").length > LIMITS.formulaElements;
    return isTooLarge ? null : markup.replace(STYLE, "");
  } catch {
    return null;
  }
}

/**
 * Call back once formulas are drawn, if they are not yet; never if the library cannot be loaded:
 * the next formula tries again.
 *
 * @param {() => void} draw
 */
export async function onceDrawn(draw) {
  if (library !== null) return;
  loading ??= load();
  try {
    await loading;
  } catch {
    loading = null;
    return;
  }
  draw();
}

async function load() {
  library = (await import("../vendor/temml/temml.mjs")).default;
}
