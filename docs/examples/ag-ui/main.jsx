// A chat on turnstream with AG-UI's HttpAgent. The thread's id is the page's hash: a reload shows the
// thread again, and goes on reading a turn that is still running.

import { HttpAgent } from "@ag-ui/client";
import { Fragment, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { Approval } from "./approval.jsx";
import { Question } from "./question.jsx";
import { resumingFetch } from "./resuming.js";

const SERVER = import.meta.env.VITE_SERVER ?? "http://127.0.0.1:8000";

location.hash ||= crypto.randomUUID();
const threadId = location.hash.slice(1);
const post = resumingFetch(SERVER);
const agent = new HttpAgent({ url: `${SERVER}/ag-ui`, threadId, fetch: post });

// What ran under a tool call, by its id: the event that began it has its name, and the call.
const subagents = new Map();
const begin = (event) => subagents.set(event.subagentRunId, event);

function Chat({ isRunning }) {
  const [shown, setShown] = useState({ running: false, error: null });
  const [decisions, setDecisions] = useState({});
  const { messages, pendingInterrupts } = agent;

  useEffect(() => {
    if (isRunning) run({}, attach);
  }, []);

  async function run(parameters, fetch = post) {
    setShown({ running: true, error: null });
    setDecisions({});
    agent.fetch = fetch;
    const seen = {
      onMessagesChanged: () => setShown((now) => ({ ...now })),
      onSubagentStartedEvent: ({ event }) => void begin(event),
      onRunErrorEvent: ({ event }) => setShown({ running: true, error: event.message }),
    };
    let error = null;
    await agent.runAgent(parameters, seen).catch((failure) => (error = sentence(failure)));
    setShown((now) => ({ running: false, error: error ?? now.error }));
  }

  function send(event) {
    event.preventDefault();
    const field = event.currentTarget.elements.text;
    agent.addMessage({ id: crypto.randomUUID(), role: "user", content: field.value });
    field.value = "";
    // What waits for a decision is passed over: the agent wants to hear of each.
    run({ resume: pendingInterrupts.map(({ id }) => ({ interruptId: id, status: "cancelled" })) });
  }

  function answer(toolCallId, value) {
    const content = JSON.stringify(value);
    agent.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId, content });
    const answered = agent.messages.filter(({ role }) => role === "tool").map((m) => m.toolCallId);
    const calls = agent.messages.flatMap(({ toolCalls = [] }) => toolCalls);
    // Several questions are answered together, and none while a call waits for a decision.
    if (calls.every(({ id }) => answered.includes(id))) run();
    else setShown({ ...shown });
  }

  // All that waits is decided on in one request.
  function decide(interrupt, payload) {
    const made = { ...decisions, [interrupt.id]: payload };
    const open = pendingInterrupts.filter(({ id }) => !(id in made));
    if (open.length) return setDecisions(made);
    const resume = pendingInterrupts.map(({ id }) => ({
      interruptId: id,
      status: "resolved",
      payload: made[id],
    }));
    run({ resume });
  }

  // A question that is posted again is answered anew.
  function again() {
    const last = messages.findLastIndex(({ role }) => role === "user");
    agent.setMessages(messages.slice(0, last + 1));
    run();
  }

  // Not agent.abortRun(): that only closes this page's stream, and the run goes on. The server ends
  // the run, and the stream then ends by itself, with all that was said.
  const stop = () => fetch(`${SERVER}/chat/${threadId}/stop`, { method: "POST" });

  const results = new Map(
    messages.filter(({ role }) => role === "tool").map((m) => [m.toolCallId, m.content]),
  );
  const waits = pendingInterrupts.filter(({ id }) => !(id in decisions));
  const asked = new Map(waits.map((interrupt) => [interrupt.toolCallId, interrupt]));
  // The messages of a subagent, or of the answer.
  const said = (subagent) =>
    messages
      .filter(({ role, subagentRunId }) => role !== "tool" && subagentRunId === subagent)
      .map(({ id, role, content, toolCalls = [] }) => (
        <article key={id} aria-label={role}>
          {content && (role === "reasoning" ? <em>{content}</em> : <p>{words(content)}</p>)}
          {toolCalls.map((call) => (
            <Fragment key={call.id}>
              {[...subagents.values()]
                .filter(({ parentToolCallId }) => parentToolCallId === call.id)
                .map(({ subagentRunId, name }) => (
                  <details key={subagentRunId} open={!results.has(call.id)}>
                    <summary>{name}</summary>
                    {said(subagentRunId)}
                  </details>
                ))}
              <Call
                call={call}
                result={results.get(call.id)}
                interrupt={shown.running ? undefined : asked.get(call.id)}
                isRunning={shown.running}
                onAnswer={(value) => answer(call.id, value)}
                onDecide={(decision) => decide(asked.get(call.id), decision)}
              />
            </Fragment>
          ))}
        </article>
      ));
  return (
    <>
      {said()}
      {!shown.running &&
        waits
          .filter(({ toolCallId }) => toolCallId === undefined)
          .map((interrupt) => (
            <Asked
              key={interrupt.id}
              interrupt={interrupt}
              onAnswer={(value) => decide(interrupt, value)}
            />
          ))}
      {shown.error && <p role="alert">{shown.error}</p>}
      <form onSubmit={send}>
        <input name="text" aria-label="Message" autoComplete="off" required />
        <button disabled={shown.running}>Send</button>
        {shown.running ? (
          <button type="button" onClick={stop}>
            Stop
          </button>
        ) : (
          messages.length > 0 && (
            <button type="button" onClick={again}>
              Again
            </button>
          )
        )}
      </form>
    </>
  );
}

