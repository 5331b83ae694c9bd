/** What the server tells of its tools: loaded when the first form needs it. */

import * as api from "./api.js";

export class Tools {
  #byName = null;
  #isLoading = false;
  #onLoaded;

  /**
   * @param {(tools: Tools) => void} onLoaded  gets the same tools as another object: paint again
   */
  constructor(onLoaded, byName = null) {
    this.#onLoaded = onLoaded;
    this.#byName = byName;
  }

  /**
   * @returns {{description: string, parameters: Record<string, any>} | null | undefined}
   *   undefined: not loaded yet
   */
  of(name) {
    if (this.#byName) return this.#byName.get(name) ?? null;
    this.#load();
    return undefined;
  }

  /** Without the list all arguments are edited as JSON. */
  async #load() {
    if (this.#isLoading) return;
    this.#isLoading = true;
    const tools = await api.tools().catch(() => []);
    this.#onLoaded(new Tools(this.#onLoaded, new Map(tools.map((tool) => [tool.name, tool]))));
  }
}
