/** A tool call as one line that opens: state, name, arguments, duration, and the JSON of both. */

import { guard } from "../vendor/lit-html/directives/guard.js";
import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { cut, inJson, legible } from "./bounds.js";
import { formatMs } from "./format.js";
import { icons } from "./icons.js";
import { code, markdown } from "./markdown.js";
import { plural, t } from "./texts.js";

/** By state: what it is called, and its icon. */
export const STATES = {
  writing: [t("Writing arguments"), null],
  running: [t("Running"), null],
  pending: [t("Not answered"), icons.question],
  result: [t("Complete"), icons.check],
  shown: [t("Shown"), icons.check],
  error: [t("Error"), icons.warning],
  timeout: [t("Timed out"), icons.clock],
  cancelled: [t("Cancelled"), icons.stopped],
  declined: [t("Declined"), icons.cross],
};

export function toolCard(part) {
  const [word, icon] = STATES[part.state] ?? STATES.pending;
  const sign = icon ?? html`<span class="spinner" aria-hidden="true"></span>`;
  return html`
    <details
      class="tool-card ${part.state in STATES ? part.state : "pending"}"
      data-call=${part.toolCallId}
      data-part="tool_calls"
    >
      <summary>
        <span class="tool-state">${sign}</span>
        <code class="tool-name">${legible(part.toolName)}</code>
        <span class="tool-args">${preview(part)}</span>
        <span class="tool-word">${word}</span>
        ${part.ms === undefined ? nothing : took(part.ms)}
        <span class="tool-open">${icons.chevron}</span>
      </summary>
      <div class="tool-body">
        ${guard([part.progress, part.argsText, part.approval, part.result, part.state], () =>
          body(part),
        )}
      </div>
    </details>
    ${part.messages?.length || part.messagesCut ? subagents(part, sign) : nothing}
    ${
      part.isError && !isToldBelow(part)
        ? html`<p class="tool-error" data-part="tool_calls">${errorOf(part.result)}</p>`
        : nothing
    }
  `;
}

const took = (ms) => html`<span class="tool-ms" data-part="times">${formatMs(ms)}</span>`;

const isAtWork = ({ state }) => state === "running";

/** What subagents do under a call: open while they work, folded when they have done. */
function subagents(part, sign) {
  const { messages = [], messagesCut: cut = 0 } = part;
  const steps = messages.length + cut;
  const names = [...new Set(messages.map(nameOf))];
  return html`
    <details class="subagents" data-part="tool_calls" ?open=${isAtWork(part)}>
      <summary>
        <span class="tool-state">${sign}</span>
        <span class="subagents-names">${legible(names.join(", "))}</span>
        <span class="tool-args">${isAtWork(part) ? legible(doing(messages)) : nothing}</span>
        <span class="tool-word">${plural(steps, "{count} step", "{count} steps")}</span>
        <span class="tool-open">${icons.chevron}</span>
      </summary>
      <div class="subagents-body">
        ${cut ? html`<p class="muted">${earlier(cut)}</p>` : nothing}
        ${messages.map((message, index) => {
          const before = messages[index - 1];
          const isNext = !before || nameOf(before) !== nameOf(message);
          return substep(message, names.length > 1 && isNext);
        })}
      </div>
    </details>
  `;
}

const earlier = (cut) =>
  plural(cut, "An earlier step is not kept.", "{count} earlier steps are not kept.");

const nameOf = ({ agent }) => agent ?? t("Subagent");

/** What the subagent does now, in a few words. */
function doing(messages) {
  const last = messages.at(-1)?.parts.at(-1);
  if (last?.type === "tool-call") return last.toolName;
  return last?.type === "reasoning" ? t("Thinking") : (last?.text ?? "").slice(-MAX_PREVIEW);
}

function substep(message, isNamed) {
  return html`
    ${isNamed ? html`<p class="speaker">${legible(nameOf(message))}</p>` : nothing}
    ${message.parts.map(substepPart)}
  `;
}

function substepPart(part) {
  if (part.type === "tool-call") return toolCard(part);
  if (part.type !== "text" && part.type !== "reasoning") return nothing;
  const text = html`<div class="markdown" ${markdown(part.text, Boolean(part.open))}></div>`;
  if (part.type === "text") return text;
  return html`<details class="reasoning" data-part="reasoning">
    <summary>${icons.thought} ${t("Thought")}</summary>
    ${text}
  </details>`;
}

/** The decision below the card says more. */
const isToldBelow = ({ state, approval }) =>
  state === "declined" || (state === "cancelled" && approval);

const body = (part) => html`
  ${part.progress === undefined ? nothing : section(t("Progress"), part.progress)}
  ${section(t("Arguments"), argumentsOf(part))}
  ${part.approval?.args ? section(t("Arguments as approved"), part.approval.args) : nothing}
  ${part.result === undefined ? nothing : result(part)}
`;

function result({ isError, result }) {
  if (isHidden(result)) return html`<p class="tool-hidden">${t("Result not shown")}</p>`;
  return section(isError ? t("Error") : t("Result"), result);
}

/** What the server sends in place of a result that the client may not see. */
const isHidden = (result) => result?.hidden === true && Object.keys(result).length === 1;

/** JSON in colours; a string is text, not JSON. */
export function section(name, value) {
  const isText = typeof value === "string";
  const text = cut(isText ? value : inJson(value));
  return html`
    <p class="tool-section">${name}</p>
    <pre
      tabindex="0"
      role="group"
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
    return argsText || args || t("none");
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
  const said = typeof message === "string" ? message : t("The call failed.");
  return cut(legible(id ? `${said} (${id})` : said));
}
