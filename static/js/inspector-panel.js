/** The inspector as it is used: what came over the wire, and which of it is looked at. */

import { render } from "../vendor/lit-html/lit-html.js";
import { Inspector } from "./inspector.js";
import { painter } from "./paint.js";

const PAINT_MS = 200;
const NEAR_PX = 60;

export class InspectorPanel {
  #inspector = new Inspector();
  #filter = "";
  #opened = new Set();
  /** Loaded when the panel is opened. */
  #view = null;
  #element;
  #actions;

  constructor(element, { onClose }) {
    this.#element = element;
    this.#actions = {
      onClose,
      onFilter: (filter) => {
        this.#filter = filter;
        this.paint();
      },
      onToggle: (number) => {
        if (!this.#opened.delete(number)) this.#opened.add(number);
        this.paint();
      },
      onClear: () => {
        this.#inspector.clear();
        this.#opened.clear();
        this.paint();
      },
    };
  }

  request(body) {
    this.#inspector.request(body);
    this.paint();
  }

  event(event) {
    this.#inspector.event(event);
    this.paint();
  }

  paint = slowly(
    painter(() => {
      if (this.#element.hidden) return;
      if (!this.#view) {
        this.#load();
        return;
      }
      const list = () => this.#element.querySelector(".inspector-list");
      const atEnd = !list() || isAtEnd(list());
      const about = { filter: this.#filter, opened: this.#opened };
      render(this.#view(this.#inspector, about, this.#actions), this.#element);
      if (atEnd) list().scrollTop = 1e9;
    }),
  );

  /** What cannot be loaded is asked for again by the next painting. */
  async #load() {
    const loaded = await import("./inspector-view.js").catch(() => null);
    if (!loaded) return;
    this.#view = loaded.inspectorView;
    this.paint();
  }
}

const isAtEnd = ({ scrollHeight, scrollTop, clientHeight }) =>
  scrollHeight - scrollTop - clientHeight < NEAR_PX;

/** Not more than five times a second: the panel is not what people wait for. */
function slowly(paint) {
  let timer = null;
  return () => {
    timer ??= setTimeout(() => {
      timer = null;
      paint();
    }, PAINT_MS);
  };
}
