/** A question before something that cannot be undone. */

import { t } from "./texts.js";

/**
 * @param {HTMLDialogElement} dialog
 * @param {string} [word]  on the button that does it
 * @returns {Promise<boolean>}
 */
export function confirmed(dialog, question, word = t("Delete")) {
  dialog.querySelector("p").textContent = question;
  dialog.querySelector("[value=yes]").textContent = word;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
