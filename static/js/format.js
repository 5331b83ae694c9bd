/** Numbers, times and values as a person reads them. */

import { HOURS, LOCALE, settings } from "./settings.js";
import { t } from "./texts.js";

const number = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 6 });
const compact = new Intl.NumberFormat(LOCALE, { notation: "compact", maximumFractionDigits: 1 });
const day = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeZone: "UTC" });

const moment = new Intl.DateTimeFormat(LOCALE, {
  dateStyle: "medium",
  timeStyle: "short",
  hourCycle: HOURS,
});
const clock = new Intl.DateTimeFormat(LOCALE, { timeStyle: "short", hourCycle: HOURS });

const tenths = new Intl.NumberFormat(LOCALE, {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});

export const formatNumber = (value) => number.format(value);
export const formatCompact = (value) => compact.format(value);

export function formatMs(ms) {
  if (ms < 1000) return t("{count} ms", { count: Math.round(ms) });
  if (ms < 60_000) return t("{count} s", { count: tenths.format(ms / 1000) });
  return t("{minutes} min {seconds} s", {
    minutes: Math.floor(ms / 60_000),
    seconds: Math.round((ms % 60_000) / 1000),
  });
}

/** A cell: numbers with separators, nothing as a dash. */
export function formatValue(value) {
  if (value === null || value === undefined) return "–";
  return typeof value === "number" ? formatNumber(value) : String(value);
}

/** "Number of codes", "this year", "kWh / year": no name, whatever else the heading says. */
const QUANTITY = /\b(number|count|total|amount) of\b|\bcount\b/i;
const A_YEAR = /(\b(an?|per|each|every|this|last|next|previous)\s|\/ ?)years?\b/i;
const NAME = /(^|[^a-z])(years?|codes?|ids?|no|nr|ports?|zip|pin|serials?)([^a-z]|$)/i;
const isYear = (value) => Number.isInteger(value) && value >= 1900 && value <= 2100;

/**
 * How the numbers under a heading are written: with separators, unless they are names (years,
 * codes, ids) rather than quantities.
 *
 * @param {string} heading @param {unknown[]} values @returns {(value: unknown) => string}
 */
export function formatterOf(heading, values) {
  const numbers = values.filter((value) => typeof value === "number");
  const words = heading.replace(/([a-z])([A-Z])/g, "$1 $2").replaceAll("_", " ");
  const isNamed = NAME.test(words)
    ? numbers.every(Number.isInteger)
    : numbers.length && numbers.every(isYear);
  if (!isNamed || QUANTITY.test(words) || A_YEAR.test(words)) return formatValue;
  return (value) => (typeof value === "number" ? String(value) : formatValue(value));
}

const ISO = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?$/;

/** A plain date, or a date and a time without a zone. */
export const isDate = (value) => typeof value === "string" && ISO.test(value);

const dayShort = new Intl.DateTimeFormat(settings.locale ?? "en-GB", {
  day: "numeric",
  month: "short",
  timeZone: "UTC",
});

/** Dates as short as they can be told apart; null if one of the texts is no date. */
export function shortDates(texts) {
  if (texts.length < 2 || !texts.every(isDate)) return null;
  const days = texts.map((text) => text.slice(0, 10));
  const isOneDay = days.every((day) => day === days[0]);
  if (isOneDay && texts.every((text) => text.length > 10))
    return { labels: texts.map((text) => text.slice(11, 16)), shared: formatDate(days[0]) };
  const years = new Set(days.map((day) => day.slice(0, 4)));
  const isTimed = new Set(days).size < days.length;
  if (years.size > 1 || isTimed || days.some((day) => Number.isNaN(Date.parse(day))))
    return { labels: texts.map((text) => text.replace("T", " ")) };
  return {
    labels: days.map((day) => dayShort.format(new Date(`${day}T00:00:00Z`))),
    shared: [...years][0],
  };
}

/** `YYYY-MM-DD`, a plain date, in words. */
export function formatDate(date) {
  const parsed = new Date(`${date}T00:00:00Z`);
  return Number.isNaN(parsed.getTime()) ? date : day.format(parsed);
}

/** An instant, in ISO 8601, by the clock of whoever reads it: of today without the day. */
export function formatMoment(instant, now = new Date()) {
  const date = new Date(instant);
  if (Number.isNaN(date.getTime())) return "";
  return (date.toDateString() === now.toDateString() ? clock : moment).format(date);
}

const second = new Intl.DateTimeFormat(LOCALE, {
  dateStyle: "medium",
  timeStyle: "medium",
  hourCycle: HOURS,
});
const clockSecond = new Intl.DateTimeFormat(LOCALE, { timeStyle: "medium", hourCycle: HOURS });

/** The same to the second. */
export function formatInstant(instant, now = new Date()) {
  const date = new Date(instant);
  return (date.toDateString() === now.toDateString() ? clockSecond : second).format(date);
}

/** Texts behind each other, without those that are empty. */
export const paragraphs = (...texts) => texts.filter((text) => text.trim()).join("\n\n");
