/** A thread as a file: as the server has it, all of its messages. */

import * as api from "./api.js";
import { ready } from "./components.js";
import { download, fileName } from "./clipboard.js";
import { partsOf } from "./parts.js";
import { threadMarkdown } from "./thread-markdown.js";
import { uiIn, withUi } from "./ui-messages.js";

const shown = (message) => ({ ...message, parts: partsOf(message) });

/**
 * The thread, or the version of it that is looked at.
 *
 * @param {{id: string, looksAt: string | null}} thread @param {"md" | "json"} format
 */
export async function exportThread({ id, looksAt }, format) {
  const text = await api.wholeThread(id, looksAt);
  const { title, messages, state } = JSON.parse(text);
  if (format === "json") {
    download(fileName(title, "json"), "application/json", text);
    return;
  }
  /** @type {{parts: any[]}[]} */
  const told = messages.map(shown);
  const thread = { title, messages: withUi(told, uiIn(state)) };
  await ready(thread.messages);
  download(fileName(title, "md"), "text/markdown", threadMarkdown(thread));
}
