// A chat on turnstream with the AI SDK's useChat. The thread's id is the page's hash: a reload shows
// the thread again, and goes on reading a turn that is still running.

import { useChat } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  getToolName,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from "ai";
import { useEffect } from "react";
import { createRoot } from "react-dom/client";
import { Approval } from "./approval.jsx";
import { Question } from "./question.jsx";

const SERVER = import.meta.env.VITE_SERVER ?? "http://127.0.0.1:8000";

function Chat({ id, thread }) {
  const chat = useChat({
    id,
    messages: thread.messages,
    transport: new DefaultChatTransport({ api: `${SERVER}/chat` }),
    sendAutomaticallyWhen: isComplete,
  });
  const { resumeStream, setMessages } = chat;

  useEffect(() => {
    if (!thread.run) return;
    // The run may have ended since the thread was loaded. Then there is nothing to resume, but more
    // to show.
    resumeStream()
      .then(() => load(id))
      .then((now) => now.run ?? setMessages(now.messages));
  }, []);

  const running = chat.status === "submitted" || chat.status === "streaming";

  function send(event) {
    event.preventDefault();
    const field = event.currentTarget.elements.text;
    chat.sendMessage({ text: field.value });
    field.value = "";
  }

  // Not chat.stop(): that only closes this page's stream, and the run goes on. The server ends the
  // run, and the stream then ends by itself, with all that was said.
  const stop = () => fetch(`${SERVER}/chat/${id}/stop`, { method: "POST" });

  return (
    <>
      {chat.messages.map((message) => (
        <article key={message.id} aria-label={message.role}>
          {standing(message.parts).map((part, index) => (
            <Part key={index} part={part} chat={chat} />
          ))}
          {message.metadata?.ended && <p>Ended: {message.metadata.ended.reason}</p>}
        </article>
      ))}
      {chat.error && <p role="alert">{chat.error.message}</p>}
      <form onSubmit={send}>
        <input name="text" aria-label="Message" autoComplete="off" required />
        <button disabled={running}>Send</button>
        {running ? (
          <button type="button" onClick={stop}>
            Stop
          </button>
        ) : (
          chat.messages.length > 0 && (
            <button type="button" onClick={() => chat.regenerate()}>
              Again
            </button>
          )
        )}
      </form>
    </>
  );
}

// All questions of the last step have their answer, and all calls that waited their decision.
function isComplete({ messages }) {
  const waits = messages.at(-1)?.parts.some(({ state }) => state === "approval-requested");
  return (
    !waits &&
    (lastAssistantMessageIsCompleteWithToolCalls({ messages }) ||
      lastAssistantMessageIsCompleteWithApprovalResponses({ messages }))
  );
}

// A graph may say what its thread does not get. Such parts stay in the message; a later part says how
// far ahead of it they are.
function standing(parts) {
  const gone = new Set();
  parts.forEach(({ type, data }, place) => {
    if (type !== "data-step-withdrawn") return;
    gone.add(place);
    for (const back of data.parts_back) gone.add(place - back);
  });
  const left = parts.filter((_, place) => !gone.has(place));
  const calls = new Map(left.map((part) => [part.toolCallId, part]));
  return left.filter((part) => !part.toolCallId || calls.get(part.toolCallId) === part);
}

function Part({ part, chat }) {
  if (part.type === "text") return <p>{part.text}</p>;
  if (part.type === "reasoning") return <em>{part.text}</em>;
  if (!isToolUIPart(part)) return null;
  const tool = getToolName(part);
  if (tool === "request_user_selection" && part.state === "input-available") {
    const answer = (output) =>
      chat.addToolOutput({ tool, toolCallId: part.toolCallId, output });
    return <Question question={part.input} onAnswer={answer} />;
  }
  if (part.state === "approval-requested") {
    const decide = (decision) =>
      chat.addToolApprovalResponse({ id: part.approval.id, ...decision });
    return <Approval tool={tool} args={part.input} onDecide={decide} />;
  }
  if (part.state === "output-denied") return <p>Declined: {tool}</p>;
  // Of `render_ui_component` the output is what to show: {component, props}. Put your own here.
  const shown = part.state === "output-error" ? part.errorText : (part.output ?? part.input);
  return (
    <pre>
      {tool}: {JSON.stringify(shown, null, 2)}
    </pre>
  );
}

async function load(id) {
  const answer = await fetch(`${SERVER}/threads/${id}?protocol=ui-message-stream`);
  return answer.ok ? answer.json() : { messages: [], run: null };
}

location.hash ||= crypto.randomUUID();
const id = location.hash.slice(1);
const thread = await load(id);
createRoot(document.getElementById("root")).render(<Chat id={id} thread={thread} />);
