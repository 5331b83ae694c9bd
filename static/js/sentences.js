/** What is said of a problem to a person, who knows neither bodies nor calls. */

import { t } from "./texts.js";

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

/** @param {Error & {code?: string}} error */
export const sentenceOf = ({ code, message }) =>
  Object.hasOwn(SENTENCES, code ?? "")
    ? SENTENCES[code]
    : message.replace(/^(edit\.)?message(\.parts)?(?= (has|is) )/, t("The message"));
