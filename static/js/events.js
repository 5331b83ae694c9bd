/**
 * The bytes of an event stream, cut into whole events.
 *
 * The decoder of assistant-stream drops the ids, and these are what a reader goes on from after a
 * drop. So the stream is cut here, and only whole events are handed on: an event that was cut off
 * by a drop comes again, whole, with the next connection.
 */

const END = /\r?\n\r?\n/g;

export class EventCutter {
  #decoder = new TextDecoder();
  #rest = "";

  /** @returns {{id: string, data: string, text: string}[]} comments (pings) are left out */
  push(bytes) {
    const text = this.#rest + this.#decoder.decode(bytes, { stream: true });
    const events = [];
    let start = 0;
    END.lastIndex = 0;
    for (let end = END.exec(text); end; end = END.exec(text)) {
      const event = read(text.slice(start, end.index));
      if (event) events.push(event);
      start = END.lastIndex;
    }
    this.#rest = text.slice(start);
    return events;
  }
}

function read(block) {
  let id = "";
  const data = [];
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith("id:")) id = line.slice(3).trimStart();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length ? { id, data: data.join("\n"), text: `${block}\n\n` } : null;
}
