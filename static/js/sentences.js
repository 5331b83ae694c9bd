/** What is said of a problem to a person, who knows neither bodies nor calls. */

const SENTENCES = {
  thread_changed: "The thread has gone on elsewhere. Look at what is new, then send it again if it still fits.",
  thread_not_found: "This thread is gone.",
  unknown_version: "The version that you have looked at is gone. This is the thread as it is.",
};

/** @param {Error & {code?: string}} error */
export const sentenceOf = ({ code, message }) =>
  Object.hasOwn(SENTENCES, code ?? "") ? SENTENCES[code] : message.replace(/^(edit\.)?message(\.parts)?(?= (has|is) )/, "The message");
