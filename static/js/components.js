/** `render_ui_component`: components by their names; names and props of a call are only data. */

import { guard } from "../vendor/lit-html/directives/guard.js";
import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { OURS } from "../components/index.js";
import { withDates } from "./dates.js";
import { partial, whole, withTitle } from "./props.js";

/** @typedef {import("../components/index.js").Component} Component */

/** @type {Map<string, Component>} */
const components = new Map(
  Object.entries(OURS).map(([name, component]) => [
    name,
    { ...component, schema: withTitle(component.schema) },
  ]),
);

/** The component of a call; null: show the plain card. */
export function componentOf(part) {
  if (part.state === "shown") return shown(part.result ?? part.args);
  if (part.state === "writing" || part.state === "running") return growing(part.args);
  return null;
}

/**
 * Of a finished call: its component, and its props where they fit.
 *
 * @param {{component?: string, props?: Record<string, any>}} call
 */
export function resolvedOf({ component: name, props }) {
  const component = components.get(name);
  const checked = component && once(props, () => whole(component.schema, props));
  return checked ? { component, props: checked } : null;
}

function shown(call) {
  const found = resolvedOf(call ?? {});
  return found && frame(call.component, found.component, found.props, false);
}

/** @param {{component?: string, props?: Record<string, any>}} [call] */
function growing({ component: name, props } = {}) {
  const component = components.get(name);
  if (!component) return null;
  const drawn = once(props, () => partial(component.schema, props));
  return drawn ? frame(name, component, drawn, true) : skeleton(name, component, props?.title);
}

/** Props that were checked before, by the object that they came as: what has not changed is not
 * drawn again when the rest of its message is painted. */
const known = new WeakMap();

function once(props, check) {
  if (typeof props !== "object" || props === null) return check();
  if (!known.has(props)) known.set(props, check());
  return known.get(props);
}

const heading = (title) =>
  typeof title === "string" && title
    ? html`<h3 class="component-title">${withDates(title)}</h3>`
    : nothing;

/**
 * @param {string} name @param {Component} component @param {any} props
 * @param {boolean} isStreaming
 */
const frame = (name, { draw, drawsTitle }, props, isStreaming) => html`
  <figure class="component ${name}" aria-busy=${isStreaming}>
    ${drawsTitle ? nothing : heading(props.title)}
    ${guard([props, isStreaming], () => draw(props, { isStreaming }))}
  </figure>
`;

/** As high as a list if the component has one, else as high as a few lines. */
function skeleton(name, { schema }, title) {
  const hasList = Object.values(schema.properties).some(({ type }) => type === "array");
  return html`
    <figure class="component ${name}" aria-busy="true">
      ${heading(title)}
      <div class="skeleton ${hasList ? "list" : "lines"}" role="img" aria-label="Being drawn"></div>
    </figure>
  `;
}
