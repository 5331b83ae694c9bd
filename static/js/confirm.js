/** A question before something that cannot be undone. */

/** @param {HTMLDialogElement} dialog @returns {Promise<boolean>} */
export function confirmed(dialog, question) {
  dialog.querySelector("p").textContent = question;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
