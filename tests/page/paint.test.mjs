/** When a text that grows is painted. */

import assert from "node:assert/strict";
import test from "node:test";
import { Pace } from "../../static/js/paint.js";

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
