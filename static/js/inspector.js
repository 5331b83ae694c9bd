/** What went over the wire: requests and events, as they came. */

const MAX_ENTRIES = 5000;

export class Inspector {
  entries = [];
  bytes = 0;
  #sentAt = performance.now();

  /** The body of a request: times count from here. */
  request(body) {
    this.#sentAt = performance.now();
    this.#add({ kind: "request", id: "", type: "POST /chat", data: JSON.stringify(body), ms: 0 });
  }

  event({ id, data, text }) {
    this.bytes += text.length;
    this.#add({
      kind: "event",
      id,
      type: typeOf(data),
      data,
      ms: performance.now() - this.#sentAt,
    });
  }

  clear() {
    this.entries = [];
    this.bytes = 0;
  }

  #add(entry) {
    entry.number = (this.entries.at(-1)?.number ?? 0) + 1;
    this.entries.push(entry);
    if (this.entries.length > MAX_ENTRIES * 1.2) this.entries = this.entries.slice(-MAX_ENTRIES);
  }
}

/** The chunk's type, without parsing all of its JSON. */
function typeOf(data) {
  if (data === "[DONE]") return "[DONE]";
  return /^\{"type":"([\w-]+)"/.exec(data)?.[1] ?? "unknown";
}
