/**
 * The library that colours source code, with the languages that are known here; see `highlight.js`.
 */

import hljs from "../vendor/highlight/core.min.js";
import bash from "../vendor/highlight/bash.min.js";
import javascript from "../vendor/highlight/javascript.min.js";
import json from "../vendor/highlight/json.min.js";
import python from "../vendor/highlight/python.min.js";

for (const [name, language] of Object.entries({ bash, javascript, json, python })) {
  hljs.registerLanguage(name, language);
}

/** HTML with classes. */
export const marked = (text, language) =>
  hljs.highlight(text, { language, ignoreIllegals: true }).value;
