/** Below the threads: who is logged in, where people are told apart. */

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { icons } from "./icons.js";
import { t } from "./texts.js";
import { visible } from "./unseen.js";

/**
 * @param {Record<string, any>} user  as `GET /me` has it
 * @param {{onLogOut: () => void}} actions
 */
export function accountView(user, { onLogOut }) {
  const name = visible(user.display_name);
  return html`
    <div class="account" role="group" aria-label=${t("Account")}>
      ${icons.person}
      <span class="account-name" title=${visible(user.id)}
        ><span class="visually-hidden">${t("Logged in as")} </span>${name}</span
      >
      ${
        user.session
          ? html`<button type="button" class="quiet" @click=${onLogOut}>${t("Log out")}</button>`
          : nothing
      }
    </div>
  `;
}
