// assistant-ui on LangGraph's wire: `useLangGraphRuntime` in a page, set up as its documentation does.

import { rendered } from "./assistant-ui-page.mjs";
import { AssistantRuntimeProvider } from "@assistant-ui/react";
import {
  unstable_createLangGraphStream as createLangGraphStream,
  useLangGraphInterruptState,
  useLangGraphRuntime,
  useLangGraphSendCommand,
} from "@assistant-ui/react-langgraph";
import { Client } from "@langchain/langgraph-sdk";
import { createElement, useEffect } from "react";
import { changes, serve, until } from "./driver.mjs";

serve(async ({ url, id }) => {
  const seen = { errors: [], started: 0, ended: 0, threadId: id ?? null };
  const change = changes();
  const client = new Client({ apiUrl: `${url}/langgraph` });
  const opened = createLangGraphStream({ client, assistantId: "chat" });
  let runtime;
  let interrupt;
  let sendCommand;

  async function* whole(events) {
    try {
      yield* events;
    } finally {
      seen.ended++;
      change.tell();
    }
  }
  async function stream(messages, config) {
    seen.started++;
    try {
      return whole(await opened(messages, config));
    } catch (error) {
      seen.ended++;
      seen.errors.push(error.message);
      change.tell();
      throw error;
    }
  }
  const load = async (threadId) => {
    const { values, tasks } = await client.threads.getState(threadId);
    return { messages: values.messages, interrupts: tasks.at(-1)?.interrupts };
  };
  async function getCheckpointId(threadId, messages) {
    const known = messages.map((message) => message.id).join();
    const states = await client.threads.getHistory(threadId, { limit: 1000 });
    const ids = ({ values }) => values.messages.map((message) => message.id).join();
    return states.find((state) => ids(state) === known)?.checkpoint.checkpoint_id ?? null;
  }

  function App() {
    runtime = useLangGraphRuntime({
      stream,
      load,
      getCheckpointId,
      unstable_allowCancellation: true,
      eventHandlers: { onError: (data) => void seen.errors.push(data.message) },
      create: async () => {
        const { thread_id } = await client.threads.create();
        seen.threadId = thread_id;
        return { externalId: thread_id };
      },
    });
    return createElement(AssistantRuntimeProvider, { runtime }, createElement(Inside));
  }

  function Inside() {
    interrupt = useLangGraphInterruptState();
    sendCommand = useLangGraphSendCommand();
    useEffect(change.tell);
    return null;
  }

  const { thread, message, messages, onChange, close } = await rendered(App, () => runtime, change);
  let awaited = 0;
  const settled = () =>
    until(onChange, () => seen.ended > awaited && !thread().getState().isRunning);
  function turn(begin, wait) {
    awaited = seen.ended;
    begin();
    return wait === false ? null : settled();
  }

  return {
    send: ({ text, wait }) => turn(() => thread().append(text), wait),
    edit: ({ messageId, text }) =>
      turn(() => {
        const { composer } = message(messageId);
        composer.beginEdit();
        composer.setText(text);
        composer.send();
      }),
    regenerate: ({ messageId }) => turn(() => message(messageId).reload()),
    answer: ({ messageId, toolCallId, result }) =>
      turn(() => message(messageId).getMessagePartByToolCallId(toolCallId).addToolResult(result)),
    command: ({ command }) => turn(() => sendCommand(command)),
    cancel() {
      awaited = seen.ended - 1;
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
      interrupt: interrupt ?? null,
      ...seen,
    }),
    close,
  };
});
