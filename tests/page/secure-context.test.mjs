/** Ids, over plain HTTP too. */

import assert from "node:assert/strict";
import test from "node:test";
import "./browser.mjs";
import { randomHex } from "../../static/js/secure-context.js";

test("an id has as many digits as are asked for, and none is given twice", () => {
  const ids = Array.from({ length: 1000 }, () => randomHex(16));
  assert.ok(ids.every((id) => /^[0-9a-f]{16}$/.test(id)));
  assert.equal(new Set(ids).size, ids.length);
});
