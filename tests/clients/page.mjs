// A page for React to draw on. Imported before React, which looks for a window as it loads.

import { JSDOM } from "jsdom";

export const ORIGIN = "http://localhost:5173";
export const page = new JSDOM("<!doctype html><body></body>", {
  url: `${ORIGIN}/`,
  pretendToBeVisual: true,
});
const { window } = page;

// What Node has of its own stays: its fetch takes no other's AbortSignal.
for (const name of Object.getOwnPropertyNames(window)) {
  if (!(name in globalThis)) globalThis[name] = window[name];
}
const { document, location, sessionStorage } = window;
Object.assign(globalThis, { window, document, location });
Object.defineProperty(globalThis, "sessionStorage", { value: sessionStorage, configurable: true });
Object.defineProperty(globalThis, "navigator", { value: window.navigator, configurable: true });
globalThis.ResizeObserver = class {
  observe() {}
  unobserve() {}
  disconnect() {}
};
window.HTMLElement.prototype.scrollTo = () => {};
