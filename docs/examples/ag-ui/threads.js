// An agent that opens a thread as it is: CopilotKit's chat asks its agent to `connect` when it is
// shown, and forgets the messages that it had. `version` is that of the client: "ag-ui" is the older
// one's, which CopilotKit has up to 1.75, "ag-ui-1.0" that of `@ag-ui/client` 1.0.

export const withThreads = (Agent, version = "ag-ui") =>
  class extends Agent {
    connect(input) {
      const opening = this.clone();
      const [server] = this.url.split("/ag-ui");
      opening.fetch = (_, { signal }) => {
        const get = (path) =>
          fetch(`${server}${path}?protocol=${version}`, { headers: this.headers, signal });
        return opened(get, input);
      };
      return opening.run(input);
    }
  };

async function opened(get, { threadId, runId }) {
  const answer = await get(`/threads/${threadId}`);
  const thread = answer.ok ? await answer.json() : { messages: [], run: null };
  if (thread.run) {
    const stream = await get(`/chat/${threadId}/stream`);
    // There is none if the run has ended meanwhile.
    return stream.status === 204 ? opened(get, { threadId, runId }) : stream;
  }
  const { messages, state, pendingInterrupts: interrupts } = thread;
  const events = [
    { type: "RUN_STARTED", threadId, runId },
    { type: "MESSAGES_SNAPSHOT", messages },
    ...(state ? [{ type: "STATE_SNAPSHOT", snapshot: state }] : []),
    {
      type: "RUN_FINISHED",
      threadId,
      runId,
      ...(interrupts && { outcome: { type: "interrupt", interrupts } }),
    },
  ];
  const stream = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  return new Response(stream, { headers: { "content-type": "text/event-stream" } });
}
