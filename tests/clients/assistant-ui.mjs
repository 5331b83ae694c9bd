// assistant-ui: `useAssistantTransportRuntime`, with the converter of its official example.

import { rendered } from "./assistant-ui-page.mjs";
import {
  AssistantRuntimeProvider,
  AuiConfig,
  Tools,
  unstable_createMessageConverter as createMessageConverter,
  useAssistantTransportRuntime,
  useAssistantTransportSendCommand,
} from "@assistant-ui/react";
import { convertLangChainMessages } from "@assistant-ui/react-langgraph";
import { createElement } from "react";
import { changes, serve, until } from "./driver.mjs";

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

serve(async ({ url, state = { messages: [] }, tools = [] }) => {
  const seen = { errors: [], executed: [] };
  const change = changes();
  const executions = new Map();
  // Not the thread's `isRunning`: that is true as well while a frontend tool works.
  const run = { started: 0, live: false, sending: false };
  let runtime;
  let sendCommand;

  const toolkit = Object.fromEntries(
    tools.map(({ name, description, parameters }) => [
      name,
      {
        type: "frontend",
        description,
        parameters,
        execute: (args, { toolCallId }) =>
          new Promise((resolve) => {
            seen.executed.push({ toolCallId, args });
            executions.set(toolCallId, resolve);
            change.tell();
          }),
        render: () => null,
      },
    ]),
  );

  function App() {
    runtime = useAssistantTransportRuntime({
      protocol: "assistant-transport",
      api: `${url}/chat`,
      resumeApi: `${url}/chat`,
      initialState: state,
      converter(state, connection) {
        run.sending = connection.isSending;
        return converter(state, connection);
      },
      headers: {},
      capabilities: { edit: true },
      prepareSendCommandsRequest(body) {
        run.started++;
        run.live = true;
        return body;
      },
      onFinish() {
        run.live = false;
        change.tell();
      },
      onError: (error) => void seen.errors.push(error.message),
    });
    const config = AuiConfig({ tools: Tools({ toolkit }) });
    return createElement(AssistantRuntimeProvider, { runtime, config }, createElement(Commands));
  }

  function Commands() {
    sendCommand = useAssistantTransportSendCommand();
    return null;
  }

  const { thread, message, messages, onChange, close } = await rendered(App, () => runtime, change);
  let awaited = 0;
  const idle = () => run.started > awaited && !run.live && !run.sending;
  const settled = () => until(onChange, idle);
  const begun = (act, wait) => {
    awaited = run.started;
    act();
    return wait === false ? null : settled();
  };

  return {
    send: ({ text, wait }) => begun(() => thread().append(text), wait),
    edit: ({ messageId, text }) =>
      begun(() => {
        const { composer } = message(messageId);
        composer.beginEdit();
        composer.setText(text);
        composer.send();
      }),
    answer: ({ messageId, toolCallId, result, wait }) =>
      begun(
        () => message(messageId).getMessagePartByToolCallId(toolCallId).addToolResult(result),
        wait,
      ),
    command: ({ command }) => begun(() => sendCommand(command)),
    executing: ({ toolCallId }) => until(change.subscribe, () => executions.has(toolCallId)),
    execute: ({ toolCallId, result }) => begun(() => executions.get(toolCallId)(result)),
    resume: ({ wait }) => begun(() => thread().resumeRun({ parentId: null }), wait),
    cancel() {
      awaited = run.started - 1;
      thread().cancelRun();
      return settled();
    },
    settled,
    saying: ({ text }) =>
      until(onChange, () =>
        thread()
          .getState()
          .messages.at(-1)
          ?.content.some((part) => part.text?.includes(text)),
      ),
    report: () => ({
      messages: messages(),
      state: thread().getState().state,
      ...seen,
    }),
    close,
  };
});
