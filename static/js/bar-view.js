/**
 * The bar above the thread: its graph, the model in use, the buttons; and the note above the field.
 */

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { icons } from "./icons.js";
import { shows } from "./settings.js";
import { plural, t } from "./texts.js";
import { currentTheme } from "./theme.js";

const LOOKS = {
  auto: t("Colours: auto"),
  light: t("Colours: light"),
  dark: t("Colours: dark"),
};
const THEMES = { auto: icons.auto, light: icons.sun, dark: icons.moon };
const OFFLINE = t("No key is set: a deterministic model answers. Set OPENAI_API_KEY and restart.");

/**
 * @param {{graphs: import("./graphs.js").Graphs, graph, isNew, model, models:
 *   import("./models.js").Models, inspecting: boolean, approving: boolean, waiting: number | null,
 *   saved: boolean, session: boolean}} about `graph`: that of the thread; `isNew`: it can be
 *   chosen; `waiting`: calls of others, null for who may not decide on them; `saved`: the thread
 *   can be exported; `session`: the caller can log out
 * @param {{onGraph, onModel, onNew, onLogOut, onTheme, onKeys, onInspect, onApprove, onExport,
 *   onPrint}} actions
 */
export const barView = (
  { graphs, graph, isNew, model, models, inspecting, approving, waiting, saved, session },
  actions,
) => html`
  ${
    graphs.isChoice && graph
      ? isNew
        ? graphChoice(graphs, graph, actions)
        : graphBadge(graph)
      : nothing
  }
  ${models.chosen === null ? badge(model) : choice(models, actions)}
  ${waiting === null ? nothing : approve(waiting, approving, actions)}
  ${saved ? exporting(actions) : nothing}
  ${shows("threads") ? nothing : [newThread(actions), session ? logOut(actions) : nothing]}
  <button
    type="button"
    class="icon-button"
    data-part="colours"
    aria-label=${LOOKS[currentTheme()]}
    title=${LOOKS[currentTheme()]}
    @click=${actions.onTheme}
  >
    ${THEMES[currentTheme()]}
  </button>
  <button
    type="button"
    class="icon-button keys-button"
    data-part="keys"
    aria-label=${t("Keys")}
    title=${t("Keys (Ctrl+/)")}
    @click=${actions.onKeys}
  >
    ${icons.keyboard}
  </button>
  <button
    type="button"
    class="icon-button"
    id="inspect"
    data-part="inspector"
    aria-label=${t("Event inspector")}
    title=${t("Event inspector")}
    aria-pressed=${inspecting}
    @click=${actions.onInspect}
  >
    ${icons.pulse}
  </button>
`;

const approve = (waiting, approving, { onApprove }) => html`
  <button
    type="button"
    class="icon-button"
    id="approve"
    aria-label=${
      waiting
        ? plural(waiting, "Approvals, {count} waiting", "Approvals, {count} waiting")
        : t("Approvals")
    }
    title=${t("Approvals")}
    aria-pressed=${approving}
    @click=${onApprove}
  >
    ${icons.shield}
    ${waiting ? html`<span class="count" aria-hidden="true">${waiting}</span>` : nothing}
  </button>
`;

const newThread = ({ onNew }) => html`
  <button
    type="button"
    class="icon-button"
    aria-label=${t("New thread")}
    title=${t("New thread")}
    @click=${onNew}
  >
    ${icons.plus}
  </button>
`;

const logOut = ({ onLogOut }) => html`
  <button
    type="button"
    class="icon-button"
    aria-label=${t("Log out")}
    title=${t("Log out")}
    @click=${onLogOut}
  >
    ${icons.person}
  </button>
`;

const exporting = ({ onExport, onPrint }) => html`
  <button
    type="button"
    class="icon-button"
    data-part="export"
    aria-label=${t("Export thread")}
    title=${t("Export thread")}
    popovertarget="export"
  >
    ${icons.down}
  </button>
  <div
    id="export"
    class="menu"
    popover
    role="group"
    aria-label=${t("Export thread")}
    @click=${({ currentTarget }) => currentTarget.hidePopover()}
  >
    <button type="button" @click=${() => onExport("md")}>${t("Markdown")}</button>
    <button type="button" @click=${() => onExport("json")}>${t("JSON")}</button>
    <button type="button" @click=${onPrint}>${t("Print")}</button>
  </div>
`;

const graphChoice = ({ served }, chosen, { onGraph }) => html`
  <select
    id="graph"
    class="badge"
    data-part="graph"
    aria-label=${t("Graph")}
    title=${t("The graph of the new thread")}
    @change=${({ target }) => onGraph(target.value)}
  >
    ${served.map(
      ({ name }) => html`<option value=${name} .selected=${name === chosen.name}>${name}</option>`,
    )}
  </select>
`;

const graphBadge = ({ name }) => html`
  <span class="badge" data-part="graph" title=${t("The graph of this thread")}
    ><span class="visually-hidden">${t("Graph:")} </span>${name}</span
  >
`;

const choice = ({ names, chosen }, { onModel }) => html`
  <select
    id="model"
    class="badge"
    data-part="model"
    aria-label=${t("Model")}
    title=${t("The model that answers next")}
    @change=${({ target }) => onModel(target.value)}
  >
    ${names.map(
      (name) => html`<option value=${name} .selected=${name === chosen}>${name}</option>`,
    )}
  </select>
`;

function badge(model) {
  // A graph with models of its own does not name them.
  if (!model?.model) return nothing;
  return model.offline
    ? html`<span class="badge offline" data-part="model" title=${OFFLINE}
        >${t("Offline model")}</span
      >`
    : html`<span class="badge" data-part="model" title=${t("The model in use")}
        >${model.model}</span
      >`;
}

/** How the connection is, or what just went wrong. */
export function noteView(run, failure) {
  if (run?.attempt) {
    return html`<p class="connection">
      <span class="spinner" aria-hidden="true"></span
      >${t("Reconnecting, attempt {number}", { number: run.attempt })}
    </p>`;
  }
  return failure ? html`<p class="connection">${icons.warning}${failure}</p>` : nothing;
}