function Call({ call, result, interrupt, isRunning, onAnswer, onDecide }) {
  const { name, arguments: args } = call.function;
  if (interrupt) {
    const { mayHaveRun } = interrupt.metadata;
    return (
      <Approval tool={name} args={parsed(args)} mayHaveRun={mayHaveRun} onDecide={onDecide} />
    );
  }
  if (name === "request_user_selection" && result === undefined && !isRunning) {
    return <Question question={parsed(args)} onAnswer={onAnswer} />;
  }
  const value = parsed(result ?? args);
  if (value?.error?.code === "declined") return <p>Declined: {name}</p>;
  // Of `render_ui_component` the result is what to show: {component, props}. Put your own here.
  return (
    <pre>
      {name}: {JSON.stringify(value, null, 2)}
    </pre>
  );
}

// A question of a graph's own.
function Asked({ interrupt, onAnswer }) {
  function answer(event) {
    event.preventDefault();
    onAnswer(event.currentTarget.elements.answer.value);
  }
  return (
    <form onSubmit={answer}>
      <label>
        {interrupt.message ?? JSON.stringify(interrupt.metadata.value)} <input name="answer" />
      </label>
      <button>Answer</button>
    </form>
  );
}

const words = (content) =>
  typeof content === "string" ? content : content.map(({ text }) => text).join("");

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

// A refused request is a problem document, which the client hands on as text.
const sentence = (failure) => parsed(failure.payload)?.detail ?? failure.message;

const attach = (_, { signal }) =>
  fetch(`${SERVER}/chat/${threadId}/stream?protocol=ag-ui-1.0`, { signal });

async function load() {
  const answer = await fetch(`${SERVER}/threads/${threadId}?protocol=ag-ui-1.0`);
  return answer.ok ? answer.json() : { messages: [], run: null };
}

const thread = await load();
agent.setMessages(thread.messages);
agent.setState(thread.state ?? {});
thread.subagents?.forEach(begin);
agent.pendingInterrupts = thread.pendingInterrupts ?? [];
createRoot(document.getElementById("root")).render(<Chat isRunning={thread.run !== null} />);
