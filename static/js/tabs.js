/**
 * Word between the tabs of this page: a thread has a new run or is gone, the list has changed,
 * somebody has logged in or out.
 */

const channel = new BroadcastChannel("turnstream");

export const tell = (message) => channel.postMessage(message);
export const onWord = (listener) =>
  channel.addEventListener("message", ({ data }) => listener(data));
