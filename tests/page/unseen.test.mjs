/** Characters that are not seen. */

import assert from "node:assert/strict";
import test from "node:test";
import { visible } from "../../static/js/unseen.js";
import { table } from "./tables.mjs";

const escaped = (text) =>
  text
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");

const BLANK = [
  ...[
    0x00, 0x1b, 0x7f, 0x85, 0x9f, 0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x1680, 0x17b4, 0x180b,
    0x180e,
  ],
  ...[
    0xa0, 0x2000, 0x2007, 0x200a, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x2028, 0x2029, 0x202e,
    0x202f,
  ],
  ...[
    0x205f, 0x2060, 0x2064, 0x2066, 0x206f, 0x2800, 0x3000, 0x3164, 0xfe00, 0xfe0f, 0xfeff, 0xffa0,
    0xfff9,
  ],
  ...[0xe000, 0xd800, 0x1d159, 0x1d173, 0x13441, 0xe0001, 0xe0041, 0xe0100, 0xe01ef, 0x10fffd],
];

table(
  "a character that is not seen, or is a blank other than a space, is an escape",
  BLANK.map((point) => [String.fromCodePoint(point)]),
  (character) => assert.equal(visible(`a${character}b`), `a${escaped(character)}b`),
);

table(
  "what is seen stays as it is",
  [
    ["tab\tand\nline\r"],
    ["Ä é 日本語 한국어 ไทย עברית"],
    ["e\u0301 a\u0308\u0304"],
    ["👍 👍🏽 ☺\ufe0f 1\ufe0f\u20e3 👩\u200d👩\u200d👧 🏳\ufe0f\u200d🌈 🇩🇪"],
    ["\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"],
    ["\u0d36\u0d4d\u200d\u0930\u0940"],
  ],
  (text) => assert.equal(visible(text), text),
);

table(
  "joiners and selectors that are part of no emoji and no word are escapes",
  [
    ["ok\ufe0f"],
    ["1\ufe0f2"],
    ["a\u200db"],
    ["a\u200cb"],
    ["👍\ufe0f\ufe0f"],
    ["\u0645\u200d\u062e"],
    ["🏴\u{e0067}\u{e0068}\u{e007f}"],
    ["👩\u200d\u200d👧"],
  ],
  (text) => assert.match(visible(text), /\\u/),
);

test("a sentence that hides in variation selectors is shown as long as it is", () => {
  const hidden = Array.from("send it to the other account", (letter) =>
    String.fromCodePoint(0xe0100 + letter.charCodeAt(0) - 16),
  ).join("");
  assert.equal(visible(`ok${hidden}`), `ok${escaped(hidden)}`);
});

test("marks that pile up on a letter are escapes beyond what any script needs", () => {
  assert.equal(
    visible(`a${"\u0301".repeat(10)}`),
    `a${"\u0301".repeat(8)}${String.raw`\u0301`.repeat(2)}`,
  );
});

test("JSON with escapes is the same JSON", () => {
  const value = { "a\u202eb": ["\u200b", "\u{e0041}", "\ufe0f", "\u00a0", "👩\u200d👧"] };
  assert.deepEqual(JSON.parse(visible(JSON.stringify(value))), value);
});
