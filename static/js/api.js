/** Calls to the server. A failed call throws a Problem; a network failure has status 0. */

export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? "The server answered in a way that this page does not know.");
    this.status = status;
    this.code = body.code ?? "unknown";
    this.body = body;
  }

  /** The very same request may well succeed later. */
  get isTransient() {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

const UNREACHABLE = {
  code: "unreachable",
  detail: "The server cannot be reached. Check that it runs, then try again.",
};

export const threads = (cursor) =>
  json("GET", `/threads?limit=30${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);
export const thread = (id) => json("GET", path(id));
export const rename = (id, title) => json("PATCH", path(id), { title });
export const forget = (id) => request("DELETE", path(id));
export const stop = (id) => json("POST", `/chat/${encodeURIComponent(id)}/stop`, {});
export const health = () => json("GET", "/health");

/** Start a run. The key makes a repeated post of the same body safe: it joins the first run. */
export const startRun = (body, key, signal) =>
  request("POST", "/chat", body, { headers: { "Idempotency-Key": key }, signal });

/** Attach to a run after a cursor; null when there is nothing to stream. */
export async function attach(id, cursor, signal) {
  const headers = { "Last-Event-ID": cursor };
  const url = `/chat/${encodeURIComponent(id)}/stream`;
  const response = await request("GET", url, undefined, { headers, signal });
  return response.status === 204 ? null : response;
}

const path = (id) => `/threads/${encodeURIComponent(id)}`;

async function json(method, url, body) {
  const response = await request(method, url, body);
  return response.json();
}

async function request(method, url, body, { headers = {}, signal } = {}) {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const type = body === undefined ? {} : { "Content-Type": "application/json" };
  let response;
  try {
    response = await fetch(url, { method, signal, ...sent, headers: { ...type, ...headers } });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(0, UNREACHABLE);
  }
  if (!response.ok) throw new Problem(response.status, await problemOf(response));
  return response;
}

async function problemOf(response) {
  try {
    return await response.json();
  } catch {
    return {};
  }
}
