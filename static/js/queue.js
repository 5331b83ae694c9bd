/**
 * Messages that are written while a reply streams, and wait for its end. They go one by one, each
 * when the run before it has ended well. What is sent at once goes before them.
 */

import { locks } from "./secure-context.js";
import { isAsked } from "./thread-state.js";

export const threadOf = ({ body }) => body.thread_id;
export const isFor = (id) => (item) => threadOf(item) === id;

/** First what is to be sent as soon as that is possible, then what is queued. */
export const ordered = (items) => [
  ...items.filter(({ queued }) => !queued),
  ...items.filter(({ queued }) => queued),
];

/**
 * @param {string | null} after  id of the run whose reply its author has seen; null: it is not
 *   known yet
 */
export const queued = (item, after) => ({ ...item, queued: true, after });

export const atOnce = ({ queued: _, ...item }) => item;

/** Its author has seen the last run to its end, unless one is live. */
export const seenIn = ({ run, loading, version }, item) => ({
  ...item,
  seen: run || loading ? null : version,
});

/** What was written before is queued. */
export const unseen = (items, { version }) =>
  ordered(
    items.map((item) => (item.queued || item.seen === version ? item : queued(item, version))),
  );

/** Their author has begun another run before them. */
export const following = (items, runId) =>
  items.map((item) => (item.queued ? queued(item, runId) : item));

/**
 * A queued message is for the thread that its author saw. What was sent once is sent again as it
 * was.
 */
export const basedOn = (item) =>
  item.queued && item.after && !item.body.based_on
    ? { ...item, body: { ...item.body, based_on: item.after } }
    : item;

const inTab = (item) => item && { images: item.images, isSending: item.isSending };

/** What was changed in a list of messages, made in another: by another tab, or in the storage. */
export function changed(items, before, after) {
  const [old, now, known] = [before, after, items].map(
    (list) => new Map(list.map((item) => [item.id, item])),
  );
  const own = after.filter(({ id }) => known.has(id) || !old.has(id));
  const others = items.filter(({ id }) => !now.has(id) && !old.has(id));
  // What is stored has no images.
  const shown = (item) => ({ ...item, ...inTab(known.get(item.id)) });
  return ordered([...own.map(shown), ...others]);
}

/** Why the messages that are queued wait though no run is live; null: they go. */
export function holdOf(state) {
  const { run, problem, messages, runState } = state;
  if (run) return null;
  const last = messages.at(-1);
  if (isAsked(state)) return "asked";
  if (last?.error || runState === "failed") return "failed";
  if (last?.ended || runState === "stopped") return "stopped";
  if (runState === "interrupted" || last?.role === "user") return "interrupted";
  if (runState === "waiting") return "asked";
  return problem ? "problem" : null;
}

/** By the id of a thread: the last sending from this tab, until it has others wait no more. */
const held = new Map();

/**
 * Send what waits in a thread unless another tab is about to.
 *
 * @param {string} id  of the thread
 * @param {(done: () => void) => Promise | undefined} send  has others wait until it calls `done`,
 *   or is over
 */
export async function alone(id, send) {
  await held.get(id);
  let sent;
  const hold = locks.request(`outbox:${id}`, { ifAvailable: true }, async (lock) => {
    if (!lock) return;
    held.set(id, hold);
    await new Promise((resolve) => {
      const done = () => resolve(null);
      sent = Promise.resolve(send(done)).finally(done);
    });
  });
  await hold;
  await sent;
}
