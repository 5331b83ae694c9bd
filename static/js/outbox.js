/**
 * Messages that wait to be sent. Each has an id of its own from the beginning: sent twice, it is in
 * the thread once.
 */

import { imageParts } from "./attachments.js";
import { randomHex } from "./secure-context.js";

/**
 * @param {string} text
 * @param {string | null} threadId  null: the message begins a thread
 * @param {Record<string, any> | undefined} before  what it waits for, which has named a new thread
 *   and its graph
 * @param {Record<string, any>} further  keys of the body; `graph`: that of a new thread
 * @param {Record<string, any>[]} images  see `attachments.js`; they are not in the body that is
 *   kept
 */
export function newItem(text, threadId, before, { graph, ...further } = {}, images = []) {
  const where =
    threadId === null ? placeOfNew(before, graph) : { thread_id: threadId, must_exist: true };
  const id = `msg_${randomHex(16)}`;
  const message = { id, parts: text ? [{ type: "text", text }] : [] };
  return { id, text, images, key: randomHex(32), body: { ...where, message, ...further } };
}

/** A thread belongs to the graph that its first message names. */
function placeOfNew(before, graph) {
  const named = before ? before.body.graph : graph;
  return {
    thread_id: before?.body.thread_id ?? `thread_${randomHex(20)}`,
    ...(named ? { graph: named } : {}),
  };
}

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
