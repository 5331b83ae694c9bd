/** When a text that grows is painted. */

import assert from "node:assert/strict";
import test from "node:test";
import { afterDrawing, isDrawing, Pace } from "../../static/js/paint.js";

globalThis.document = { hidden: false };
globalThis.requestAnimationFrame = (frame) => frame(0);

/** Work that takes so many milliseconds each time, by a clock of the test. */
function paced(t, takes) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const done = [];
  const pace = new Pace(() => {
    done.push(now);
    now += takes;
  });
  const pass = (ms) => {
    for (let i = 0; i < ms; i += 1) {
      now += 1;
      t.mock.timers.tick(1);
    }
  };
  return { pace, done, pass };
}

test("quick work is done each time", (t) => {
  const { pace, done, pass } = paced(t, 5);
  for (let i = 0; i < 10; i += 1) {
    pace.soon();
    pass(11);
  }
  assert.equal(done.length, 10);
});

test("slow work is done a quarter of the time, and at last", (t) => {
  const { pace, done, pass } = paced(t, 200);
  for (let i = 0; i < 100; i += 1) {
    pace.soon();
    pass(16);
  }
  pass(1000);
  assert.ok(done.length >= 3 && done.length <= 5, `${done.length} times`);
});

test("what is to be done now waits for no rest", (t) => {
  const { pace, done, pass } = paced(t, 200);
  pace.soon();
  pass(10);
  pace.soon();
  pace.now();
  pass(2000);
  assert.equal(done.length, 2);
});

test("work in a hidden tab, whose timers are slow, is followed by no rest", (t) => {
  const { pace, done, pass } = paced(t, 200);
  document.hidden = true;
  pace.soon();
  pass(1);
  document.hidden = false;
  pace.soon();
  assert.equal(done.length, 2);
});

test("what waits for the drawing waits for all of it, and for rests too", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const ends = [];
  const pace = new Pace(() => new Promise((end) => ends.push(end)));
  const done = t.mock.fn();
  afterDrawing(done);
  assert.equal(done.mock.callCount(), 1);
  pace.soon();
  pace.now();
  assert.ok(isDrawing());
  afterDrawing(done);
  for (let i = 0; i < 2; i += 1) {
    assert.equal(done.mock.callCount(), 1);
    ends[i]();
    await new Promise(setImmediate);
    t.mock.timers.tick(1);
  }
  t.mock.timers.tick(1);
  assert.ok(!isDrawing());
  assert.equal(done.mock.callCount(), 2);
});

test("work in several tasks rests after the last, and is done once more if that is wanted meanwhile", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const ends = [];
  const pace = new Pace(() => new Promise((end) => ends.push(end)));
  pace.soon();
  pace.soon();
  pace.soon();
  now = 200;
  ends[0]();
  await new Promise(setImmediate);
  t.mock.timers.tick(1);
  assert.equal(ends.length, 1);
  now = 799;
  t.mock.timers.tick(599);
  assert.equal(ends.length, 1);
  now = 800;
  t.mock.timers.tick(1);
  assert.equal(ends.length, 2);
  pace.now();
  ends[1]();
  await new Promise(setImmediate);
  t.mock.timers.tick(1);
  assert.equal(ends.length, 3);
});
