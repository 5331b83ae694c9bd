/** Versions of messages. */

import assert from "node:assert/strict";
import test from "node:test";
import { beside, endOf, inPlaceOf, withVersions } from "../../static/js/versions.js";

const message = (id, version, versions, role = "user") => ({ id, role, version, versions });

test("messages get the versions of a later load, and stay the same objects where nothing changed", () => {
  const shown = [
    message("a", "v1", ["v1"]),
    message("b", "v2", undefined),
    message("c", undefined, undefined),
  ];
  const loaded = [message("a", "v1", ["v1", "v3"]), message("b", "v2", undefined)];
  const [first, second, third] = withVersions(shown, loaded);
  assert.deepEqual(first.versions, ["v1", "v3"]);
  assert.equal(second, shown[1]);
  assert.equal(third, shown[2]);
});

test("there is no version before the first and none behind the last", () => {
  const middle = message("a", "v2", ["v1", "v2", "v3"]);
  assert.deepEqual([beside(middle, -1), beside(middle, 1)], ["v1", "v3"]);
  assert.equal(beside({ ...middle, version: "v1" }, -1), undefined);
  assert.equal(beside({ ...middle, version: "v3" }, 1), undefined);
});

test("a message of a version has the role of the one in whose place it stands", () => {
  const messages = [
    message("a", "v1", ["v1", "v2"]),
    message("b", "v1", ["v1", "v2"], "assistant"),
    message("c", "v9", undefined),
  ];
  assert.equal(inPlaceOf(messages, { role: "assistant" }, "v1"), messages[1]);
  assert.equal(inPlaceOf(messages, { role: "user" }, "v9"), undefined);
});

test("a branch whose last message has no end was interrupted", () => {
  assert.equal(endOf([{ finishReason: "stop" }]), "finished");
  assert.equal(endOf([{ finishReason: "stop" }, {}]), "interrupted");
  assert.equal(endOf([]), "interrupted");
});
