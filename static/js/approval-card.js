/**
 * A call that waits for an approval, as a form; and what was decided. What is typed lives in the
 * inputs alone, so that a form which is shut while its decision is on its way, and opened again
 * when that failed, has it still.
 *
 * No key approves by accident: the form itself gets the focus, and no button submits it.
 */

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { guard } from "../vendor/lit-html/directives/guard.js";
import { keyed } from "../vendor/lit-html/directives/keyed.js";
import { decisionOf, isOnItsWay } from "./approvals.js";
import { field, readFields } from "./argument-fields.js";
import { argsOf, argsOfText, changesOf, fieldsOf, isExact } from "./arguments.js";
import { cut, inJson } from "./bounds.js";
import { icons } from "./icons.js";
import { t } from "./texts.js";
import { toolCard } from "./tool-card.js";
import { visible } from "./unseen.js";

const MAX_WORDS = 300;

const short = (text) => visible(cut(text, MAX_WORDS));

const muted = (words) => html`<span class="muted">${words}</span>`;

const askedBy = (name) => t("Asked by {name}", { name: short(name) });

const MAY_HAVE_RUN = t(
  "This call was approved before, and its run was cut off: it may have run. " +
    "Check that before you approve it again.",
);

/**
 * @param {{toolName: string, args: Record<string, any>, argsText?: string, approval: {id,
 *   mayHaveRun?}}} call
 * @param {{tool, answer, asker, since?, until?, note?}} about  `tool`: as `GET /tools` has it,
 *   undefined while that is loaded, null if it has none; `answer`: a decision that the server does
 *   not have yet, `{state: "waiting" | "sending" | "failed", error?}`; the others are words, if
 *   there are any
 * @param {(decision: {approved: boolean, args?: Record<string, any>, reason?: string}) => void}
 *   onDecide
 */
export const approvalCard = (call, about, onDecide) =>
  keyed(call.approval.id, form(call, about, onDecide));

/** @param {any} call @param {any} about @param {(decision: any) => void} onDecide */
function form(call, { tool, answer, asker, since, until, note }, onDecide) {
  const key = keyOf(call.approval.id);
  const isShut = isOnItsWay(answer) || tool === undefined;
  const decide = (read) => (event) => {
    const decision = read(event.currentTarget.form, call, tool);
    if (decision) onDecide(decision);
  };
  return html`
    <form
      class="question approval"
      novalidate
      tabindex="-1"
      aria-labelledby="${key}-title"
      aria-describedby="${key}-about"
      aria-busy=${isOnItsWay(answer)}
      data-approval=${call.approval.id}
      data-keep="approval-${call.approval.id}"
      @submit=${(event) => event.preventDefault()}
    >
      <fieldset class="interrupt-fields" ?disabled=${isShut}>
        <p class="interrupt-legend" id="${key}-title">
          ${icons.shield} <span>${t("Approve")} <code>${short(call.toolName)}</code>?</span>
          ${
            asker
              ? html`<span class="muted">${askedBy(asker)}${since ? `, ${since}` : nothing}</span>`
              : nothing
          }
          ${until ? muted(t("Until {time}", { time: until })) : nothing}
        </p>
        <div class="approval-about" id="${key}-about">
          ${tool?.description ? html`<p class="muted">${short(tool.description)}</p>` : nothing}
          ${call.approval.mayHaveRun ? mayHaveRun : nothing}
        </div>
        ${
          tool === undefined
            ? html`<div
                class="skeleton lines"
                role="img"
                aria-label=${t("Loading the form")}
              ></div>`
            : guard([call.args, call.argsText, tool], () => argumentsView(call, tool, key))
        }
        ${reasonField} ${failure(answer)} ${bar(answer, decide, note)}
      </fieldset>
    </form>
  `;
}

const mayHaveRun = html`
  <p class="notice warning">
    ${icons.warning}
    <span>${MAY_HAVE_RUN}</span>
  </p>
`;

const reasonField = html`
  <label class="detail">
    <span>${t("Reason, if you decline (optional)")}</span>
    <input name="reason" autocomplete="off" maxlength="2000" />
  </label>
`;

const failure = (answer) =>
  answer?.state === "failed"
    ? html`<p class="question-failed" role="alert">${icons.warning} ${answer.error.message}</p>`
    : nothing;

