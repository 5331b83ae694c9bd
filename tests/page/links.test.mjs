/** Which links of a model's text may be followed. */

import assert from "node:assert/strict";
import { safeLink } from "../../static/js/links.js";
import { table } from "./tables.mjs";

table(
  "only absolute addresses of the web and of mail are followed, and none with credentials",
  [
    ["https://example.org/a?b=c&d=%22", "https://example.org/a?b=c&d=%22"],
    ["HTTP://example.org", "http://example.org/"],
    ["mailto:ann@example.org", "mailto:ann@example.org"],
    ["javascript:alert(1)", null],
    [" java\nscript:alert(1)", null],
    ["data:text/html,x", null],
    ["ftp://example.org", null],
    ["https://a:b@example.org/", null],
    ["https://a@example.org/", null],
    ["https://:b@example.org/", null],
    ["/chat", null],
    ["//example.org", null],
    ["", null],
  ],
  (address, link) => assert.equal(safeLink(address), link),
);
