/** What `turnstream dev` shows of the graph and the open thread (`server/http/inspection.py`). */

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { inJson } from "./bounds.js";
import { code } from "./markdown.js";
import { t } from "./texts.js";

/** @param {{problem?: string, found?: Record<string, any>}} inspected  empty while it is loaded */
export function inspectedView({ problem, found }) {
  if (problem) return html`<p class="muted">${problem}</p>`;
  if (!found) return html`<p class="muted">${t("Loading…")}</p>`;
  const { graph, drawing, state, checkpoints, calls } = found;
  return html`
    ${section(t("Graph {name}, in Mermaid's language", { name: graph }), text(drawing), true)}
    ${state ? section(t("State"), json(state)) : nothing}
    ${
      checkpoints
        ? section(
            t("Checkpoints, the newest first ({count})", { count: checkpoints.length }),
            json(checkpoints),
          )
        : nothing
    }
    ${calls?.length === 0 ? html`<p class="muted">${t("No model was called yet.")}</p>` : nothing}
    ${(calls ?? []).map(modelCall)}
  `;
}

/** @param {Record<string, any>} call @param {number} index */
const modelCall = ({ node, model, ms, request, response, error }, index) => {
  const named = [
    t("Model call {number}", { number: index + 1 }),
    node,
    model,
    ms === undefined ? "" : t("{count} ms", { count: ms }),
  ];
  const told = { request, ...(error ? { error } : { response }) };
  return section(named.filter(Boolean).join(" · "), json(told));
};

/** @param {string} title @param {unknown} content */
const section = (title, content, open = false) => html`
  <details class="inspected" ?open=${open}>
    <summary>${title}</summary>
    ${content}
  </details>
`;

/** @param {string} words */
const text = (words) => html`<pre tabindex="0" role="group" aria-label=${t("Text")}>${words}</pre>`;

/** @param {unknown} value */
const json = (value) => html`
  <pre
    tabindex="0"
    role="group"
    aria-label=${t("JSON")}
  ><code ${code(inJson(value), "json")}></code></pre>
`;
