/**
 * Images of drafts and of messages that wait, by their keys, in the browser's database: they are
 * too large for its storage, which has the words (`drafts.js`) and the keys.
 */

import { IMAGES, mentions } from "./drafts.js";

const STORE = "images";

let opened;
function database() {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(IMAGES, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      // Whoever logs out deletes it, in whichever tab.
      const close = () => {
        request.result.close();
        opened = undefined;
      };
      request.result.onversionchange = close;
      request.result.onclose = close;
      resolve(request.result);
    };
  });
  opened.catch(() => {
    opened = undefined;
  });
  return opened;
}

/** @param {(store: IDBObjectStore) => void} act @returns {Promise<void>} once it is on disk */
async function inStore(mode, act) {
  const transaction = (await database()).transaction(STORE, mode);
  act(transaction.objectStore(STORE));
  await new Promise((resolve, reject) => {
    transaction.oncomplete = resolve;
    transaction.onabort = transaction.onerror = () => reject(transaction.error);
  });
}

/** @param {{key: string, dataUrl: string}[]} images */
export async function keep(images) {
  if (!images.length) return;
  await inStore("readwrite", (store) => {
    for (const { key, dataUrl } of images) store.put(dataUrl, key);
  });
}

/**
 * @param {string[]} keys
 * @returns {Promise<Map<string, string>>} `data:` URLs of those that are there
 */
export async function loaded(keys) {
  const found = new Map();
  await inStore("readonly", (store) => {
    for (const key of keys) {
      const request = store.get(key);
      request.onsuccess = () => request.result && found.set(key, request.result);
    }
  });
  return found;
}

/** Forget those that no draft and no message names: their keys are written down before they are. */
export const forgetUnused = () =>
  inStore("readwrite", (store) => {
    const request = store.getAllKeys();
    request.onsuccess = () => {
      for (const key of request.result) if (!mentions(key)) store.delete(key);
    };
  });
