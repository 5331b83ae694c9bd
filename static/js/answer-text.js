/** What is copied of a message. */

import { ready } from "./components.js";
import { loaded } from "./notice.js";
import { isDrawn, textOf } from "./parts.js";

export const canBeCopied = (message) => Boolean(textOf(message)) || message.parts.some(isDrawn);

/**
 * Its text; of what it shows (charts, tables, questions) the data too, as Markdown.
 *
 * @returns {string | Promise<string>}
 */
export const answerText = (message) =>
  message.parts.some(isDrawn)
    ? Promise.all([loaded(import("./thread-markdown.js")), ready([message])]).then(
        ([{ answerMarkdown }]) => answerMarkdown(message),
      )
    : textOf(message);
