// A client at the end of a pipe: one JSON command a line in, one JSON answer a line out.
//
//   {"do": "open", ...options}   a new client, with an empty journal
//   {"do": "report"}             what the client holds, its warnings and its requests
//   {"do": "<method>", ...args}  a method of the client
//
// A warning that a library prints and an error that nobody caught are kept, never printed: a client
// that drops a chunk says so in no other way.

import { createInterface } from "node:readline";
import { format } from "node:util";

const fetched = globalThis.fetch;
let journal = { warnings: [], requests: [] };
let client;

for (const level of ["log", "info", "warn", "error"]) {
  console[level] = (...args) => journal.warnings.push(`${level}: ${format(...args)}`);
}
for (const event of ["unhandledRejection", "uncaughtException"]) {
  process.on(event, (error) => journal.warnings.push(`${event}: ${error?.stack ?? error}`));
}

globalThis.fetch = async (input, init = {}) => {
  const url = new URL(input instanceof Request ? input.url : input);
  const request = { method: init.method ?? "GET", path: url.pathname + url.search };
  if (typeof init.body === "string") request.body = JSON.parse(init.body);
  journal.requests.push(request);
  const response = await fetched(input, init);
  request.status = response.status;
  return response;
};

/** Resolves when `holds()` does; `subscribe(callback)` tells of changes and returns how to stop. */
export function until(subscribe, holds) {
  return new Promise((resolve) => {
    let stop;
    const look = () => {
      if (!holds()) return;
      stop?.();
      resolve();
    };
    stop = subscribe(look);
    look();
  });
}

/** An emitter of changes, for what has none of its own. */
export function changes() {
  const listeners = new Set();
  return {
    tell: () => [...listeners].forEach((listener) => listener()),
    subscribe: (listener) => (listeners.add(listener), () => listeners.delete(listener)),
  };
}

async function answer({ do: name, ...args }) {
  if (name === "open") {
    await client?.close?.();
    journal = { warnings: [], requests: [] };
    client = await answer.open(args);
    return null;
  }
  if (name === "report") return { ...(await client.report()), ...journal };
  return (await client[name](args)) ?? null;
}

/** Serve commands until the pipe closes. `open(options)` makes a client. */
export async function serve(open) {
  answer.open = open;
  for await (const line of createInterface({ input: process.stdin })) {
    let reply;
    try {
      reply = { value: await answer(JSON.parse(line)) };
    } catch (error) {
      reply = { failure: String(error?.stack ?? error) };
    }
    process.stdout.write(`${JSON.stringify(reply)}\n`);
  }
  process.exit(0);
}
