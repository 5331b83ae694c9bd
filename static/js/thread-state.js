/** The open thread as the page shows it: one object, replaced and never changed in place. */

/** What belongs to a run, or to the end of one. */
export const NO_RUN = {
  run: null,
  problem: null,
  answers: {},
  /** Decisions on calls that wait for an approval, by its id, until the server has them. */
  decisions: {},
  /** What the graph stopped to ask, and the answers to it that are on their way or failed. */
  interrupts: [],
  resuming: null,
};

export const EMPTY = {
  ...NO_RUN,
  id: null,
  title: "",
  /**
   * The name of its graph, where several are served; null: it is not known, or the thread is new.
   */
  graph: null,
  /** From some message on to the last; `hasEarlier`: the thread has others before these. */
  messages: [],
  /** UI messages of its graph; see `ui-messages.js`. */
  ui: [],
  hasEarlier: false,
  loadingEarlier: false,
  earlierFailed: false,
  runState: null,
  /** The id of its last run, as far as it is known here: what an edit is made on. */
  version: undefined,
  /**
   * The version of a message whose branch is shown in the place of the thread; null: the thread is.
   */
  looksAt: null,
  /** Messages that wait on the server for the end of a run; see `queue.js`. */
  queue: [],
  /** Messages that the server does not have yet; see `outbox.js`. */
  outbox: [],
  loading: false,
  missing: false,
};

/** A tool waits for an answer or an approval. */
export const waitsForAnswer = ({ messages }) =>
  messages.at(-1)?.parts.some(({ state }) => state === "pending") ?? false;

/** Somebody has to answer: a tool, an approval, or what the graph stopped to ask. */
export const isAsked = (state) => state.interrupts.length > 0 || waitsForAnswer(state);

/** From where a body goes on, if that is not the thread. */
export const placeOf = ({ looksAt, version }) =>
  looksAt === null ? {} : { version: looksAt, based_on: version };

/** The thread is not what the page shows. */
export const isOutdated = ({ status, code }) => status === 409 || code === "unknown_version";
