/** `render_ui_component`: components by their names; names and props of a call are only data. */

import { AsyncDirective, directive } from "../vendor/lit-html/async-directive.js";
import { guard } from "../vendor/lit-html/directives/guard.js";
import { html, nothing, svg } from "../vendor/lit-html/lit-html.js";
import { undrawn } from "./apart.js";
import { Problem } from "./api.js";
import { withDates } from "./dates.js";
import { drawing } from "./drawing.js";
import { isOfBrowser } from "./parts.js";
import { partial, whole, withTitle } from "./props.js";
import { t } from "./texts.js";

/** @typedef {import("../components/index.js").Component} Component */
/** @typedef {{component?: string, props?: Record<string, any>, note?: string}} Call */

/** Those that are loaded. @type {Map<string, Component | null>} */
const components = new Map();
/** @type {Promise<void> | undefined} */
let ours;

/**
 * Load our components: an empty page has none, so they come with the first thread or message, once
 * the server has answered. A browser never loads a module again that it failed to load: the calls
 * are cards then.
 */
export function prepare() {
  ours ??= import("../components/index.js").then(
    ({ OURS }) => {
      for (const [name, component] of Object.entries(OURS))
        components.set(name, { ...component, schema: withTitle(component.schema) });
    },
    () => {},
  );
  return ours;
}

/** Those that are being loaded. @type {Map<string, Promise<void>>} */
const loading = new Map();
/** Ids of calls whose component could not be asked for: they are cards, until another call of it
 * has loaded it. @type {Set<string>} */
const unasked = new Set();

/** Load a component; one that there is not, or that cannot be loaded, is null. If the server does
 * not answer, the component stays unknown.
 *
 * @param {string} name
 */
function loaded(name) {
  if (!loading.has(name)) loading.set(name, load(name));
  return loading.get(name);
}

/** @param {string} name */
async function load(name) {
  await prepare();
  if (components.has(name)) return;
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
      .flatMap(({ parts }) => parts.filter(isWhole).map(callOf))
      .filter((call) => isUnknown(call?.component))
      .map(({ component }) => loaded(component)),
  );

const isUnknown = (name) => typeof name === "string" && !components.has(name);

/** Its component and props: a UI tool of a graph is drawn by the component of its name.
 *
 * @returns {Call | undefined}
 */
export const callOf = (part) =>
  isOfBrowser(part)
    ? { component: part.toolName, props: part.state === "shown" ? part.result : part.args }
    : isWhole(part)
      ? (part.result ?? part.args)
      : part.args;

/** The arguments are there, and fit. */
const isWhole = (part) =>
  part.state === "shown" ||
  (isOfBrowser(part) && (part.state === "pending" || part.state === "result"));

/** The component of a call; else its card. `answer` takes the answer of a call that waits for one;
 * `foot` stands below the drawing.
 *
 * @param {any} part @param {() => unknown} card
 * @param {{answer?: (result: unknown) => void, foot?: unknown}} [about]
 */
export function componentView(part, card, about = {}) {
  const isDone = isWhole(part);
  const call = isDone || isOpen(part) ? callOf(part) : undefined;
  if (!call) return card();
  // A name is whole when the next argument has begun.
  const isNamed = isDone || call.props !== undefined;
  if (isNamed && isUnknown(call.component) && !unasked.has(part.toolCallId))
    return later(call.component, part.toolCallId, () => componentView(part, card, about));
  return (isDone ? shown(call, about) : growing(call)) ?? card();
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

/** @param {Call} call @param {{answer?: (result: unknown) => void, foot?: unknown}} about */
function shown(call, about) {
  const found = resolvedOf(call);
  const note = typeof call.note === "string" ? html`<p class="muted">${call.note}</p>` : nothing;
  const foot = [note, about.foot ?? nothing];
  return found && frame(call.component, found.component, found.props, false, { ...about, foot });
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
    ? html`<h2 class="component-title">${withDates(title)}</h2>`
    : nothing;

/** @param {string} name @param {Component} component @param {any} props
 *  @param {boolean} isStreaming
 *  @param {{answer?: (result: unknown) => void, foot?: unknown}} [about] */
const frame = (name, component, props, isStreaming, { answer, foot } = {}) => html`
  <figure class="component ${name}" aria-busy=${isStreaming}>
    ${component.drawsTitle ? nothing : heading(props.title)}
    ${guard([props, isStreaming, answer === undefined], () => [
      drawn(component, props, isStreaming, answer),
      component.below?.(props, isStreaming) ?? nothing,
    ])}
    ${foot ?? nothing}
  </figure>
`;

/** @param {Component} component @param {any} props @param {boolean} isStreaming
 *  @param {((result: unknown) => void) | undefined} answer */
function drawn({ draw }, props, isStreaming, answer) {
  try {
    return draw(props, { html, svg, nothing, drawing, isStreaming, answer });
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
      <div
        class="skeleton ${hasList ? "list" : "lines"}"
        role="img"
        aria-label=${t("Being drawn")}
      ></div>
    </figure>
  `;
}
