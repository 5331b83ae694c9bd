/** The inspector as it is used: what came over the wire, and which of it is looked at. */

import { render } from "../vendor/lit-html/lit-html.js";
import * as api from "./api.js";
import { Inspector } from "./inspector.js";
import { painter } from "./paint.js";

const PAINT_MS = 200;
const NEAR_PX = 60;
const DONE = "[DONE]";

export class InspectorPanel {
  #inspector = new Inspector();
  #filter = "";
  #opened = new Set();
  /** Loaded when the panel is opened. */
  #view = null;
  #element;
  #actions;
  #about;
  /** What `turnstream dev` has said of the graph and the thread; null: events are looked at. */
  #inspected = null;

  /**
   * @param {HTMLElement} element
   * @param {{onClose, about: () => {development: boolean, id: string | null, graph}}} given
   *   `about`: the server and the open thread
   */
  constructor(element, { onClose, about }) {
    this.#element = element;
    this.#about = about;
    this.#actions = {
      onClose,
      onInspect: () => this.#inspect(),
      onEvents: () => {
        this.#inspected = null;
        this.paint();
      },
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
    if (event.data === DONE && this.#inspected) this.#inspect();
    this.paint();
  }

  async #inspect() {
    const asked = (this.#inspected ??= {});
    this.paint();
    const { id, graph } = this.#about();
    const answer = await api.inspected(id, graph).then(
      (found) => ({ found }),
      ({ message }) => ({ problem: message }),
    );
    if (this.#inspected !== asked) return;
    this.#inspected = answer;
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
      const { development } = this.#about();
      const inspected = this.#inspected;
      const about = { filter: this.#filter, opened: this.#opened, development, inspected };
      render(this.#view(this.#inspector, about, this.#actions), this.#element);
      if (atEnd && !inspected) list().scrollTop = 1e9;
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
