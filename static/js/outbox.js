/**
 * Messages that the server does not have yet. Each has an id and a key of its own from the
 * beginning: sent twice, it is in the thread once. What the server has taken while a run is live
 * waits there: see `queue.js`.
 */

import { imageParts } from "./attachments.js";
import { locks, randomHex } from "./secure-context.js";
import { isAsked } from "./thread-state.js";

export const threadOf = ({ body }) => body.thread_id;
export const isFor = (id) => (item) => threadOf(item) === id;

/**
 * @param {string} text
 * @param {string | null} threadId  null: the message begins a thread
 * @param {Record<string, any> | undefined} before  what it waits for, which has named a new thread
 *   and its graph
 * @param {Record<string, any>} further  keys of the body; `graph`: that of a new thread
 * @param {Record<string, any>[]} images  see `attachments.js`; they are not in the body that is
 *   kept
 * @param {string} id  of the message
 */
export function newItem(
  text,
  threadId,
  before,
  { graph, ...further } = {},
  images = [],
  id = `msg_${randomHex(16)}`,
) {
  const where =
    threadId === null ? placeOfNew(before, graph) : { thread_id: threadId, must_exist: true };
  const message = { id, parts: text ? [{ type: "text", text }] : [] };
  const body = { ...where, message, on_busy: "queue", ...further };
  return { id, text, images, key: randomHex(32), body };
}

/** A thread belongs to the graph that its first message names. */
function placeOfNew(before, graph) {
  const named = before ? before.body.graph : graph;
  return {
    thread_id: before?.body.thread_id ?? `thread_${randomHex(20)}`,
    ...(named ? { graph: named } : {}),
  };
}

/** A message behind the one that has begun their thread: it begins none. */
export const behindFirst = (item) => ({ ...item, body: { ...item.body, must_exist: true } });

/** The body of an item, with its images. */
export function bodyOf({ body, images }) {
  if (!images?.length) return body;
  const { message } = body;
  return { ...body, message: { ...message, parts: [...imageParts(images), ...message.parts] } };
}

/** Whether its images are here: those of another tab may be there alone. */
export const isWhole = ({ images = [] }) => images.every(({ dataUrl }) => dataUrl);

export const without = (items, id) => items.filter((item) => item.id !== id);

/**
 * Those that are not in the thread yet: a message comes through though the answer to it is lost.
 */
export function notSaid(items, messages) {
  const said = new Set(messages.map(({ id }) => id));
  return items.filter(({ id }) => !said.has(id));
}

/** The items with one of them on its way, or back: sent ahead of those that wait. */
export function marked(items, item, isSending) {
  const changed = { ...item, isSending };
  return items.some(({ id }) => id === item.id)
    ? items.map((one) => (one.id === item.id ? changed : one))
    : [changed, ...items];
}

/** Its author has seen the last run to its end, unless one is live. */
export const seenIn = ({ run, loading, version }, item) => ({
  ...item,
  seen: run || loading ? null : version,
});

/** A message that is older than a question does not close it: the answer comes first. */
export const isHeld = (state, item) => !state.run && isAsked(state) && item.seen !== state.version;

const inTab = (item) =>
  item && { images: item.images, isSending: item.isSending, stops: item.stops };

/** What was changed in a list of messages, made in another: by another tab, or in the storage. */
export function changed(items, before, after) {
  const [old, now, known] = [before, after, items].map(
    (list) => new Map(list.map((item) => [item.id, item])),
  );
  const own = after.filter(({ id }) => known.has(id) || !old.has(id));
  const others = items.filter(({ id }) => !now.has(id) && !old.has(id));
  // What is stored has no images.
  const shown = (item) => ({ ...item, ...inTab(known.get(item.id)) });
  return [...own.map(shown), ...others];
}

/**
 * Send what waits in a thread when nobody else does, here or in another tab.
 *
 * @param {string} id  of the thread
 * @param {(done: () => void) => Promise | undefined} send  has others wait until it calls `done`,
 *   or is over
 */
export async function alone(id, send) {
  let sent;
  await locks.request(`outbox:${id}`, {}, async () => {
    await new Promise((resolve) => {
      const done = () => resolve(null);
      sent = Promise.resolve(send(done)).finally(done);
    });
  });
  await sent;
}
