/** The inspector's panel: one row an event, with its JSON on demand. */

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { repeat } from "../vendor/lit-html/directives/repeat.js";
import { inJson, legible } from "./bounds.js";
import { formatNumber } from "./format.js";
import { icons } from "./icons.js";
import { inspectedView } from "./inspected-view.js";
import { code } from "./markdown.js";
import { styled } from "./styles.js";
import { plural, t } from "./texts.js";

await styled("inspector");

const TYPES = [
  "step-start",
  "part-start",
  "text-delta",
  "tool-call-args-text-finish",
  "result",
  "part-finish",
  "step-finish",
  "data",
  "error",
  "message-finish",
  "[DONE]",
];
const SHOWN = 300;

/**
 * @param {import("./inspector.js").Inspector} inspector
 * @param {{filter: string, opened: Set<number>, development: boolean, inspected}} about
 * @param {{onFilter, onToggle, onClear, onClose, onEvents, onInspect}} actions
 */
export function inspectorView(inspector, about, actions) {
  const { development, inspected } = about;
  return html`
    ${bar(inspector, actions)} ${development ? views(inspected, actions) : nothing}
    ${
      inspected
        ? html`<div
            class="inspector-list"
            tabindex="0"
            role="region"
            aria-label=${t("Graph and thread")}
          >
            ${inspectedView(inspected)}
          </div>`
        : events(inspector, about, actions)
    }
  `;
}

const bar = (inspector, actions) => html`
  <header class="inspector-bar">
    <h2>${t("Events")}</h2>
    <span class="muted"
      >${plural(inspector.entries.length, "{count} event", "{count} events")},
      ${formatNumber(inspector.bytes)} B</span
    >
    <button
      type="button"
      class="icon-button"
      aria-label=${t("Close the inspector")}
      @click=${actions.onClose}
    >
      ${icons.cross}
    </button>
  </header>
`;

const views = (inspected, { onEvents, onInspect }) => html`
  <div class="inspector-tools">
    <button type="button" class="quiet" aria-pressed=${String(!inspected)} @click=${onEvents}>
      ${t("Events")}
    </button>
    <button
      type="button"
      class="quiet"
      aria-pressed=${String(Boolean(inspected))}
      @click=${onInspect}
    >
      ${t("Graph and thread")}
    </button>
  </div>
`;

function events(inspector, { filter, opened }, actions) {
  const fitting = filter
    ? inspector.entries.filter(({ kind, type }) => kind === "request" || matches(type, filter))
    : inspector.entries;
  const shown = fitting.slice(-SHOWN);
  return html`
    <div class="inspector-tools">
      <label>
        <span class="visually-hidden">${t("Show")}</span>
        <select @change=${(event) => actions.onFilter(event.currentTarget.value)}>
          <option value="" ?selected=${!filter}>${t("All chunks")}</option>
          <option value="!text-delta" ?selected=${filter === "!text-delta"}>
            ${t("All but text-delta")}
          </option>
          ${TYPES.map(
            (type) => html`<option value=${type} ?selected=${filter === type}>${type}</option>`,
          )}
        </select>
      </label>
      <button type="button" class="quiet" @click=${actions.onClear}>${t("Clear")}</button>
    </div>
    <div class="inspector-list" tabindex="0" role="region" aria-label=${t("Events of the stream")}>
      ${
        inspector.entries.length
          ? nothing
          : html`<p class="muted">${t("Send a message to see its events come in.")}</p>`
      }
      ${fitting.length > SHOWN ? html`<p class="muted">${lastOf(fitting.length)}</p>` : nothing}
      <ol>
        ${repeat(
          shown,
          ({ number }) => number,
          (entry) => row(entry, opened.has(entry.number), actions),
        )}
      </ol>
    </div>
  `;
}

const matches = (type, filter) =>
  filter.startsWith("!") ? type !== filter.slice(1) : type === filter;

const row = (entry, isOpen, actions) => html`
  <li class="event ${entry.kind}">
    <button type="button" aria-expanded=${isOpen} @click=${() => actions.onToggle(entry.number)}>
      <span class="event-ms"
        >${entry.kind === "request" ? t("sent") : `+${Math.round(entry.ms)}`}</span
      >
      <span class="event-id" title=${entry.id}>${shortId(entry.id)}</span>
      <span
        class="event-type t-${
          TYPES.includes(entry.type) ? entry.type.replace(/\W/g, "") : "unknown"
        }"
        >${entry.type}</span
      >
      <span class="event-data">${isOpen ? nothing : preview(entry)}</span>
    </button>
    ${
      isOpen
        ? html`${entry.id ? html`<p class="event-whole-id">id: ${entry.id}</p>` : nothing}
            <pre
              tabindex="0"
              role="group"
              aria-label=${t("JSON")}
            ><code ${code(pretty(entry.data), "json")}></code></pre>`
        : nothing
    }
  </li>
`;

const shortId = (id) => (id ? `#${id.slice(id.lastIndexOf(":") + 1)}` : "");

function preview({ type, data }) {
  if (type === "text-delta") return legible(JSON.parse(data).textDelta.slice(0, 120));
  return data
    .replace(/^\{"type":"[\w-]+",?/, "")
    .replace(/,?"path":\[\]\}$/, "")
    .slice(0, 120);
}

function pretty(data) {
  try {
    return inJson(JSON.parse(data));
  } catch {
    return data;
  }
}

const lastOf = (count) =>
  t("The last {shown} of {count}.", { shown: SHOWN, count: formatNumber(count) });
