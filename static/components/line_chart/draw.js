/**
 * Lines over numbers, times or names. The library that draws them is loaded with the first of them.
 */

import { html, render } from "../../vendor/lit-html/lit-html.js";
import { icons } from "../../js/icons.js";
import { chartOfPoints } from "../../js/chart.js";
import { drawing } from "../../js/drawing.js";
import { t } from "../../js/texts.js";
import { LinePlot } from "./line-plot.js";

export const draw = (props, { isStreaming }) =>
  chartOfPoints(t("Line chart"), props, isStreaming, lines(props));

const lines = drawing((element) => new Lines(element));

const RETRY_MS = [2000, 8000, 30_000];
const LIBRARY = new URL("../../vendor/uplot/uPlot.esm.js", import.meta.url);
const STYLES = new URL("../../vendor/uplot/uPlot.min.css", import.meta.url);

let library;
let tries = 0;
/**
 * uPlot with its style sheet. A module that failed to load is never loaded again under its name.
 */
function load() {
  library ??= loaded().catch((error) => {
    tries += 1;
    library = undefined;
    throw error;
  });
  return library;
}

async function loaded() {
  const again = tries ? `?${tries}` : "";
  const [{ default: uPlot }] = await Promise.all([import(LIBRARY.href + again), styled()]);
  return uPlot;
}

function styled() {
  return new Promise((resolve, reject) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = STYLES.href;
    link.addEventListener("load", resolve);
    link.addEventListener("error", () => {
      link.remove();
      reject(new Error("style sheet"));
    });
    document.head.append(link);
  });
}

class Lines {
  #element;
  #plot = null;
  /** Undefined once it is closed. */
  #props;
  #isLoading = false;

  constructor(element) {
    this.#element = element;
  }

  async draw(props) {
    this.#props = props;
    if (this.#isLoading) return;
    this.#isLoading = true;
    const uPlot = await load().catch(() => null);
    this.#isLoading = false;
    if (!this.#props) return;
    if (!uPlot) {
      this.#notLoaded();
      return;
    }
    this.#clear();
    this.#plot ??= new LinePlot(this.#element, uPlot);
    this.#plot.show(this.#props);
  }

  #failures = 0;
  #note = null;
  #timer;
  #retry = () => this.draw(this.#props);

  /** Say so, show the data meanwhile, and try again. */
  #notLoaded() {
    clearTimeout(this.#timer);
    if (this.#failures < RETRY_MS.length)
      this.#timer = setTimeout(this.#retry, RETRY_MS[this.#failures]);
    this.#failures += 1;
    if (this.#note) return;
    addEventListener("online", this.#retry);
    this.#note = document.createElement("div");
    this.#note.className = "chart-failed";
    const data = this.#element.closest("figure")?.querySelector(".chart-data");
    if (data) data.open = true;
    this.#element.before(this.#note);
    this.#element.hidden = true;
    render(failed(this.#retry), this.#note);
  }

  #clear() {
    clearTimeout(this.#timer);
    removeEventListener("online", this.#retry);
    this.#note?.remove();
    this.#note = null;
    this.#failures = 0;
    this.#element.hidden = false;
  }

  restyle() {
    this.#plot?.restyle();
  }

  close() {
    this.#props = undefined;
    this.#clear();
    this.#plot?.close();
    this.#plot = null;
  }
}

const failed = (onRetry) => html`
  <p role="status">${icons.warning} ${t("The chart could not be loaded. Its data is below.")}</p>
  <button type="button" @click=${onRetry}>${icons.again} ${t("Retry")}</button>
`;
