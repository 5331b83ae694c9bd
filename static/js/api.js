/** Calls to the server. A failed call throws a Problem; a network failure has status 0. */

import { sentenceOf } from "./sentences.js";
import { t } from "./texts.js";

export class Problem extends Error {
  /** @param {number | null} retryAfter  seconds, if the server has said so */
  constructor(status, body, retryAfter = null) {
    super(sentenceOf(body, retryAfter));
    this.status = status;
    this.code = body.code ?? "unknown";
    this.body = body;
    this.retryAfter = retryAfter;
  }

  /** The very same request may well succeed later. */
  get isTransient() {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

const UNREACHABLE = {
  code: "unreachable",
  detail: t("The server cannot be reached. Check that it runs, then try again."),
};

const NOT_KEPT = {
  code: "login_not_kept",
  detail: t(
    "You were logged in, but the browser did not keep the cookie. " +
      "Allow cookies for this site, then try again.",
  ),
};

/** @type {(problem: Problem, sentAt: number) => Promise<void>} */
let authenticate = async (problem) => {
  throw problem;
};

/**
 * @param {(problem: Problem, sentAt: number) => Promise<void>} handler  gets the refusal of a
 *   request that nobody is logged in for, and when that was sent; the request is sent again when
 *   the promise is fulfilled
 */
export const onUnauthenticated = (handler) => {
  authenticate = handler;
};

export const me = () => json("GET", "/me");
export const logOut = () => send("POST", "/logout");

/** Begin a session with an API key or a token; the value is as that of `me`. */
export async function logIn(credential) {
  await send("POST", "/login", { credential });
  try {
    return await (await send("GET", "/me")).json();
  } catch (error) {
    throw error.status === 401 ? new Problem(0, NOT_KEPT) : error;
  }
}

/**
 * The address of a path of the server. The page may be served below a path of its own: what it asks
 * for is below that too.
 *
 * @param {string} path  begins with "/"
 */
export const addressOf = (path) => new URL(path.slice(1), document.baseURI).href;

const behind = (cursor) => (cursor ? `&cursor=${encodeURIComponent(cursor)}` : "");
/** A page of the list, or of the archive. */
export const threads = (cursor, { limit = 30, archived = false } = {}) =>
  json("GET", `/threads?limit=${limit}&archived=${archived}${behind(cursor)}`);
export const search = (words, cursor) =>
  json("GET", `/threads?limit=30&q=${encodeURIComponent(words.slice(0, 200))}${behind(cursor)}`);
const MESSAGES = 50;
/**
 * The newest messages of a thread; with `before`, the id of a message, those before it; with
 * `version`, those of the branch that has this version of a message.
 *
 * @param {string} id
 * @param {{before?: string, version?: string}} [from]
 */
export const thread = (id, { before, version } = {}) => {
  const given = Object.entries({ limit: String(MESSAGES), before, version });
  return json("GET", `${path(id)}?${new URLSearchParams(given.filter(([, value]) => value))}`);
};
/** All of its messages, as the server's own JSON. */
export const wholeThread = async (id, version) =>
  (
    await request("GET", `${path(id)}${version ? `?version=${encodeURIComponent(version)}` : ""}`)
  ).text();
export const rename = (id, title) => json("PATCH", path(id), { title });
/** @param {{pinned?: boolean, archived?: boolean}} changes */
export const arrange = (id, changes) => json("PATCH", path(id), changes);
/** The moment until which it can be brought back; null: it is gone. */
export async function forget(id) {
  const response = await request("DELETE", path(id));
  return response.status === 202 ? (await response.json()).restorable_until : null;
}
export const restore = (id) => json("POST", `${path(id)}/restore`);
/** Another run, which has waited, may be live by now. */
export const stop = (id, runId) =>
  json("POST", `/chat/${encodeURIComponent(id)}/stop?run_id=${encodeURIComponent(runId)}`, {});
/** `{queue, run_id}`: the messages that wait, and the thread's last run. */
export const queue = (id) => json("GET", `${path(id)}/queue`);
/** @param {{message?: Record<string, any>, place?: number}} change */
export const changeQueued = (id, runId, change) => json("PATCH", queuedPath(id, runId), change);
export const withdraw = (id, runId) => request("DELETE", queuedPath(id, runId));
export const graphs = () => json("GET", "/graphs");
/** Of `turnstream dev` alone: the graph, and a thread of it; `id` null: a new one. */
export const inspected = (id, graph) =>
  json(
    "GET",
    id === null
      ? `/dev/graph${graph ? `?graph=${encodeURIComponent(graph)}` : ""}`
      : `/dev/threads/${encodeURIComponent(id)}`,
  );
export const models = () => json("GET", "/models");
/** The components that the deployer has added. */
export const components = async () => (await json("GET", "/components")).components;
export const callTool = (name, args) => json("POST", `/tools/${encodeURIComponent(name)}`, args);
export const tools = async () => (await json("GET", "/tools")).tools;
/** A page of the calls that wait: `{approvals, cursor?}`; with `cursor` there are more. */
export const approvals = (cursor) => json("GET", `/approvals${cursor ? `?cursor=${cursor}` : ""}`);
export const decide = (id, decision) =>
  json("POST", `/approvals/${encodeURIComponent(id)}`, decision);
export const health = () => json("GET", "/health");

/** Start a run. The key makes a repeated post of the same body safe: it joins the first run. */
export const startRun = (body, key, signal) =>
  request("POST", "/chat", body, { headers: { "Idempotency-Key": key }, signal });

/** Start a run, or have it wait for its turn, and stream nothing: `{run_id, queue_place?}`. */
export async function handIn(body, key) {
  const headers = { "Idempotency-Key": key, Prefer: "respond-async" };
  return (await request("POST", "/chat?on_interrupt=queue", body, { headers })).json();
}

/** Attach to a run after a cursor; null when there is nothing to stream. */
export async function attach(id, cursor, signal) {
  const headers = { "Last-Event-ID": cursor };
  const url = `/chat/${encodeURIComponent(id)}/stream`;
  const response = await request("GET", url, undefined, { headers, signal });
  return response.status === 204 ? null : response;
}

const path = (id) => `/threads/${encodeURIComponent(id)}`;
const queuedPath = (id, runId) => `${path(id)}/queue/${encodeURIComponent(runId)}`;

export async function json(method, url, body) {
  const response = await request(method, url, body);
  return response.json();
}

/** A request that nobody is logged in for waits for a login, and is sent again as it was. */
async function request(method, url, body, options) {
  for (;;) {
    const sentAt = performance.now();
    try {
      return await send(method, url, body, options);
    } catch (error) {
      if (error.status !== 401 || error.code !== "unauthenticated") throw error;
      await authenticate(error, sentAt);
    }
  }
}

/**
 * @param {string} method
 * @param {string} url
 * @param {unknown} [body]
 * @param {{headers?: Record<string, string>, signal?: AbortSignal}} [options]
 */
async function send(method, url, body, { headers = {}, signal } = {}) {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const type = body === undefined ? {} : { "Content-Type": "application/json" };
  let response;
  try {
    response = await fetch(addressOf(url), {
      method,
      signal,
      ...sent,
      headers: { ...type, ...headers },
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(0, UNREACHABLE);
  }
  if (!response.ok)
    throw new Problem(response.status, await problemOf(response), retryAfter(response));
  return response;
}

async function problemOf(response) {
  try {
    return await response.json();
  } catch {
    return {};
  }
}

/** In seconds; null if there is none, or a date, which this server never sends. */
function retryAfter({ headers }) {
  const seconds = Number.parseInt(headers.get("Retry-After"), 10);
  return Number.isNaN(seconds) ? null : seconds;
}
