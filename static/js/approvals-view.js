/** The panel of the calls of others that wait for a decision. */

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { repeat } from "../vendor/lit-html/directives/repeat.js";
import { approvalCard } from "./approval-card.js";
import { formatMoment } from "./format.js";
import { icons } from "./icons.js";
import { styled } from "./styles.js";
import { plural, t } from "./texts.js";

await styled("inspector");

/**
 * @param {Record<string, any>} state  of `WaitingApprovals` @param {import("./tools.js").Tools}
 *   tools
 * @param {{onDecide, onReload, onMore, onClose}} actions
 */
export const approvalsView = (
  { calls, answers, loaded, failed, hasMore, told },
  tools,
  actions,
) => html`
  <header class="inspector-bar">
    <h2>${t("Approvals")}</h2>
    <span class="muted" role="status"
      >${loaded ? waitingWords(calls.length, hasMore) : nothing}</span
    >
    <button
      type="button"
      class="icon-button"
      aria-label=${t("Close the approvals")}
      @click=${actions.onClose}
    >
      ${icons.cross}
    </button>
  </header>
  <div
    class="approvals-list"
    tabindex="0"
    role="region"
    aria-label=${t("Calls of others that wait for an approval")}
  >
    <div class="approvals-told" role="status">${told && !told.isError ? told.words : nothing}</div>
    ${
      told?.isError
        ? html`<p class="question-failed" role="alert">${icons.warning} ${told.words}</p>`
        : nothing
    }
    ${
      failed
        ? html`<p class="muted">
            ${t("The list could not be loaded.")}
            <button type="button" class="link" @click=${actions.onReload}>${t("Retry")}</button>
          </p>`
        : nothing
    }
    ${
      loaded && !calls.length && !hasMore && !failed
        ? html`<p class="muted">${t("No call of anybody else waits for your approval.")}</p>`
        : nothing
    }
    ${repeat(
      calls,
      ({ id }) => id,
      (call) => card(call, answers, tools, actions),
    )}
    ${
      hasMore
        ? html`<p class="muted">
            <button type="button" class="link" @click=${actions.onMore}>${t("Show more")}</button>
          </p>`
        : nothing
    }
  </div>
`;

function card(call, answers, tools, { onDecide }) {
  const { id, tool_name: toolName, args, asked_by: asker, asked_at: at, expires_at: until } = call;
  const about = {
    tool: tools.of(toolName),
    answer: answers[id],
    asker: asker.name || asker.id,
    since: formatMoment(at),
    until: until && formatMoment(until),
  };
  const approval = { id, mayHaveRun: call.may_have_run };
  return approvalCard({ toolName, args, approval }, about, (decision) => onDecide(call, decision));
}

const waitingWords = (count, hasMore) =>
  hasMore
    ? plural(count, "More than {count} call waiting", "More than {count} calls waiting")
    : plural(count, "{count} call waiting", "{count} calls waiting");
