/** Copying, and handing out files. */

import { copyText } from "./secure-context.js";
import { t } from "./texts.js";

/** Copy, and say so on the button for a moment. @param {string | Promise<string>} text */
export async function copy(text, button) {
  try {
    await copyText(text);
    mark(button, "copied");
  } catch (error) {
    mark(button, "failed", error);
  }
}

/** @param {string} title  of anything */
export const fileName = (title, ending) =>
  `${
    (title ?? "")
      .replace(/[^\p{L}\p{N}]+/gu, "-")
      .replace(/^-|-$/g, "")
      .slice(0, 60) || "data"
  }.${ending}`;

function mark(button, state, error) {
  if (!button) return;
  button.dataset.copy = state;
  button.dataset.copyWords = state === "copied" ? t("Copied") : t("Not copied");
  button.dispatchEvent(new CustomEvent("copied", { bubbles: true, detail: { state, error } }));
  setTimeout(() => {
    delete button.dataset.copy;
    delete button.dataset.copyWords;
  }, 1600);
}

export function download(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
