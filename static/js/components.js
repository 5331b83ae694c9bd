/** `render_ui_component`: components by their names; names and props of a call are only data. */

import { AsyncDirective, directive } from "../vendor/lit-html/async-directive.js";
import { guard } from "../vendor/lit-html/directives/guard.js";
import { html, nothing, svg } from "../vendor/lit-html/lit-html.js";
import { OURS } from "../components/index.js";
import { undrawn } from "./apart.js";
import { Problem } from "./api.js";
import { withDates } from "./dates.js";
import { drawing } from "./drawing.js";
import { partial, whole, withTitle } from "./props.js";

/** @typedef {import("../components/index.js").Component} Component */
/** @typedef {{component?: string, props?: Record<string, any>}} Call */

/** @type {Map<string, Component | null>} */
const components = new Map(
  Object.entries(OURS).map(([name, component]) => [
    name,
    { ...component, schema: withTitle(component.schema) },
  ]),
);
/** Those that are being loaded. @type {Map<string, Promise<void>>} */
const loading = new Map();
/** Ids of calls whose component could not be asked for: they are cards, until another call of it
 * has loaded it. @type {Set<string>} */
const unasked = new Set();

/** Load a component of the deployer; one that there is not, or that cannot be loaded, is null. A
 * browser never loads a module again that it failed to load. If the server does not answer, the
 * component stays unknown.
 *
 * @param {string} name
 */
function loaded(name) {
  if (!loading.has(name)) loading.set(name, load(name));
  return loading.get(name);
}

/** @param {string} name */
async function load(name) {
  try {
    const further = await import("./further-components.js");
    components.set(name, await further.load(name));
  } catch (error) {
    if (error instanceof Problem) loading.delete(name);
    else components.set(name, null);
  }
}

/** Settled when all components of these messages are loaded.
 *
 * @param {{parts: Record<string, any>[]}[]} messages
 */
export const ready = (messages) =>
  Promise.all(
    messages
      .flatMap(({ parts }) => parts.filter(({ state }) => state === "shown").map(callOf))
      .filter((call) => isUnknown(call?.component))
      .map(({ component }) => loaded(component)),
  );

const isUnknown = (name) => typeof name === "string" && !components.has(name);

/** @returns {Call | undefined} */
const callOf = ({ result, args }) => result ?? args;

/** The component of a call; else its card.
 *
 * @param {any} part @param {() => unknown} card
 */
export function componentView(part, card) {
  const isWhole = part.state === "shown";
  const call = isWhole ? callOf(part) : isOpen(part) ? part.args : undefined;
  if (!call) return card();
  // A name is whole when the next argument has begun.
  const isNamed = isWhole || call.props !== undefined;
  if (isNamed && isUnknown(call.component) && !unasked.has(part.toolCallId))
    return later(call.component, part.toolCallId, () => componentView(part, card));
  return (isWhole ? shown(call) : growing(call)) ?? card();
}

const isOpen = ({ state }) => state === "writing" || state === "running";

/** A place for a component while it is loaded. */
const later = directive(
  class extends AsyncDirective {
    /** @type {() => unknown} */
    #view = () => nothing;

    /** @param {string} name @param {string} id  of the call @param {() => unknown} view */
    render(name, id, view) {
      this.#view = view;
      loaded(name).then(() => {
        if (isUnknown(name)) unasked.add(id);
        // By then the call may have failed, and its card stand here.
        if (this.isConnected) this.setValue(this.#view());
      });
      return skeleton("", {});
    }
  },
);

/** Of a finished call: its component, and its props where they fit.
 *
 * @param {Call} call
 */
export function resolvedOf({ component: name, props }) {
  const component = components.get(name);
  const checked = component && once(props, () => whole(component.schema, props));
  return checked ? { component, props: checked } : null;
}

/** @param {Call} call */
function shown(call) {
  const found = resolvedOf(call);
  return found && frame(call.component, found.component, found.props, false);
}

/** @param {Call} call */
function growing({ component: name, props }) {
  const component = components.get(name);
  if (!component) return null;
  const drawn = once(props, () => partial(component.schema, props));
  return drawn ? frame(name, component, drawn, true) : skeleton(name, component.schema, props);
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

/** @param {string} name @param {Component} component @param {any} props
 *  @param {boolean} isStreaming */
const frame = (name, component, props, isStreaming) => html`
  <figure class="component ${name}" aria-busy=${isStreaming}>
    ${component.drawsTitle ? nothing : heading(props.title)}
    ${guard([props, isStreaming], () => [
      drawn(component, props, isStreaming),
      component.below?.(props, isStreaming) ?? nothing,
    ])}
  </figure>
`;

/** @param {Component} component @param {any} props @param {boolean} isStreaming */
function drawn({ draw }, props, isStreaming) {
  try {
    return draw(props, { html, svg, nothing, drawing, isStreaming });
  } catch (error) {
    reportError(error);
    return undrawn();
  }
}

/** As high as a list if the component has one, else as high as a few lines.
 *
 * @param {string} name @param {Record<string, any>} schema @param {Record<string, any>} [props]
 */
function skeleton(name, { properties = {} }, props) {
  const hasList = Object.values(properties).some(({ type }) => type === "array");
  return html`
    <figure class="component ${name}" aria-busy="true">
      ${heading(props?.title)}
      <div class="skeleton ${hasList ? "list" : "lines"}" role="img" aria-label="Being drawn"></div>
    </figure>
  `;
}
