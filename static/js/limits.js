/** What is said of a limit that was reached: which one it is, and when to try again. */

import { formatNumber } from "./format.js";

const SOON_SECONDS = 90;
const TIME = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const DAY = { month: "long", day: "numeric" };

/**
 * @param {{limit?: string, value?: number, detail?: string}} body  of a problem `limit_exceeded`
 * @param {number | null} seconds  until a further try can succeed, as far as the server knows
 */
export function limitWords({ limit, value, detail }, seconds, now = new Date()) {
  const which = limit
    ? `You have reached your limit of ${nameOf(limit)}${bound(value)}.`
    : (detail ?? "");
  return `${which} ${whenWords(seconds, now)}`.trim();
}

const nameOf = (limit) => limit.toLowerCase().replaceAll("_", " ");

const bound = (value) => (typeof value === "number" ? ` (${formatNumber(value)})` : "");

function whenWords(seconds, now) {
  if (seconds === null) return "Try again later.";
  if (seconds <= SOON_SECONDS)
    return `Try again in ${seconds === 1 ? "1 second" : `${seconds} seconds`}.`;
  // The minute that follows: at the one before, it would still be too early.
  const moment = new Date(now.getTime() + seconds * 1000 + 59_999);
  const at = (parts) => new Intl.DateTimeFormat("en", parts).format(moment);
  const day = moment.toDateString() === now.toDateString() ? "" : `on ${at(DAY)} `;
  return `Try again ${day}at ${at(TIME)}.`;
}
