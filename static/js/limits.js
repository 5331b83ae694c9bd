/** What is said of a limit that was reached: which one it is, and when to try again. */

import { formatNumber } from "./format.js";

const SOON_SECONDS = 90;
const DAY_SECONDS = 86_400;

/**
 * @param {{limit?: string, value?: number, detail?: string}} body  of a problem `limit_exceeded`
 * @param {number | null} seconds  until a further try can succeed, as far as the server knows
 */
export function limitWords({ limit, value, detail }, seconds, now = new Date()) {
  const which = limit ? `You have reached your limit of ${nameOf(limit)}${bound(value)}.` : (detail ?? "");
  return `${which} ${whenWords(seconds, now)}`.trim();
}

const nameOf = (limit) => limit.toLowerCase().replaceAll("_", " ");

const bound = (value) => (typeof value === "number" ? ` (${formatNumber(value)})` : "");

function whenWords(seconds, now) {
  if (seconds === null) return "Try again later.";
  if (seconds <= SOON_SECONDS) return `Try again in ${seconds === 1 ? "1 second" : `${seconds} seconds`}.`;
  const time = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const day = seconds < DAY_SECONDS ? {} : { day: "numeric", month: "long" };
  // The minute that follows: at the one before, it would still be too early.
  const at = new Date(now.getTime() + seconds * 1000 + 59_999);
  return `Try again at ${new Intl.DateTimeFormat("en", { ...time, ...day }).format(at)}.`;
}
