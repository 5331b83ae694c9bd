/** Characters that are not seen. */

import assert from "node:assert/strict";
import test from "node:test";
import { visible } from "../../static/js/unseen.js";
import { table } from "./tables.mjs";

table(
  "characters that are unseen, or reorder others, are escapes",
  [
    ["pay\u202eeno", String.raw`pay\u202eeno`],
    ["no\u200b", String.raw`no\u200b`],
    ["\ufeffa\u00ad\u0000", String.raw`\ufeffa\u00ad\u0000`],
    ["\u{e0041}", String.raw`\udb40\udc41`],
    ["tab\tand\nline\r", "tab\tand\nline\r"],
    ["Ä 日本 👍", "Ä 日本 👍"],
  ],
  (text, shown) => assert.equal(visible(text), shown),
);

test("JSON with escapes is the same JSON", () => {
  const value = { "a\u202eb": ["\u200b", "\u{e0041}"] };
  assert.deepEqual(JSON.parse(visible(JSON.stringify(value))), value);
});
