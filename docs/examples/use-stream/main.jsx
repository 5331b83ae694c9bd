// A chat on turnstream with useStream of LangGraph's SDK. The thread's id is the page's hash: a reload
// shows the thread again, and goes on reading a turn that is still running.

import { useStream } from "@langchain/langgraph-sdk/react";
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { Approval } from "./approval.jsx";
import { Question } from "./question.jsx";

const SERVER = import.meta.env.VITE_SERVER ?? "http://127.0.0.1:8000";

function Chat() {
  const [threadId, setThreadId] = useState(location.hash.slice(1) || null);
  const stream = useStream({
    apiUrl: `${SERVER}/langgraph`,
    assistantId: "chat", // the name of a graph
    threadId,
    onThreadId: (id) => {
      location.hash = id;
      setThreadId(id);
    },
    fetchStateHistory: true,
    reconnectOnMount: true,
  });
  const { messages, interrupt, isLoading } = stream;
  const results = new Map(
    messages.filter(({ type }) => type === "tool").map((result) => [result.tool_call_id, result]),
  );

  function post(message) {
    const shownAtOnce = (values) => ({ messages: [...(values.messages ?? []), message] });
    stream.submit({ messages: [message] }, { optimisticValues: shownAtOnce });
  }

  function send(event) {
    event.preventDefault();
    const field = event.currentTarget.elements.text;
    post({ type: "human", id: crypto.randomUUID(), content: field.value });
    field.value = "";
  }

  const answer = (call) => (output) =>
    post({ type: "tool", tool_call_id: call.id, content: JSON.stringify(output) });
  const resume = (value) => stream.submit(undefined, { command: { resume: value } });

  // Not stream.stop(): that leaves at once. So the page reads what the run still says as it ends.
  const stop = () => fetch(`${SERVER}/chat/${threadId}/stop`, { method: "POST" });

  // From the state before the first message of the last answer.
  function again() {
    const question = messages.findLastIndex(({ type }) => type === "human");
    const { firstSeenState } = stream.getMessagesMetadata(messages[question + 1]);
    stream.submit(undefined, { checkpoint: firstSeenState.parent_checkpoint });
  }

  return (
    <>
      {messages
        .filter(({ type }) => type !== "tool")
        .map((message) => (
          <article key={message.id} aria-label={message.type}>
            <p>{textOf(message)}</p>
            {message.tool_calls?.map((call) => (
              <Call
                key={call.id}
                call={call}
                result={results.get(call.id)}
                onAnswer={isLoading ? undefined : answer(call)}
              />
            ))}
          </article>
        ))}
      {!isLoading && interrupt && <Interrupt interrupt={interrupt} onResume={resume} />}
      {stream.error && <p role="alert">{stream.error.message}</p>}
      <form onSubmit={send}>
        <input name="text" aria-label="Message" autoComplete="off" required />
        <button disabled={isLoading}>Send</button>
        {isLoading ? (
          <button type="button" onClick={stop}>
            Stop
          </button>
        ) : (
          messages.at(-1)?.type === "ai" && (
            <button type="button" onClick={again}>
              Again
            </button>
          )
        )}
      </form>
    </>
  );
}

function textOf({ content }) {
  if (typeof content === "string") return content;
  return content.map(({ text, summary }) => text ?? summary?.[0]?.text ?? "").join("\n");
}

function Call({ call, result, onAnswer }) {
  if (call.name === "request_user_selection" && !result && onAnswer)
    return <Question question={call.args} onAnswer={onAnswer} />;
  // Of `render_ui_component` the result is what to show: {component, props}. Put your own here.
  return (
    <pre>
      {call.name}: {result?.content ?? JSON.stringify(call.args)}
    </pre>
  );
}

// Calls that wait for an approval are one interrupt; what a graph asks by itself has its own value.
function Interrupt({ interrupt, onResume }) {
  if (interrupt.value?.type === "tool_approval")
    return interrupt.value.calls.map((call) => (
      <Approval
        key={call.approval_id}
        tool={call.name}
        args={call.args}
        mayHaveRun={call.may_have_run}
        onDecide={(decision) => onResume({ [call.tool_call_id]: decision })}
      />
    ));
  function answer(event) {
    event.preventDefault();
    onResume(event.currentTarget.elements.answer.value);
  }
  return (
    <form onSubmit={answer}>
      <pre>{JSON.stringify(interrupt.value ?? interrupt, null, 2)}</pre>
      <input name="answer" aria-label="Answer" autoComplete="off" />
      <button>Go on</button>
    </form>
  );
}

createRoot(document.getElementById("root")).render(<Chat />);
