/** What is said of a limit that was reached: which one it is, and when to try again. */

import { formatNumber } from "./format.js";
import { HOURS, LOCALE } from "./settings.js";
import { plural, t } from "./texts.js";

const SOON_SECONDS = 90;
const TIME = { hour: "2-digit", minute: "2-digit", hourCycle: HOURS };
const DAY = { month: "long", day: "numeric" };

/**
 * @param {{limit?: string, value?: number, detail?: string}} body  of a problem `limit_exceeded`
 * @param {number | null} seconds  until a further try can succeed, as far as the server knows
 */
export function limitWords({ limit, value, detail }, seconds, now = new Date()) {
  const which = limit
    ? t("You have reached your limit of {limit}.", { limit: `${nameOf(limit)}${bound(value)}` })
    : (detail ?? "");
  return `${which} ${whenWords(seconds, now)}`.trim();
}

const nameOf = (limit) => limit.toLowerCase().replaceAll("_", " ");

const bound = (value) => (typeof value === "number" ? ` (${formatNumber(value)})` : "");

function whenWords(seconds, now) {
  if (seconds === null) return t("Try again later.");
  if (seconds <= SOON_SECONDS)
    return plural(seconds, "Try again in {count} second.", "Try again in {count} seconds.");
  // The minute that follows: at the one before, it would still be too early.
  const moment = new Date(now.getTime() + seconds * 1000 + 59_999);
  const at = (parts) => new Intl.DateTimeFormat(LOCALE, parts).format(moment);
  return moment.toDateString() === now.toDateString()
    ? t("Try again at {time}.", { time: at(TIME) })
    : t("Try again on {day} at {time}.", { day: at(DAY), time: at(TIME) });
}
