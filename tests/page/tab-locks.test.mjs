/** Locks where there is no secure context. */

import assert from "node:assert/strict";
import test from "node:test";
import { TabLocks } from "../../static/js/tab-locks.js";

const never = () => new Promise(() => {});

/** Tabs with locks of their own, which hear each other. */
function tabs(t, count) {
  const channels = Array.from({ length: count }, () => new BroadcastChannel(`locks of ${t.name}`));
  t.after(() => channels.forEach((channel) => channel.close()));
  return channels.map((channel) => new TabLocks(channel));
}

/** Whether a tab gets a lock at once. */
const gets = (tab, name) => tab.request(name, { ifAvailable: true }, (lock) => lock !== null);

test("a lock that one tab holds is free for no other, and a lock of another name is", async (t) => {
  const [one, other] = tabs(t, 2);
  await new Promise((held) => {
    one.request("a", {}, () => (held(), never()));
  });
  assert.equal(await gets(other, "a"), false);
  assert.equal(await gets(one, "a"), false);
  assert.equal(await gets(other, "b"), true);
});

test("of tabs that ask at once one gets the lock", async (t) => {
  const had = await Promise.all(
    tabs(t, 4).map((tab) =>
      tab.request(
        "a",
        { ifAvailable: true },
        (lock) => lock !== null && new Promise((done) => setTimeout(() => done(true), 400)),
      ),
    ),
  );
  assert.deepEqual(had.filter(Boolean), [true]);
});

test("of tabs of which one asks a little later, one gets the lock", async (t) => {
  const [one, other] = tabs(t, 2);
  const names = Array.from({ length: 20 }, (_, i) => `lock ${i}`);
  const longer = (lock) =>
    lock !== null && new Promise((done) => setTimeout(() => done(true), 400));
  const asks = (tab) => names.map((name) => tab.request(name, { ifAvailable: true }, longer));
  const early = asks(one);
  await new Promise((later) => setTimeout(later, 50));
  const late = asks(other);
  const had = (await Promise.all(early)).map(
    async (isHeld, i) => Number(isHeld) + Number(await late[i]),
  );
  assert.deepEqual(
    await Promise.all(had),
    names.map(() => 1),
  );
});

test("a tab that waits has the lock when it is released, and not before", async (t) => {
  const [one, other] = tabs(t, 2);
  let release;
  const first = new Promise((held) => {
    one.request("a", {}, () => {
      held();
      return new Promise((done) => {
        release = done;
      });
    });
  });
  await first;
  let isReleased = false;
  const second = other.request("a", {}, () => isReleased);
  assert.equal(await gets(other, "a"), false);
  isReleased = true;
  release();
  assert.equal(await second, true);
});

test("a tab that waits no more never has the lock", async (t) => {
  const [one, other] = tabs(t, 2);
  await new Promise((held) => {
    one.request("a", {}, () => (held(), never()));
  });
  const waits = new AbortController();
  const second = other.request("a", { signal: waits.signal }, () => assert.fail("it has the lock"));
  waits.abort(new Error("left"));
  await assert.rejects(second, /left/);
});
