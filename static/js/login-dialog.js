/**
 * The form to log in, loaded with its styles when somebody has to. It stays until somebody is
 * logged in, and keeps nothing of what is typed.
 */

import { styled } from "./styles.js";
import { t } from "./texts.js";

await styled("login");

const ERRORS = {
  unauthenticated: t(
    "This key or token is not valid. Check that it is whole; it may have expired or been revoked.",
  ),
};

export class LoginDialog {
  #dialog;
  #onCredential;
  #field;
  #button;
  #needed = false;
  #mayType = true;
  #busy = false;

  /**
   * @param {HTMLDialogElement} dialog
   * @param {(credential: string) => Promise<void>} onCredential  throws a Problem if it is not good
   */
  constructor(dialog, onCredential) {
    this.#dialog = dialog;
    this.#onCredential = onCredential;
    this.#field = dialog.querySelector("input");
    this.#button = dialog.querySelector("button");
    dialog.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.#mayType) this.#submit();
      else location.reload();
    });
    this.#field.addEventListener("input", () => this.#say(""));
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    // A browser may close it all the same, at the second Escape.
    dialog.addEventListener("close", () => this.#needed && dialog.showModal());
  }

  /** @param {string} [name]  of who was logged in until now */
  ask(name) {
    this.#mayType = true;
    this.#show(
      t("Log in"),
      name
        ? t("The login of {name} has ended. Log in again to go on: nothing is lost.", { name })
        : t("Enter your API key or token to continue."),
      t("Log in"),
    );
  }

  /** Where people log in elsewhere. */
  offerReload() {
    this.#mayType = false;
    this.#show(
      t("You are not logged in"),
      t(
        "The proxy in front of this server logs people in. " +
          "Reload the page to log in there: what you wrote is kept.",
      ),
      t("Reload"),
    );
  }

  close() {
    this.#needed = false;
    this.#field.value = "";
    this.#say("");
    this.#dialog.close();
  }

  #show(title, about, action) {
    if (this.#needed) return;
    this.#needed = true;
    this.#dialog.querySelector("h2").textContent = title;
    this.#dialog.querySelector("#login-about").textContent = about;
    this.#dialog.querySelector("#login-credential").hidden = !this.#mayType;
    this.#field.disabled = !this.#mayType;
    this.#button.textContent = action;
    this.#dialog.showModal();
  }

  async #submit() {
    const credential = this.#field.value.trim();
    if (this.#busy || !credential) return;
    this.#setBusy(true);
    try {
      await this.#onCredential(credential);
    } catch (error) {
      this.#say(ERRORS[error.code] ?? error.message);
      this.#field.select();
      this.#field.focus();
    } finally {
      this.#setBusy(false);
    }
  }

  #setBusy(busy) {
    this.#busy = busy;
    this.#field.readOnly = busy;
    this.#button.textContent = busy ? t("Logging in") : t("Log in");
    this.#button.ariaDisabled = String(busy);
  }

  #say(words) {
    this.#dialog.querySelector("#login-error").textContent = words;
    this.#field.ariaInvalid = words ? "true" : "false";
  }
}
