/**
 * Ids, locks and the clipboard, wherever the page comes from. Over plain HTTP from another host it
 * has no secure context, and so no `crypto.randomUUID`, `navigator.locks` or `navigator.clipboard`.
 * Only this module would need one.
 */

/** A random id. @param {number} digits  hexadecimal, an even number */
export function randomHex(digits) {
  const bytes = crypto.getRandomValues(new Uint8Array(digits / 2));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const TAB_LOCKS = new URL("./tab-locks.js", import.meta.url);

/** The browser's locks for its tabs; over plain HTTP those of `tab-locks.js`. */
export const locks = navigator.locks ?? new (await import(TAB_LOCKS.href)).TabLocks();

/**
 * Copy a text. One that is not there yet is promised at once: some browsers take only what a click
 * itself brings.
 *
 * @param {string | Promise<string>} text @throws {Error} if the browser does not allow it
 */
export async function copyText(text) {
  if (!navigator.clipboard) return copySelected(await text);
  if (typeof text === "string") return navigator.clipboard.writeText(text);
  const plain = text.then((words) => new Blob([words], { type: "text/plain" }));
  return navigator.clipboard.write([new ClipboardItem({ "text/plain": plain })]);
}

function copySelected(text) {
  const activeElement = /** @type {HTMLElement} */ (document.activeElement);
  const field = document.createElement("textarea");
  field.className = "copied-text";
  field.readOnly = true;
  field.value = text;
  document.body.append(field);
  field.focus({ preventScroll: true });
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  activeElement?.focus({ preventScroll: true });
  if (!isCopied) throw new Error("The browser does not allow a page to copy.");
}
