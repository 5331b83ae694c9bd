/** ‹ 2/3 › below a message that has several versions, and what is said of one that is looked at. */

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { icons } from "./icons.js";
import { t } from "./texts.js";
import { beside } from "./versions.js";

/** @type {["previous" | "next", -1 | 1, object][]} */
const STEPS = [
  ["previous", -1, icons.back],
  ["next", 1, icons.chevron],
];

/**
 * @param {Record<string, any>} message
 * @param {(version: string, message: Record<string, any>, step: "previous" | "next") => void}
 *   onLook
 */
export function versionsView(message, onLook) {
  const { version, versions, role } = message;
  if (!versions) return nothing;
  const number = versions.indexOf(version) + 1;
  const [previous, next] = STEPS.map((step) => button(message, step, onLook));
  return html`<div
    class="versions"
    role="group"
    aria-label=${role === "user" ? t("Versions of this message") : t("Versions of this reply")}
  >
    ${previous}
    <span class="version" aria-hidden="true">${number}/${versions.length}</span>
    <span class="visually-hidden"
      >${t("Version {number} of {count}", { number, count: versions.length })}</span
    >
    ${next}
  </div>`;
}

/** One that leads nowhere keeps the focus. */
function button(message, [name, step, icon], onLook) {
  const to = beside(message, step);
  const label = name === "next" ? t("Next version") : t("Previous version");
  return html`<button
    type="button"
    class="icon-button"
    data-look=${name}
    aria-label=${label}
    title=${label}
    aria-disabled=${String(to === undefined)}
    @click=${() => to !== undefined && onLook(to, message, name)}
  >
    ${icon}
  </button>`;
}

/** What stands at the end of a branch that is not the thread's. */
export const lookedAtView = ({ onLookBack }) => html`
  <div class="banner info looked-at" role="note">
    ${icons.info}
    <p>${t("You are looking at another version. The thread goes on from here when you send.")}</p>
    <button type="button" @click=${onLookBack}>${t("Back to the thread")}</button>
  </div>
`;
