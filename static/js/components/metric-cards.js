/** A few figures, large. */

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { formatValue } from "../format.js";

const TONES = ["info", "success", "warning", "danger"];

export const metricCards = ({ cards }) => html`
  <dl class="cards">${cards.map(card)}</dl>
`;

const card = ({ label, value, unit, delta, tone }) => html`
  <div class="metric ${TONES.includes(tone) ? tone : ""}">
    <dt>${label}</dt>
    <dd>
      <span class="metric-value">${formatValue(value)}</span>
      ${unit ? html`<span class="metric-unit">${unit}</span>` : nothing}
      ${delta ? html`<span class="metric-delta">${delta}</span>` : nothing}
    </dd>
  </div>
`;
