/** Tests of many like cases. */

import test from "node:test";
import { inspect } from "node:util";

/** A test with a case for each row: every row that fails is reported. */
export const table = (name, rows, check) =>
  test(name, async (t) => {
    for (const row of rows) await t.test(nameOf(row), () => check(...row));
  });

const nameOf = (row) =>
  inspect(row, { breakLength: Infinity, compact: true, depth: 4 }).slice(2, -2).slice(0, 160);
