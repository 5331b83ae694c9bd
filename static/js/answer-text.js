/** What is copied of a message. */

import { RENDER, SELECT, textOf } from "./parts.js";

const isShown = ({ toolName }) => toolName === RENDER || toolName === SELECT;

export const canBeCopied = (message) => Boolean(textOf(message)) || message.parts.some(isShown);

/** Its text; of what it shows (charts, tables, questions) the data too, as Markdown. @returns {string | Promise<string>} */
export const answerText = (message) =>
  message.parts.some(isShown)
    ? import("./thread-markdown.js").then(({ answerMarkdown }) => answerMarkdown(message))
    : textOf(message);