const bar = (answer, decide, note) => html`
  <div class="question-bar">
    <button type="button" class="primary" @click=${decide(approval)}>${t("Approve")}</button>
    <button type="button" @click=${decide(refusal)}>${t("Decline")}</button>
    ${
      isOnItsWay(answer)
        ? html`<span class="spinner" aria-hidden="true"></span
            ><span class="muted" role="status">${ON_ITS_WAY[answer.state]}</span>`
        : note
          ? html`<span class="muted">${note}</span>`
          : nothing
    }
  </div>
`;

const ON_ITS_WAY = { waiting: t("Sent when the reply has ended"), sending: t("Sending") };

/** Of any characters, a name that an attribute can refer to. */
const keyOf = (id) => `approval-${id.replace(/[^\w-]/g, (unit) => `.${unit.charCodeAt(0)}`)}`;

function argumentsView(call, tool, key) {
  const { args, argsText } = call;
  if (!isExact(args)) return fixed(argsText ?? inJson(args));
  const fields = fieldsOf(tool?.parameters, args);
  if (!fields)
    return field(
      { kind: "json", name: t("Arguments, as JSON"), text: visible(inJson(args)) },
      0,
      key,
    );
  const rows = fields.map((item, index) => field(item, index, key));
  const count = fields.filter(({ given }) => given).length;
  return html`
    ${
      count
        ? html`<div class="fields">${rows.slice(0, count)}</div>`
        : html`<p class="muted">${t("No arguments")}</p>`
    }
    ${
      count < rows.length
        ? html`<details class="more-fields">
            <summary>
              ${icons.chevron} ${t("Not given:")}
              ${short(
                fields
                  .slice(count)
                  .map(({ name }) => name)
                  .join(", "),
              )}
            </summary>
            <div class="fields">${rows.slice(count)}</div>
          </details>`
        : nothing
    }
  `;
}

/** Arguments that this page would not send as they came. */
const fixed = (text) => html`
  <pre class="interrupt-box" tabindex="0" role="group" aria-label=${t("Arguments")}>
${visible(cut(text))}</pre>
  <p class="muted">${t("The arguments hold a number that is too large to be changed here.")}</p>
`;

/** What the form says of an approval; null when something is wrong, which the form then says. */
function approval(form, call, tool) {
  const read = readFields(form, (typed) => readArguments(call, tool, typed));
  return read && { approved: true, ...(read.isChanged ? { args: read.args } : {}) };
}

function readArguments({ args }, tool, typed) {
  if (!typed.length) return { args, isChanged: false };
  const fields = fieldsOf(tool?.parameters, args);
  return fields ? argsOf(fields, typed) : argsOfText(args, visible(inJson(args)), typed[0]);
}

function refusal(form) {
  const reason = form.elements.reason.value.trim();
  return { approved: false, ...(reason ? { reason } : {}) };
}

/**
 * A call that was decided on, or typed past: its card, and below it the decision.
 *
 * @param {{state: "failed", error} | undefined} answer  given here, when another one counts
 */
export function decidedCall(part, answer) {
  const { approval } = part;
  const { words, by, reason, isApproved } = decisionOf(part);
  return html`
    <div class="decided" data-approval=${approval.id}>
      ${toolCard(part)}
      <div class="decision ${isApproved === null ? "open" : isApproved ? "approved" : "declined"}">
        ${isApproved === null ? icons.stopped : isApproved ? icons.check : icons.cross}
        <div>
          <p>
            <strong>${words}</strong>
            ${by ? muted(t("by {name}", { name: short(by) })) : nothing}
          </p>
          ${reason ? html`<p class="decision-reason">${visible(reason)}</p>` : nothing}
          ${approval.args ? changes(part.args, approval.args) : nothing}
          ${
            isApproved === null && approval.mayHaveRun
              ? html`<p class="muted">
                  ${t("It was approved before, and its run was cut off: it may have run.")}
                </p>`
              : nothing
          }
        </div>
      </div>
      ${failure(answer)}
    </div>
  `;
}

const changes = (before, after) => html`
  <ul class="changes">
    ${changesOf(before, after).map(
      (change) =>
        html`<li>
          <span>${short(change.name)}</span>
          ${
            change.before === undefined
              ? html`<span class="muted">${t("added")}</span>`
              : html`<del>${short(change.before)}</del>`
          }
          <span role="img" aria-label=${t("is now")}>→</span>
          ${
            change.after === undefined
              ? html`<span class="muted">${t("left out")}</span>`
              : html`<ins>${short(change.after)}</ins>`
          }
        </li>`,
    )}
  </ul>
`;
