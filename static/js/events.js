/**
 * The bytes of an event stream, cut into whole events.
 *
 * The decoder of assistant-stream drops the ids, and these are what a reader goes on from after a
 * drop. So the stream is cut here, and only whole events are handed on: an event that was cut off
 * by a drop comes again, whole, with the next connection.
 */

/** The data of a stream's last event, which is not JSON. */
export const END_MARK = "[DONE]";

const END = /\r?\n\r?\n/g;

export class EventCutter {
  #decoder = new TextDecoder();
  #rest = "";

  /**
   * @returns {{id: string, data: string, chunk: Record<string, any> | null, text: string}[]}
   *   `chunk` is the JSON of `data`, null for the end mark; comments (pings) are left out
   */
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
  if (!data.length) return null;
  const whole = data.join("\n");
  return {
    id,
    data: whole,
    chunk: whole === END_MARK ? null : JSON.parse(whole),
    text: `${block}\n\n`,
  };
}
