/**
 * Who is logged in. A request that is refused because nobody is waits here until somebody has
 * logged in, in this tab or in another. When that is somebody else, the page begins anew: nothing
 * that one person did is ever sent or shown for another.
 */

import * as api from "./api.js";
import { onWord, tell } from "./tabs.js";

/** In the tab's storage: whose page it was before a reload. */
const KEY = "user";

export class Session {
  /** As `GET /me` has it; null until it is known. */
  user = null;
  #element;
  /** Loaded when somebody has to log in. */
  #dialog = null;
  #listeners;
  #waiting = [];
  #knownAt = -Infinity;

  /** @param {HTMLDialogElement} element  of the form @param {{onUser, onEnd}} listeners */
  constructor(element, listeners) {
    this.#element = element;
    this.#listeners = listeners;
    api.onUnauthenticated((problem, sentAt) => this.#login(problem, sentAt));
    onWord(({ type, user }) => {
      if (type === "login") this.#is(user);
      if (type === "logout") this.#end();
    });
  }

  /** Whether requests wait for somebody to log in: none of them has reached the server. */
  get isAsking() {
    return this.#waiting.length > 0;
  }

  /**
   * Ask the server who is logged in: perhaps somebody else by now. It is asked until it is known.
   */
  async check(pause = 5000) {
    if (this.user?.method === "off") return;
    try {
      this.#is(await api.me());
    } catch (error) {
      // Every other request says what is wrong.
      if (!this.user && error.isTransient)
        setTimeout(() => this.user ?? this.check(pause + 5000), pause);
    }
  }

  /** In all tabs. @throws {api.Problem} */
  async logOut() {
    await api.logOut();
    tell({ type: "logout" });
    this.#end();
  }

  /** @throws {api.Problem} if the credential is not good, or nobody can tell */
  async #logIn(credential) {
    const user = await api.logIn(credential);
    tell({ type: "login", user });
    this.#is(user);
  }

  async #login(problem, sentAt) {
    const form = await import("./login-dialog.js").catch(() => null);
    if (sentAt < this.#knownAt) return;
    if (form === null) throw problem;
    this.#dialog ??= new form.LoginDialog(this.#element, (credential) => this.#logIn(credential));
    if (!problem.body.login) {
      this.#dialog.offerReload();
      throw problem;
    }
    this.#dialog.ask(this.user?.display_name);
    await new Promise((resolve) => this.#waiting.push(resolve));
  }

  #is(user) {
    const before = this.user?.id ?? sessionStorage.getItem(KEY);
    if (before !== null && before !== user.id) {
      this.#end();
      return;
    }
    sessionStorage.setItem(KEY, user.id);
    this.user = user;
    this.#knownAt = performance.now();
    this.#dialog?.close();
    this.#listeners.onUser(user);
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Requests that wait are never sent: the page is left. */
  #end() {
    this.#waiting = [];
    sessionStorage.removeItem(KEY);
    this.#listeners.onEnd();
  }
}
