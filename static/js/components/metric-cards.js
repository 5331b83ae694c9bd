/** A few figures, large. */

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { withDates } from "../dates.js";
import { formatterOf, formatValue, isDate } from "../format.js";

const TONES = ["info", "success", "warning", "danger"];

export const metricCards = ({ cards }) => html`
  <dl class="cards">${cards.map(card)}</dl>
`;

/** Too long for a large type: a date, a name. */
const isLong = (value) => typeof value === "string" && value.length > 8;

const dateWords = (value) => value.split(/[T ]/).map((word) => html`<span class="iso">${word}</span> `);

const card = ({ label, value, unit, delta, tone }) => html`
  <div class="metric ${TONES.includes(tone) ? tone : ""}">
    <dt>${withDates(label)}</dt>
    <dd>
      <span class="metric-value ${isLong(value) ? "long" : ""}">${isDate(value) ? dateWords(value) : (unit ? formatValue : formatterOf(label, [value]))(value)}</span>
      ${unit ? html`<span class="metric-unit">${unit}</span>` : nothing}
      ${delta ? html`<span class="metric-delta">${delta}</span>` : nothing}
    </dd>
  </div>
`;
