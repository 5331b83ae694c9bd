/** An image in full size, over the page. */

import { t } from "./texts.js";

let dialog;

function made() {
  const box = document.createElement("dialog");
  box.className = "viewer";
  box.setAttribute("aria-label", t("Image"));
  const picture = document.createElement("img");
  const caption = document.createElement("p");
  const close = document.createElement("button");
  close.type = "button";
  close.className = "quiet";
  close.textContent = t("Close");
  box.append(picture, caption, close);
  box.addEventListener("click", () => box.close());
  box.addEventListener("close", () => picture.removeAttribute("src"));
  document.body.append(box);
  return box;
}

/** @param {string} address  a `data:` URL @param {string} alt */
export function show(address, alt) {
  dialog ??= made();
  const [picture, caption] = dialog.children;
  picture.src = address;
  picture.alt = alt;
  caption.textContent = alt;
  dialog.showModal();
}
