/** Word between the tabs of this page: a thread has a new run, or the list has changed. */

const channel = new BroadcastChannel("turnstream");

export const tell = (message) => channel.postMessage(message);
export const onWord = (listener) => channel.addEventListener("message", ({ data }) => listener(data));
