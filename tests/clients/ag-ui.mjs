// AG-UI: the HttpAgent of `@ag-ui/client`, 1.0.0 or, as `ag-ui.mjs v0`, 0.0.59.

import { resumingFetch } from "../../docs/examples/ag-ui/resuming.js";
import { withThreads } from "../../docs/examples/ag-ui/threads.js";
import { changes, serve, until } from "./driver.mjs";

const isOld = process.argv[2] === "v0";
const { HttpAgent } = await import(isOld ? "@ag-ui/client-v0" : "@ag-ui/client");
const protocol = isOld ? "ag-ui" : "ag-ui-1.0";
const Agent = withThreads(HttpAgent, protocol);

serve((options) => {
  const { url, threadId, graph, messages = [], pendingInterrupts = [], tools = [] } = options;
  const seen = { events: [], errors: [], failures: [], outcomes: [], subagents: [], custom: [] };
  const change = changes();
  const attach = () => fetch(`${url}/chat/${threadId}/stream?protocol=${protocol}`);
  const headers = { "content-type": "text/event-stream" };
  const agent = new Agent({
    url: graph ? `${url}/ag-ui/${graph}` : `${url}/ag-ui`,
    threadId,
    initialMessages: messages,
    ...(options.resumes && { fetch: resumingFetch(url, 0) }),
    ...(options.attaches && { fetch: attach }),
    ...(options.stream && { fetch: async () => new Response(options.stream, { headers }) }),
  });
  agent.pendingInterrupts = pendingInterrupts;
  agent.subscribe({
    onEvent({ event }) {
      seen.events.push(event);
    },
    onMessagesChanged: () => change.tell(),
    onRunFinishedEvent({ outcome, pendingToolCallIds }) {
      seen.outcomes.push({ outcome, pendingToolCallIds });
    },
    onCustomEvent: ({ event: { name, value } }) => void seen.custom.push({ name, value }),
    onSubagentStartedEvent: ({ event }) => void seen.subagents.push(event),
    onSubagentFinishedEvent: ({ event }) => void seen.subagents.push(event),
    onSubagentErrorEvent: ({ event }) => void seen.subagents.push(event),
    onRunErrorEvent({ event }) {
      seen.errors.push({ code: event.code, message: event.message });
    },
    onRunFailed({ error }) {
      // A problem is no `application/json` to the client: its payload is the text.
      const { code } = error.status ? JSON.parse(error.payload) : {};
      seen.failures.push({ message: error.message, status: error.status, code });
    },
  });
  let running = Promise.resolve();

  function run({ wait, ...parameters } = {}) {
    running = agent.runAgent({ tools, ...parameters }).then(
      ({ result }) => result ?? null,
      () => null,
    );
    return wait === false ? null : running;
  }

  return {
    send({ text, content = text, id = crypto.randomUUID(), ...parameters }) {
      agent.addMessage({ id, role: "user", content });
      return run(parameters);
    },
    run,
    answer({ toolCallId, content, error, ...parameters }) {
      const answer = { id: crypto.randomUUID(), role: "tool", toolCallId, content };
      agent.addMessage({ ...answer, ...(error && { error }) });
      return run(parameters);
    },
    cut({ id, text, ...parameters }) {
      const place = agent.messages.findIndex((message) => message.id === id);
      const message = agent.messages[place];
      agent.setMessages([
        ...agent.messages.slice(0, place),
        text === undefined ? message : { ...message, content: text },
      ]);
      return run(parameters);
    },
    connect() {
      running = agent.connectAgent({}).then(() => null);
      return running;
    },
    set: ({ state }) => agent.setState(state),
    forget: ({ id }) => agent.setMessages(agent.messages.filter((message) => message.id !== id)),
    leave: () => agent.abortRun(),
    settled: () => running,
    saying: ({ text }) =>
      until(change.subscribe, () =>
        agent.messages.some(({ content }) => JSON.stringify(content ?? "").includes(text)),
      ),
    report: () => ({
      messages: agent.messages,
      state: agent.state,
      pendingInterrupts: agent.pendingInterrupts,
      isRunning: agent.isRunning,
      ...seen,
      events: seen.events.map(({ type }) => type),
    }),
    close: () => agent.abortRun(),
  };
});
