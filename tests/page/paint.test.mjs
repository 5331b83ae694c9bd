/** When a text that grows is painted. */

import assert from "node:assert/strict";
import test from "node:test";
import { afterDrawing, drawAtOnce, isDrawing, Pace, painter } from "../../static/js/paint.js";

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
    return [].values();
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

test("on paper a text that rests is there", (t) => {
  const { pace, done, pass } = paced(t, 200);
  pace.soon();
  pass(10);
  pace.soon();
  drawAtOnce();
  assert.equal(done.length, 2);
  pass(2000);
  assert.equal(done.length, 2);
});

/** Work of two tasks; `steps` are those that were done. */
function inTwoTasks(t) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const steps = [];
  const pace = new Pace(function* () {
    steps.push("begun");
    yield;
    steps.push("ended");
  });
  return { pace, steps };
}

const TWICE = ["begun", "ended", "begun", "ended"];

test("what waits for the drawing waits for all of it, and for rests too", (t) => {
  const { pace, steps } = inTwoTasks(t);
  const done = t.mock.fn();
  afterDrawing(done);
  assert.equal(done.mock.callCount(), 1);
  pace.soon();
  pace.now();
  afterDrawing(done);
  while (steps.length < 4) {
    assert.ok(isDrawing());
    assert.equal(done.mock.callCount(), 1);
    t.mock.timers.tick(1);
  }
  t.mock.timers.tick(2);
  assert.ok(!isDrawing());
  assert.equal(done.mock.callCount(), 2);
});

test("work in several tasks rests after the last, and is done once more if that is wanted meanwhile", (t) => {
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const { pace, steps } = inTwoTasks(t);
  pace.soon();
  pace.soon();
  pace.soon();
  now = 200;
  t.mock.timers.tick(1);
  assert.deepEqual(steps, ["begun", "ended"]);
  now = 799;
  t.mock.timers.tick(599);
  assert.equal(steps.length, 2);
  now = 800;
  t.mock.timers.tick(1);
  assert.deepEqual(steps, TWICE);
  pace.soon();
  pace.now();
  t.mock.timers.tick(2);
  assert.deepEqual(steps, [...TWICE, ...TWICE]);
});

test("on paper everything is there, whatever waits for a frame or a further task", (t) => {
  const { pace, steps } = inTwoTasks(t);
  const frames = [];
  t.mock.method(globalThis, "requestAnimationFrame", (frame) => frames.push(frame));
  const painted = t.mock.fn(() => pace.now());
  const paint = painter(painted);
  pace.soon();
  paint();
  drawAtOnce();
  assert.deepEqual(steps, TWICE);
  assert.ok(!isDrawing());
  for (const frame of frames) frame();
  t.mock.timers.tick(10);
  assert.equal(painted.mock.callCount(), 1);
  assert.deepEqual(steps, TWICE);
});
