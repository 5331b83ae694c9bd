/** A message that stands out. */

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { withDates } from "../../js/dates.js";
import { icons } from "../../js/icons.js";
import { t } from "../../js/texts.js";

const LOOKS = {
  info: ["info", icons.info, t("Information")],
  success: ["success", icons.check, t("Success")],
  warning: ["warning", icons.warning, t("Warning")],
  danger: ["danger", icons.warning, t("Danger")],
};

/** The title stands in the box. */
export const drawsTitle = true;

export function draw({ title, message, tone }) {
  const [look, icon, word] = LOOKS[tone ?? "info"];
  return html`
    <div class="notice ${look}" role="note" aria-label=${word}>
      ${icon}
      <div>
        ${title ? html`<h2 class="component-title">${withDates(title)}</h2>` : nothing}
        <p>${withDates(message)}</p>
      </div>
    </div>
  `;
}
