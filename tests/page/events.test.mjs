/** The bytes of an event stream, cut into whole events. */

import assert from "node:assert/strict";
import test from "node:test";
import { END_MARK, EventCutter } from "../../static/js/events.js";

const STREAM =
  ': ping\n\nid: r:1\ndata: {"text":"Grüße 👍"}\n\nretry: 10\n\nid: r:2\r\ndata:{"a":\r\ndata: 1}\r\n\r\nid: r:3\ndata: [DONE]\n\n';
const EVENTS = [
  { id: "r:1", chunk: { text: "Grüße 👍" } },
  { id: "r:2", chunk: { a: 1 } },
  { id: "r:3", chunk: null },
];
const bytes = new TextEncoder().encode(STREAM);
const told = (events) => events.map(({ id, chunk }) => ({ id, chunk }));

test("a stream has the same events wherever its bytes are cut", () => {
  for (let size = 1; size <= bytes.length; size += 1) {
    const cutter = new EventCutter();
    const events = [];
    for (let start = 0; start < bytes.length; start += size)
      events.push(...cutter.push(bytes.subarray(start, start + size)));
    assert.deepEqual(told(events), EVENTS, `in pieces of ${size} bytes`);
  }
});

test("an event that was cut off is not handed on", () => {
  const cutter = new EventCutter();
  const whole = STREAM.indexOf("\n\nretry");
  assert.deepEqual(
    told(cutter.push(new TextEncoder().encode(STREAM.slice(0, whole + 30)))),
    EVENTS.slice(0, 1),
  );
});

test("an event keeps its text for those who show the stream as it came", () => {
  const [event] = new EventCutter().push(new TextEncoder().encode("id: r:1\ndata: [DONE]\n\n"));
  assert.deepEqual(event, {
    id: "r:1",
    data: END_MARK,
    chunk: null,
    text: "id: r:1\ndata: [DONE]\n\n",
  });
});
