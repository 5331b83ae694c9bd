/** Components of the deployer: loaded with the first call of one. */

import * as api from "./api.js";
import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { apart } from "./apart.js";
import { componentText } from "./component-text.js";
import { linked } from "./styles.js";

/** @typedef {import("../components/index.js").Component} Component */
/** @typedef {{tool: string, label: string, arguments: Record<string, string>}} Action */

/** @type {Promise<any[]> | undefined} */
let listing;

/** The component of a name; null if the server has none.
 *
 * @param {string} name @returns {Promise<Component | null>}
 */
export async function load(name) {
  listing ??= api.components();
  const found = (await listing).find((one) => one.name === name);
  if (!found) return null;
  const { draw, text, style, schema, actions } = found;
  /** @type {[any, {text?: Component["text"]}, unknown]} */
  const [drawing, words] = await Promise.all([
    import(draw),
    text ? import(text) : {},
    style && linked(style),
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

/** @param {string} text */
const spoken = (text) => html`<p class="visually-hidden">${text}</p>`;

/** All props that fill its arguments are there.
 *
 * @param {Action} action @param {Record<string, any>} props
 */
const isUsable = ({ arguments: taken }, props) =>
  Object.values(taken).every((prop) => Object.hasOwn(props, prop));

/** Buttons that call tools.
 *
 * @param {Action[]} actions @param {Record<string, any>} props @param {boolean} isStreaming
 */
const bar = (actions, props, isStreaming) => html`
  <div class="component-bar actions-bar">
    ${actions.map(
      (action) =>
        html`<button
          type="button"
          ?disabled=${isStreaming}
          @click=${(/** @type {Event} */ event) => act(event, action, props)}
        >
          ${action.label}
        </button>`,
    )}
    <span class="muted" role="status"></span>
  </div>
`;

/** @param {Event} event @param {Action} action @param {Record<string, any>} props */
async function act(event, { tool, label, arguments: taken }, props) {
  const button = /** @type {HTMLButtonElement} */ (event.currentTarget);
  const status = /** @type {HTMLElement} */ (button.parentElement?.querySelector("[role=status]"));
  button.disabled = true;
  status.textContent = `${label} …`;
  const given = Object.entries(taken).map(([name, prop]) => [name, props[prop]]);
  try {
    await api.callTool(tool, Object.fromEntries(given));
    status.textContent = `${label}: done`;
  } catch (error) {
    status.textContent = /** @type {Error} */ (error).message;
    button.disabled = false;
  }
}
