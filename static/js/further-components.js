/** Components of the deployer: loaded with the first call of one. */

import * as api from "./api.js";
import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { apart } from "./apart.js";
import { componentText } from "./component-text.js";
import { cut, inJson } from "./bounds.js";
import { linked } from "./styles.js";
import { t } from "./texts.js";
import { visible } from "./unseen.js";

/** @typedef {import("../components/index.js").Component} Component */
/** @typedef {{tool: string, label: string, arguments: Record<string, string>}} Action */

/** @type {Promise<any[]> | undefined} */
let listing;

/** The component of a name; null if the server has none. Throws a Problem if the server does not
 * answer: with the next call it is asked again.
 *
 * @param {string} name @returns {Promise<Component | null>}
 */
export async function load(name) {
  listing ??= api.components().catch((problem) => {
    listing = undefined;
    throw problem;
  });
  const found = (await listing).find((one) => one.name === name);
  if (!found) return null;
  const { draw, text, style, schema, actions } = found;
  /** @type {[any, {text?: Component["text"]}, unknown]} */
  const [drawing, words] = await Promise.all([
    import(addressOf(name, draw)),
    text ? import(addressOf(name, text)).catch(unread) : {},
    style && linked(addressOf(name, style)),
  ]);
  return {
    schema,
    draw: (props, page) => apart(() => drawing.draw(props, page)),
    text: words.text,
    drawsTitle: drawing.drawsTitle,
    // Only of whole props: what an author's `text` makes of half of them helps nobody.
    below(props, isStreaming) {
      const usable = Object.values(actions).filter((action) => isUsable(action, props));
      return html`
        ${words.text && !isStreaming ? spoken(componentText(words, props)) : nothing}
        ${usable.length ? bar(usable, props, isStreaming) : nothing}
      `;
    },
  };
}

/**
 * An address of the server's may begin with the path below which it is served.
 *
 * @param {string} name @param {string} path
 */
const addressOf = (name, path) =>
  api.addressOf(path.slice(path.lastIndexOf(`/components/${name}/`)));

/** Of a `text.js` that cannot be loaded: its component goes without. @param {unknown} error */
function unread(error) {
  reportError(error);
  return {};
}

/** @param {string} text */
const spoken = (text) => html`<p class="visually-hidden">${text}</p>`;

/** All props that fill its arguments are there.
 *
 * @param {Action} action @param {Record<string, any>} props
 */
const isUsable = ({ arguments: taken }, props) =>
  Object.values(taken).every((prop) => Object.hasOwn(props, prop));

/** The arguments of a call.
 *
 * @param {Action["arguments"]} taken @param {Record<string, any>} props
 */
const filled = (taken, props) =>
  Object.fromEntries(Object.entries(taken).map(([name, prop]) => [name, props[prop]]));

/** Characters of an argument beside its button. */
const MAX_WORDS = 2_000;

/** "alarm: 7, site: "North""
 *
 * @param {Record<string, any>} args
 */
const inWords = (args) =>
  Object.entries(args)
    .map(([name, value]) => `${name}: ${visible(cut(inJson(value, 0), MAX_WORDS))}`)
    .join(", ");

/** Buttons that call tools, each with what it gives to the tool: a model has chosen that, and the
 * drawing need not show it.
 *
 * @param {Action[]} actions @param {Record<string, any>} props @param {boolean} isStreaming
 */
const bar = (actions, props, isStreaming) => html`
  <div class="component-bar actions-bar">
    ${actions.map((action) => {
      const words = inWords(filled(action.arguments, props));
      return html`<span class="component-action">
        ${words ? html`<span class="muted">${words}</span>` : nothing}
        <button
          type="button"
          aria-description=${words || nothing}
          ?disabled=${isStreaming}
          @click=${(/** @type {Event} */ event) => act(event, action, props)}
        >
          ${action.label}
        </button>
      </span>`;
    })}
    <span class="muted" role="status"></span>
  </div>
`;

/** @param {Event} event @param {Action} action @param {Record<string, any>} props */
async function act(event, { tool, label, arguments: taken }, props) {
  const button = /** @type {HTMLButtonElement} */ (event.currentTarget);
  const row = button.closest(".component-bar");
  const status = /** @type {HTMLElement} */ (row?.querySelector("[role=status]"));
  button.disabled = true;
  status.textContent = `${label} …`;
  try {
    await api.callTool(tool, filled(taken, props));
    status.textContent = t("{action}: done", { action: label });
  } catch (error) {
    const { status: code, message } = /** @type {api.Problem} */ (error);
    // Without an answer it may have been done: not once more, unless the page is loaded again.
    const isLost = code === 0;
    status.textContent = isLost
      ? t("{action}: no answer came; it may have been done.", { action: label })
      : message;
    button.disabled = isLost;
  }
}
