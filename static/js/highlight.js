/** Source code to HTML with classes. What comes out is sanitized by markdown.js. */

import hljs from "../vendor/highlight/core.min.js";
import bash from "../vendor/highlight/bash.min.js";
import javascript from "../vendor/highlight/javascript.min.js";
import json from "../vendor/highlight/json.min.js";
import python from "../vendor/highlight/python.min.js";

const LANGUAGES = { bash, javascript, json, python };
const ALIASES = { js: "javascript", jsonc: "json", py: "python", sh: "bash", shell: "bash" };
const MAX_CHARS = 30_000;
const CACHED = 300;
const cache = new Map();

for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

/** The name of a language that is known here, or an empty string. */
export function languageOf(info) {
  const name = (info ?? "").trim().split(/\s+/)[0].toLowerCase();
  if (Object.hasOwn(ALIASES, name)) return ALIASES[name];
  return Object.hasOwn(LANGUAGES, name) ? name : "";
}

/** Escaped and marked up; null when the text is to be shown plain. */
export function highlighted(text, language) {
  if (!language || text.length > MAX_CHARS) return null;
  const key = `${language}\n${text}`;
  const known = cache.get(key);
  if (known !== undefined) return known;
  const markup = hljs.highlight(text, { language, ignoreIllegals: true }).value;
  if (cache.size >= CACHED) cache.delete(cache.keys().next().value);
  cache.set(key, markup);
  return markup;
}
