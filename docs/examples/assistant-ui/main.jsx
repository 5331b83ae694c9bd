// A chat on turnstream with assistant-ui. The state is the server's, `{thread_id, messages,
// approvals}` with LangChain's messages; the tab keeps its last copy, so that a reload shows the thread again, and
// goes on reading a turn that is still running.

import {
  AssistantRuntimeProvider,
  AuiConfig,
  AuiIf,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  Tools,
  unstable_createMessageConverter as createMessageConverter,
  useAssistantTransportRuntime,
  useAssistantTransportSendCommand,
  useAuiState,
} from "@assistant-ui/react";
import { convertLangChainMessages } from "@assistant-ui/react-langgraph";
import { useEffect } from "react";
import { createRoot } from "react-dom/client";
import { Approval } from "./approval.jsx";
import { Question } from "./question.jsx";

const SERVER = import.meta.env.VITE_SERVER ?? "http://127.0.0.1:8000";

const langChain = createMessageConverter(convertLangChainMessages);

function converter(state, { pendingCommands, isSending }) {
  const optimistic = pendingCommands
    .filter((command) => command.type === "add-message")
    .map(({ message }) => ({ type: "human", content: message.parts }));
  return {
    messages: langChain.toThreadMessages([...state.messages, ...optimistic]),
    isRunning: isSending,
    state,
  };
}

// "backend": the server has these tools already, the page only draws them.
const toolkit = {
  request_user_selection: {
    type: "backend",
    render: ({ args, result, addResult, status }) =>
      result === undefined && status.type === "requires-action" ? (
        <Question question={args} onAnswer={addResult} />
      ) : (
        <pre>{result ?? args.prompt}</pre>
      ),
  },
  // Its arguments are what to show. Put your own components here.
  render_ui_component: {
    type: "backend",
    render: ({ args }) => <pre>{JSON.stringify(args, null, 2)}</pre>,
  },
};

function App({ state }) {
  const runtime = useAssistantTransportRuntime({
    protocol: "assistant-transport",
    api: `${SERVER}/chat`,
    resumeApi: `${SERVER}/chat`,
    initialState: state,
    converter,
    headers: {},
    capabilities: { edit: true },
    onError: (error) => alert(error.message),
  });

  return (
    <AssistantRuntimeProvider runtime={runtime} config={AuiConfig({ tools: Tools({ toolkit }) })}>
      <ThreadPrimitive.Root>
        <ThreadPrimitive.Messages components={{ Message }} />
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input aria-label="Message" />
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
          <AuiIf condition={(page) => page.thread.isRunning}>
            <Stop />
          </AuiIf>
        </ComposerPrimitive.Root>
        <Keep />
        {state.thread_id && <Resume runtime={runtime} />}
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

function Message() {
  return (
    <MessagePrimitive.Root>
      <MessagePrimitive.Parts components={{ Text, tools: { Fallback } }} />
    </MessagePrimitive.Root>
  );
}

const Text = ({ text }) => <p>{text}</p>;

// All other tools: a call that waits for an approval is in the state's `approvals`. The runtime has
// no approvals of its own, so the decision is a command of the server's.
function Fallback({ toolName, toolCallId, args, argsText, result, status }) {
  const approval = useAuiState((page) => page.thread.state?.approvals?.[toolCallId]);
  const send = useAssistantTransportSendCommand();
  const waits = approval && !("approved" in approval) && status.type === "requires-action";
  if (waits && result === undefined) {
    const about = { type: "tool-approval", toolCallId, approvalId: approval.id };
    return (
      <Approval
        tool={toolName}
        args={args}
        mayHaveRun={approval.mayHaveRun}
        onDecide={(decision) => send({ ...about, ...decision })}
      />
    );
  }
  return (
    <pre>
      {toolName}: {result ?? argsText}
    </pre>
  );
}

// Not ComposerPrimitive.Cancel: that only closes this page's stream, and the run goes on. The server
// ends the run, and the stream then ends by itself, with all that was said.
function Stop() {
  const threadId = useAuiState((page) => page.thread.state?.thread_id);
  const stop = () => fetch(`${SERVER}/chat/${threadId}/stop`, { method: "POST" });
  return (
    <button type="button" disabled={!threadId} onClick={stop}>
      Stop
    </button>
  );
}

function Keep() {
  const state = useAuiState((page) => page.thread.state);
  useEffect(() => {
    if (state?.thread_id) sessionStorage.setItem("state", JSON.stringify(state));
  }, [state]);
  return null;
}

function Resume({ runtime }) {
  const ready = useAuiState((page) => Boolean(page.thread.state?.thread_id));
  useEffect(() => {
    if (ready) runtime.thread.resumeRun({ parentId: null });
  }, [ready]);
  return null;
}

const kept = JSON.parse(sessionStorage.getItem("state"));
createRoot(document.getElementById("root")).render(<App state={kept ?? { messages: [] }} />);
