/** A thread as a file: as the server has it, all of its messages. */

import * as api from "./api.js";
import { download, fileName } from "./clipboard.js";
import { fromSnapshot } from "./parts.js";
import { threadMarkdown } from "./thread-markdown.js";

const shown = (message) => ({ ...message, parts: message.parts.map(fromSnapshot) });

/** @param {string} id @param {"md" | "json"} format */
export async function exportThread(id, format) {
  const text = await api.wholeThread(id);
  const { title, messages } = JSON.parse(text);
  if (format === "json") download(fileName(title, "json"), "application/json", text);
  else download(fileName(title, "md"), "text/markdown", threadMarkdown({ title, messages: messages.map(shown) }));
}
