/** `render_ui_component`: a fixed table of components; names and props of a call are only data. */

import { guard } from "../../vendor/lit-html/directives/guard.js";
import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { withDates } from "../dates.js";
import { alert } from "./alert.js";
import { barChart } from "./bar-chart.js";
import { lineChart } from "./line-chart.js";
import { metricCards } from "./metric-cards.js";
import { isComponent, partial, whole } from "./props.js";
import { report } from "./report.js";
import { table } from "./table.js";

const COMPONENTS = {
  line_chart: lineChart,
  bar_chart: barChart,
  table,
  metric_cards: metricCards,
  report,
  alert,
};

/** The component of a call; null: show the plain card. */
export function componentOf(part) {
  if (part.state === "shown") return shown(part.result ?? part.args);
  if (part.state === "writing" || part.state === "running") return growing(part.args);
  return null;
}

function shown(resolved) {
  const { component, props } = resolved ?? {};
  const checked = once(props, () => whole(component, props));
  return checked && frame(component, checked, false);
}

/** @param {{component?: string, props?: Record<string, any>}} [args] */
function growing({ component, props } = {}) {
  if (!isComponent(component)) return null;
  const drawn = once(props, () => partial(component, props));
  return drawn ? frame(component, drawn, true) : skeleton(component, props);
}

/** Props that were checked before, by the object that they came as: what has not changed is not
 * drawn again when the rest of its message is painted. */
const known = new WeakMap();

function once(props, check) {
  if (typeof props !== "object" || props === null) return check();
  if (!known.has(props)) known.set(props, check());
  return known.get(props);
}

const frame = (component, props, streaming) => html`
  <figure class="component ${component}" aria-busy=${streaming}>
    ${
      component === "alert" || !props.title
        ? nothing
        : html`<h3 class="component-title">${withDates(props.title)}</h3>`
    }
    ${guard([props, streaming], () => COMPONENTS[component](props, streaming))}
  </figure>
`;

const skeleton = (component, props) => html`
  <figure class="component ${component}" aria-busy="true">
    ${
      typeof props?.title === "string"
        ? html`<h3 class="component-title">${withDates(props.title)}</h3>`
        : nothing
    }
    <div class="skeleton ${component}" role="img" aria-label="Being drawn"></div>
  </figure>
`;
