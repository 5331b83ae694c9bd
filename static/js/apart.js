/** Code of others draws in an element of its own: what fails there leaves the rest as it is. */

import { AsyncDirective, directive } from "../vendor/lit-html/async-directive.js";
import { html, render } from "../vendor/lit-html/lit-html.js";
import { icons } from "./icons.js";
import { t } from "./texts.js";

export const undrawn = () =>
  html`<p class="muted">${icons.warning} ${t("This could not be drawn.")}</p>`;

/** An element with what `view` gives. A template may fail only when it is rendered: an argument
 * that throws, say.
 */
export const apart = directive(
  class extends AsyncDirective {
    #element = document.createElement("div");
    /** @type {ReturnType<typeof render> | undefined} */
    #root;

    /** @param {() => unknown} view */
    render(view) {
      try {
        this.#root = render(view(), this.#element);
      } catch (error) {
        reportError(error);
        // Half of it may be there: nothing can be rendered into that.
        this.#root?.setConnected(false);
        this.#element = document.createElement("div");
        this.#root = render(undrawn(), this.#element);
      }
      return this.#element;
    }

    disconnected() {
      this.#root?.setConnected(false);
    }

    reconnected() {
      this.#root?.setConnected(true);
    }
  },
);
