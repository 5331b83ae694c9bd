/** A tool call as one line that opens: state, name, arguments, duration, and the JSON of both. */

import { guard } from "../vendor/lit-html/directives/guard.js";
import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { cut, inJson, legible } from "./bounds.js";
import { formatMs } from "./format.js";
import { icons } from "./icons.js";
import { code } from "./markdown.js";

/** By state: what it is called, and its icon. */
export const STATES = {
  writing: ["Writing arguments", null],
  running: ["Running", null],
  pending: ["Not answered", icons.question],
  result: ["Complete", icons.check],
  shown: ["Shown", icons.check],
  error: ["Error", icons.warning],
  timeout: ["Timed out", icons.clock],
  cancelled: ["Cancelled", icons.stopped],
  declined: ["Declined", icons.cross],
};

export function toolCard(part) {
  const [word, icon] = STATES[part.state] ?? STATES.pending;
  return html`
    <details
      class="tool-card ${part.state in STATES ? part.state : "pending"}"
      data-call=${part.toolCallId}
    >
      <summary>
        <span class="tool-state"
          >${icon ?? html`<span class="spinner" aria-hidden="true"></span>`}</span
        >
        <code class="tool-name">${legible(part.toolName)}</code>
        <span class="tool-args">${preview(part)}</span>
        <span class="tool-word">${word}</span>
        ${part.ms === undefined ? nothing : html`<span class="tool-ms">${formatMs(part.ms)}</span>`}
        <span class="tool-open">${icons.chevron}</span>
      </summary>
      <div class="tool-body">
        ${guard([part.progress, part.argsText, part.approval, part.result, part.state], () =>
          body(part),
        )}
      </div>
    </details>
    ${
      part.isError && !isToldBelow(part)
        ? html`<p class="tool-error">${errorOf(part.result)}</p>`
        : nothing
    }
  `;
}

/** The decision below the card says more. */
const isToldBelow = ({ state, approval }) =>
  state === "declined" || (state === "cancelled" && approval);

const body = (part) => html`
  ${part.progress === undefined ? nothing : section("Progress", part.progress)}
  ${section("Arguments", argumentsOf(part))}
  ${part.approval?.args ? section("Arguments as approved", part.approval.args) : nothing}
  ${part.result === undefined ? nothing : result(part)}
`;

function result({ isError, result }) {
  if (isHidden(result)) return html`<p class="tool-hidden">Result not shown</p>`;
  return section(isError ? "Error" : "Result", result);
}

/** What the server sends in place of a result that the client may not see. */
const isHidden = (result) => result?.hidden === true && Object.keys(result).length === 1;

/** JSON in colours; a string is text, not JSON. */
export function section(name, value) {
  const isText = typeof value === "string";
  const text = cut(isText ? value : inJson(value));
  return html`
    <h4>${name}</h4>
    <pre
      tabindex="0"
      role="region"
      aria-label=${name}
    ><code ${code(text, isText ? "" : "json")}></code></pre>
  `;
}

/** While arguments stream, and when they are broken, their raw text. */
function argumentsOf({ argsText, args, state }) {
  if (state === "writing") return argsText || "…";
  try {
    return JSON.parse(argsText);
  } catch {
    return argsText || args || "none";
  }
}

const MAX_PREVIEW = 120;

/** The arguments that count. */
function preview({ args, approval }) {
  let words = "";
  for (const [name, value] of Object.entries(approval?.args ?? args ?? {})) {
    if (words.length > MAX_PREVIEW) break;
    words += `${words && ", "}${name}: ${typeof value === "object" ? inJson(value, 0) : value}`;
  }
  return legible(words.slice(0, MAX_PREVIEW));
}

function errorOf(result) {
  const { message, id } = result?.error ?? {};
  const said = typeof message === "string" ? message : "The call failed.";
  return cut(legible(id ? `${said} (${id})` : said));
}
