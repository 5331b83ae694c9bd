/** The library that colours source code; its languages come one by one, see `highlight.js`. */

import hljs from "../vendor/highlight/core.min.js";

export const register = (language, grammar) => hljs.registerLanguage(language, grammar);

/** HTML with classes. */
export const marked = (text, language) =>
  hljs.highlight(text, { language, ignoreIllegals: true }).value;
