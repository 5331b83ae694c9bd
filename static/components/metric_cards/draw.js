/** A few figures, large. */

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { withDates } from "../../js/dates.js";
import { formatterOf, formatValue, isDate } from "../../js/format.js";

export const draw = ({ cards }) => html`
  <dl class="cards ${cards.some((one) => isWide(valueText(one))) ? "wide" : ""}">
    ${cards.map(card)}
  </dl>
`;

const valueText = ({ label, value, unit }) =>
  (unit ? formatValue : formatterOf(label, [value]))(value);

/** Too long for a large type: a date, a name, a large number. */
const isLong = (text) => text.length > 7;

/** A word that would be broken in a narrow card. */
const isWide = (text) => !isDate(text) && text.split(/\s/).some((word) => word.length > 10);

const dateWords = (value) =>
  value.split(/[T ]/).map((word) => html`<span class="iso">${word}</span> `);

const card = ({ label, value, unit, delta, tone }) => {
  const text = valueText({ label, value, unit });
  return html`
    <div class="metric ${tone ?? ""}">
      <dt>${withDates(label)}</dt>
      <dd>
        <span class="metric-value ${isLong(text) ? "long" : ""}"
          >${isDate(value) ? dateWords(value) : text}</span
        >
        ${unit ? html`<span class="metric-unit">${withDates(unit)}</span>` : nothing}
        ${delta ? html`<span class="metric-delta">${withDates(delta)}</span>` : nothing}
      </dd>
    </div>
  `;
};
