/** What is said of a problem to a person, who knows neither bodies nor calls. */

const SENTENCES = {
  thread_changed:
    "The thread has gone on elsewhere. Look at what is new, then send it again if it still fits.",
  thread_not_found: "This thread is gone.",
  unknown_version: "The version that you have looked at is gone. This is the thread as it is.",
  images_not_supported:
    "This model takes no images. Choose another one, or send the message without them.",
  body_too_large: "The message is too large. Send less text, or fewer images.",
  images_too_large: "The images are too large together. Send fewer of them.",
};

/** Of a reply whose model did not come to its end, by the reason. */
export const CUT_OFF = {
  length: "Cut off: the model reached its limit of words",
  "content-filter": "Cut off by the model's content filter",
};

/** @param {Error & {code?: string}} error */
export const sentenceOf = ({ code, message }) =>
  Object.hasOwn(SENTENCES, code ?? "")
    ? SENTENCES[code]
    : message.replace(/^(edit\.)?message(\.parts)?(?= (has|is) )/, "The message");
