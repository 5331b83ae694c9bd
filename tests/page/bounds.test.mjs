/** Bounds on what a text may cost the page. */

import assert from "node:assert/strict";
import test from "node:test";
import { cut, inJson, isDeep, legible, LIMITS } from "../../static/js/bounds.js";
import { table } from "./tables.mjs";

const nested = (levels, inner = 1) => {
  let value = inner;
  for (let i = 0; i < levels; i += 1) value = [value];
  return value;
};

test("a letter has as many marks as any script needs", () => {
  assert.equal(legible(`a${"\u0301".repeat(LIMITS.marks)}b`), `a${"\u0301".repeat(LIMITS.marks)}b`);
  assert.equal(legible(`a${"\u0301".repeat(200_000)}b`), `a${"\u0301".repeat(LIMITS.marks)}…b`);
  assert.equal(legible("नमस्ते שָׁלוֹם e\u0301"), "नमस्ते שָׁלוֹם e\u0301");
});

test("a long text is cut, and says so", () => {
  assert.equal(cut("abc", 3), "abc");
  assert.equal(cut("abcd", 3), "abc…");
  assert.equal(cut("ab👍", 3), "ab…");
  assert.equal(cut("👩\u200d👩", 3), "👩…");
});

table(
  "a value is deep where its indentation would outweigh it",
  [
    [1, false],
    [null, false],
    [{ a: [1, { b: "c" }] }, false],
    [nested(100), false],
    [nested(2000), true],
    [nested(100_000), true],
    [nested(50, Array(20_000).fill(1)), true],
    [Array(200_000).fill(1), false],
  ],
  (value, expected) => assert.equal(isDeep(value), expected),
);

test("JSON is indented, unless it is deep, and what cannot be written is said", () => {
  assert.equal(inJson({ a: 1 }), '{\n  "a": 1\n}');
  assert.equal(inJson({ a: 1 }, 0), '{"a":1}');
  assert.equal(inJson(nested(2000)), `${"[".repeat(2000)}1${"]".repeat(2000)}`);
  assert.equal(inJson(nested(100_000)), "Nested too deep to be shown");
});
