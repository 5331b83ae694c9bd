/**
 * Versions of messages: a question in other words, a reply made anew. The thread has one of each;
 * others can be looked at, and gone on from.
 */

/** The messages with what a load says of their versions, by id. */
export function withVersions(messages, loaded) {
  const known = new Map(loaded.map((message) => [message.id, message]));
  return messages.map((message) => {
    const { version, versions } = known.get(message.id) ?? message;
    return version === message.version && sameIds(versions, message.versions)
      ? message
      : { ...message, version, versions };
  });
}

const sameIds = (some, others) => some?.join() === others?.join();

/**
 * The version beside the one that is shown; undefined: there is none.
 *
 * @param {{version?: string, versions?: string[]}} message
 * @param {-1 | 1} step
 */
export const beside = ({ version, versions }, step) => versions[versions.indexOf(version) + step];

/** The message that stands in the place of another one, in a version. */
export const inPlaceOf = (messages, { role }, version) =>
  messages.find(
    (message) => message.role === role && message.version === version && message.versions,
  );

/**
 * How a branch ended that the thread has left: the state of the thread's last run says nothing of
 * it.
 */
export const endOf = (messages) =>
  messages.at(-1)?.finishReason === undefined ? "interrupted" : "finished";
