/**
 * A drawing that lives as long as its element: drawn anew when its props, its width or the theme
 * change, at most eight times a second while it streams.
 */

import { AsyncDirective, directive } from "../vendor/lit-html/async-directive.js";
import { noChange } from "../vendor/lit-html/lit-html.js";
import { onTheme } from "./theme.js";
import { REDRAW_MS } from "./chart.js";

/** @param {(element: HTMLElement) => {draw(props): void, restyle?(): void, close?(): void}} open */
export function drawing(open) {
  class Drawing extends AsyncDirective {
    #element;
    #props;
    #drawn;
    #timer;
    #last = 0;
    #close;

    update(part, [props]) {
      if (props === this.#props) return noChange;
      this.#props = props;
      this.#element = part.element;
      if (this.#close) this.#soon();
      else this.#start();
      return noChange;
    }

    render() {
      return noChange;
    }

    disconnected() {
      this.#close?.();
      this.#close = undefined;
    }

    reconnected() {
      this.#start();
    }

    #start() {
      this.#drawn = open(this.#element);
      const size = new ResizeObserver(() => this.#draw());
      size.observe(this.#element);
      const leave = onTheme(() => {
        this.#drawn.restyle?.();
        this.#draw();
      });
      this.#close = () => {
        clearTimeout(this.#timer);
        size.disconnect();
        leave();
        this.#drawn.close?.();
      };
    }

    #soon() {
      clearTimeout(this.#timer);
      const wait = Math.max(0, this.#last + REDRAW_MS - performance.now());
      this.#timer = setTimeout(() => this.#draw(), wait);
    }

    #draw() {
      if (!this.#close || !this.#element.clientWidth) return;
      this.#last = performance.now();
      this.#drawn.draw(this.#props);
    }
  }
  return directive(Drawing);
}
