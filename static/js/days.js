/** The days of a list, in the time zone of whoever reads it. */

import { HOURS, LOCALE } from "./settings.js";
import { t } from "./texts.js";

const month = new Intl.DateTimeFormat(LOCALE, { month: "long", year: "numeric" });
const date = new Intl.DateTimeFormat(LOCALE, { month: "short", day: "numeric" });
const dateOfYear = new Intl.DateTimeFormat(LOCALE, {
  month: "short",
  day: "numeric",
  year: "numeric",
});
const clock = new Intl.DateTimeFormat(LOCALE, { timeStyle: "short", hourCycle: HOURS });

/** Midnight, so many days before a moment: a day may have 23 or 25 hours. */
const midnight = (now, days) => new Date(now.getFullYear(), now.getMonth(), now.getDate() - days);

/**
 * @param {string} instant  in ISO 8601
 * @param {Date} now
 * @returns {string} the heading that it stands under
 */
export function dayOf(instant, now = new Date()) {
  const at = new Date(instant);
  if (at >= midnight(now, 0)) return t("Today");
  if (at >= midnight(now, 1)) return t("Yesterday");
  if (at >= midnight(now, 7)) return t("Previous 7 days");
  if (at >= midnight(now, 30)) return t("Previous 30 days");
  return month.format(at);
}

/** The time, of today and yesterday; of other days the date. */
export function shortMoment(instant, now = new Date()) {
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return "";
  if (at >= midnight(now, 1)) return clock.format(at);
  return (at.getFullYear() === now.getFullYear() ? date : dateOfYear).format(at);
}

/**
 * @returns {[string, Record<string, any>[]][]} the entries under their headings, pinned ones first,
 *   in their order
 */
export function byDay(threads, now = new Date()) {
  const headingOf = ({ pinned, archived, updated_at: at }) =>
    pinned && !archived ? t("Pinned") : dayOf(at, now);
  return [...Map.groupBy(threads, headingOf)];
}
