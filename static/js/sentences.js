/** What is said of a problem to a person, who knows neither bodies nor calls. */

import { formatNumber } from "./format.js";
import { limitWords } from "./limits.js";
import { catalogued, t } from "./texts.js";

const SENTENCES = {
  thread_changed: t(
    "The thread has gone on elsewhere. Look at what is new, then send it again if it still fits.",
  ),
  thread_not_found: t("This thread is gone."),
  unknown_version: t("The version that you have looked at is gone. This is the thread as it is."),
  images_not_supported: t(
    "This model takes no images. Choose another one, or send the message without them.",
  ),
  body_too_large: t("The message is too large. Send less text, or fewer images."),
  images_too_large: t("The images are too large together. Send fewer of them."),
};

/** Of a reply whose model did not come to its end, by the reason. */
export const CUT_OFF = {
  length: t("Cut off: the model reached its limit of words"),
  "content-filter": t("Cut off by the model's content filter"),
};

/**
 * The catalogue's text for the code of a problem; without one the page's own, or the server's.
 *
 * @param {Record<string, any>} problem  a problem document, or the error of a run
 * @param {number | null} [retryAfter]  seconds, if the server has said so
 */
export function sentenceOf(problem, retryAfter = null) {
  const { code = "", message, detail = message } = problem;
  const text = catalogued(`problem.${code}`, fieldsOf(problem));
  if (text !== null) return text;
  if (code === "limit_exceeded") return limitWords(problem, retryAfter);
  if (Object.hasOwn(SENTENCES, code)) return SENTENCES[code];
  // An application beside the server's, or a proxy, may answer with anything.
  return typeof detail === "string"
    ? detail.replace(/^(edit\.)?message(\.parts)?(?= (has|is) )/, t("The message"))
    : t("The server answered in a way that this page does not know.");
}

/** What a text can name: the numbers and strings of a problem. */
const fieldsOf = (problem) =>
  Object.fromEntries(
    Object.entries(problem)
      .filter(([, value]) => ["number", "string"].includes(typeof value))
      .map(([name, value]) => [name, typeof value === "number" ? formatNumber(value) : value]),
  );
