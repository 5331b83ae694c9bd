/** Which lines of a chart lie on each other. */

import assert from "node:assert/strict";
import "./browser.mjs";
import { layersOf, nameOf } from "../../static/js/chart.js";
import { table } from "./tables.mjs";

table(
  "a series is drawn so that those below it are seen, where they share a line or a single point",
  [
    [
      [
        [1, 2],
        [1, 2],
        [1, 2],
      ],
      [0, 1, 2],
    ],
    [
      [
        [1, 4, 2, 3],
        [1, 4, 2, 3],
        [1, 4, 2, 5],
      ],
      [0, 1, 2],
    ],
    [
      [
        [1, 2, 3],
        [3, 2, 1],
      ],
      [0, 0],
    ],
    [
      [
        [1, 2, 3],
        [1, 2, 9],
      ],
      [0, 1],
    ],
    [
      [
        [1, null, 2, null, 3],
        [1, null, 2, null, 3],
      ],
      [0, 1],
    ],
    [
      [
        [null, null, 2, null, null],
        [null, 4, 2, 5, null],
      ],
      [0, 1],
    ],
    [
      [
        [null, 4, 2, 5, null],
        [null, null, 2, null, null],
      ],
      [0, 1],
    ],
    [
      [
        [null, null],
        [null, null],
      ],
      [0, 0],
    ],
    [
      [[], []],
      [0, 0],
    ],
  ],
  (series, layers) => assert.deepEqual(layersOf(series.map((data) => ({ data }))), layers),
);

table(
  "a series without a name has its number",
  [
    [{ name: "North" }, 0, "North"],
    [{ name: "" }, 1, "Series 2"],
  ],
  (series, index, name) => assert.equal(nameOf(series, index), name),
);
