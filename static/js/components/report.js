/** A document in markdown. */

import { html } from "../../vendor/lit-html/lit-html.js";
import { copy } from "../clipboard.js";
import { icons } from "../icons.js";
import { markdown } from "../markdown.js";

export const report = (props, streaming) => html`
  <div class="markdown" ${markdown(props.markdown, streaming)}></div>
  <div class="component-bar">
    <button
      type="button"
      class="quiet"
      ?disabled=${streaming}
      @click=${(event) => copy(props.markdown, event.currentTarget)}
    >
      ${icons.copy} Copy report
    </button>
  </div>
`;
