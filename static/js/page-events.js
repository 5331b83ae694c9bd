/**
 * What the browser tells the page: clicks outside the views, history, the network, coming and
 * going.
 */

import { copy } from "./clipboard.js";
import { isComposing } from "./keys.js";
import { currentId, currentVersion } from "./location.js";
import { NotLoaded } from "./notice.js";
import { drawAtOnce } from "./paint.js";
import { t } from "./texts.js";
import { lighten } from "./theme.js";

const element = (id) => document.getElementById(id);

const NOT_COPIED = t(
  "The browser did not let this page copy. Select the text, and copy it with the keyboard.",
);
const BROKEN = t("Something on this page has failed. Reload it: what you have written is kept.");

/**
 * @param {{thread, follower, panels, session, reading, notice, onOpen, onSeen}} page  `onSeen`: the
 *   page comes into view
 */
export function listen(page) {
  listenToFaults(page);
  listenToRegions(page);
  listenToKeys(page);
  listenToVisits(page);
  addEventListener("beforeprint", () => {
    lighten(true);
    drawAtOnce();
  });
  addEventListener("afterprint", () => lighten(false));
  addEventListener("online", () => {
    page.session.check();
    page.thread.sender.networkIsBack();
  });
}

/** Said once: what has failed may fail with every painting. */
function listenToFaults({ notice }) {
  let isSaid = false;
  const say = (event) => {
    const fault = event.error ?? event.reason;
    if (fault instanceof NotLoaded) {
      event.preventDefault();
      notice.say(fault.message);
    } else if (fault && !isSaid) {
      isSaid = true;
      notice.say(BROKEN);
    }
  };
  addEventListener("error", say);
  addEventListener("unhandledrejection", say);
}

function listenToRegions({ thread, follower, panels, notice, onOpen }) {
  const log = element("log");
  element("new").addEventListener("click", () => onOpen(null));
  element("menu").addEventListener("click", () => panels.toggle("threads"));
  element("latest").addEventListener("click", () => follower.pin());
  // What failed to load is loaded only when it is asked for.
  const readOn = () => follower.isNearTop && !thread.state.earlierFailed && thread.earlier();
  element("scroller").addEventListener("scroll", readOn, { passive: true });
  log.addEventListener("click", ({ target }) => {
    const button = /** @type {Element} */ (target).closest?.(".copy-code");
    if (button) copy(button.closest(".code").querySelector("code").textContent, button);
  });
  log.addEventListener("copied", (/** @type {CustomEvent} */ { detail }) => {
    if (detail.state === "failed")
      notice.say(detail.error instanceof NotLoaded ? detail.error.message : NOT_COPIED);
    else element("status").textContent = t("Copied");
  });
}

function listenToKeys({ thread, panels }) {
  addEventListener("keydown", (event) => {
    const isOpen = document.querySelector("dialog[open], :popover-open");
    if (event.key !== "Escape" || isComposing(event) || event.defaultPrevented || isOpen) return;
    if (panels.closeDrawer()) return;
    if (thread.busy) thread.stop();
    // On a page of another site: `widget.js` listens there, and the word has nothing in it.
    else if (parent !== window) parent.postMessage("turnstream:escape", "*");
    else if (event.target === element("message"))
      element("scroller").focus({ preventScroll: true });
  });
}

function listenToVisits({ thread, session, reading, onOpen, onSeen }) {
  addEventListener("popstate", () => {
    // A link to a place in the page is no way to another thread.
    if (currentId() !== thread.state.id || currentVersion() !== thread.state.looksAt)
      onOpen(currentId(), { isBack: true });
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    session.check();
    onSeen();
  });
  addEventListener("pageshow", ({ persisted }) => {
    if (!persisted) return;
    if (document.body.hidden) location.reload();
    else session.check();
  });
  addEventListener("pagehide", () => {
    // Of whoever was logged in nothing is kept.
    if (document.body.hidden) return;
    reading.keep();
    if (!session.isAsking) thread.sender.pause();
  });
}
