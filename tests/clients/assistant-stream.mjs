// assistant-stream: the strict decoder, the accumulator, and the pipeline that runs frontend tools.

import {
  AssistantMessageAccumulator,
  AssistantTransportDecoder,
  unstable_toolResultStream as toolResultStream,
} from "assistant-stream";
import { changes, serve, until } from "./driver.mjs";

/** Keeps the bytes, to count their events by. The decoder reads no further than `[DONE]`. */
function onTheWire(seen) {
  const decoder = new TextDecoder();
  return new TransformStream({
    transform(bytes, controller) {
      seen.wire += decoder.decode(bytes, { stream: true });
      controller.enqueue(bytes);
    },
  });
}

/** Counts what the decoder lets through. */
function decoded(seen) {
  return new TransformStream({
    transform(chunk, controller) {
      seen.decoded++;
      controller.enqueue(chunk);
    },
  });
}

serve(({ url, tools = {} }) => {
  const seen = { messages: [], errors: [], wire: "", decoded: 0, executed: [] };
  const change = changes();
  const registry = Object.fromEntries(
    Object.entries(tools).map(([name, result]) => [
      name,
      {
        type: "frontend",
        parameters: { type: "object" },
        execute(args, { toolCallId }) {
          seen.executed.push({ toolCallId, args });
          return result;
        },
      },
    ]),
  );

  async function read(response) {
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
    if (response.status === 204) return null;
    const at = seen.messages.push(null) - 1;
    const stream = response.body
      .pipeThrough(onTheWire(seen))
      .pipeThrough(new AssistantTransportDecoder({ strict: true }))
      .pipeThrough(decoded(seen))
      .pipeThrough(toolResultStream(registry, new AbortController().signal, () => {}))
      .pipeThrough(
        new AssistantMessageAccumulator({ onError: (error) => void seen.errors.push(error) }),
      );
    for await (const message of stream) {
      seen.messages[at] = message;
      change.tell();
    }
    return seen.messages[at];
  }

  let reading = Promise.resolve();
  const begun = (promise, wait) => {
    reading = promise;
    return wait === false ? null : promise;
  };

  return {
    send: ({ body, wait }) =>
      begun(
        fetch(`${url}/chat`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        }).then(read),
        wait,
      ),
    attach: ({ path, wait }) => begun(fetch(url + path).then(read), wait),
    saying: ({ text }) =>
      until(change.subscribe, () =>
        seen.messages.at(-1)?.parts.some((part) => part.text?.includes(text)),
      ),
    settled: () => reading,
    report: ({ wire, ...rest } = seen) => ({
      ...rest,
      events: wire.match(/^data: \{/gm)?.length ?? 0,
    }),
  };
});
