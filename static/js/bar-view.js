/**
 * The bar above the thread: its graph, the model in use, the buttons; and the note above the field.
 */

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { icons } from "./icons.js";
import { currentTheme } from "./theme.js";

const THEMES = { auto: icons.auto, light: icons.sun, dark: icons.moon };
const OFFLINE = "No key is set: a deterministic model answers. Set OPENAI_API_KEY and restart.";

/**
 * @param {{graphs: import("./graphs.js").Graphs, graph, isNew, model, models:
 *   import("./models.js").Models, inspecting: boolean, approving: boolean, waiting: number | null,
 *   saved: boolean}} about `graph`: that of the thread; `isNew`: it can be chosen; `waiting`: calls
 *   of others, null for who may not decide on them; `saved`: the thread can be exported
 * @param {{onGraph, onModel, onTheme, onKeys, onInspect, onApprove, onExport, onPrint}} actions
 */
export const barView = (
  { graphs, graph, isNew, model, models, inspecting, approving, waiting, saved },
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
  <button
    type="button"
    class="icon-button"
    aria-label="Colours: ${currentTheme()}"
    title="Colours: ${currentTheme()}"
    @click=${actions.onTheme}
  >
    ${THEMES[currentTheme()]}
  </button>
  <button
    type="button"
    class="icon-button keys-button"
    aria-label="Keys"
    title="Keys (Ctrl+/)"
    @click=${actions.onKeys}
  >
    ${icons.keyboard}
  </button>
  <button
    type="button"
    class="icon-button"
    id="inspect"
    aria-label="Event inspector"
    title="Event inspector"
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
    aria-label="Approvals${waiting ? `, ${waiting} waiting` : ""}"
    title="Approvals"
    aria-pressed=${approving}
    @click=${onApprove}
  >
    ${icons.shield}
    ${waiting ? html`<span class="count" aria-hidden="true">${waiting}</span>` : nothing}
  </button>
`;

const exporting = ({ onExport, onPrint }) => html`
  <button
    type="button"
    class="icon-button"
    aria-label="Export thread"
    title="Export thread"
    popovertarget="export"
  >
    ${icons.down}
  </button>
  <div
    id="export"
    class="menu"
    popover
    role="group"
    aria-label="Export thread"
    @click=${({ currentTarget }) => currentTarget.hidePopover()}
  >
    <button type="button" @click=${() => onExport("md")}>Markdown</button>
    <button type="button" @click=${() => onExport("json")}>JSON</button>
    <button type="button" @click=${onPrint}>Print</button>
  </div>
`;

const graphChoice = ({ served }, chosen, { onGraph }) => html`
  <select
    id="graph"
    class="badge"
    aria-label="Graph"
    title="The graph of the new thread"
    @change=${({ target }) => onGraph(target.value)}
  >
    ${served.map(
      ({ name }) => html`<option value=${name} .selected=${name === chosen.name}>${name}</option>`,
    )}
  </select>
`;

const graphBadge = ({ name }) => html`
  <span class="badge" title="The graph of this thread"
    ><span class="visually-hidden">Graph: </span>${name}</span
  >
`;

const choice = ({ names, chosen }, { onModel }) => html`
  <select
    id="model"
    class="badge"
    aria-label="Model"
    title="The model that answers next"
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
    ? html`<span class="badge offline" title=${OFFLINE}>Offline model</span>`
    : html`<span class="badge" title="The model in use">${model.model}</span>`;
}

/** How the connection is, or what just went wrong. */
export function noteView(run, failure) {
  if (run?.attempt) {
    return html`<p class="connection">
      <span class="spinner" aria-hidden="true"></span>Reconnecting, attempt ${run.attempt}
    </p>`;
  }
  return failure ? html`<p class="connection">${icons.warning}${failure}</p>` : nothing;
}
