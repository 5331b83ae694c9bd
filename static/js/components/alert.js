/** A message that stands out. */

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { icons } from "../icons.js";

const LOOKS = {
  info: ["info", icons.info, "Information"],
  success: ["success", icons.check, "Success"],
  warning: ["warning", icons.warning, "Warning"],
  danger: ["danger", icons.warning, "Danger"],
};

export function alert({ title, message, tone }) {
  const [look, icon, word] = LOOKS[tone ?? "info"];
  return html`
    <div class="notice ${look}" role="note" aria-label=${word}>
      ${icon}
      <div>
        ${title ? html`<h3 class="component-title">${title}</h3>` : nothing}
        <p>${message}</p>
      </div>
    </div>
  `;
}
