/** A document in markdown. */

import { html } from "../../vendor/lit-html/lit-html.js";
import { copy } from "../../js/clipboard.js";
import { icons } from "../../js/icons.js";
import { markdown } from "../../js/markdown.js";
import { t } from "../../js/texts.js";

export const draw = (props, { isStreaming }) => html`
  <div class="markdown" ${markdown(props.markdown, isStreaming)}></div>
  <div class="component-bar">
    <button
      type="button"
      class="quiet"
      ?disabled=${isStreaming}
      @click=${(event) => copy(props.markdown, event.currentTarget)}
    >
      ${icons.copy} ${t("Copy report")}
    </button>
  </div>
`;
