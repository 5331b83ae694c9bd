// LangGraph's SDK: the `useStream` hook, in a page that React draws.

import "./page.mjs";
import { createElement, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { changes, serve, until } from "./driver.mjs";

// The client waits for one second to six before it joins a stream again; tests do not.
const later = globalThis.setTimeout;
globalThis.setTimeout = (callback, ms, ...args) =>
  later(callback, ms >= 1000 && ms < 6000 ? 1 : ms, ...args);

const { useStream } = await import("@langchain/langgraph-sdk/react");

serve(async ({ url, id = null, assistant = "chat", history = false, reconnects = false, listens = false, subagents = null }) => {
  const seen = { errors: [], created: [], custom: [], updates: [] };
  const change = changes();
  let stream;
  let threadId = id;

  function App() {
    const [thread, setThread] = useState(threadId);
    threadId = thread;
    stream = useStream({
      apiUrl: `${url}/langgraph`,
      assistantId: assistant,
      threadId: thread,
      onThreadId: setThread,
      fetchStateHistory: history,
      reconnectOnMount: reconnects,
      onCreated: (run) => void seen.created.push(run),
      onError: (error) => void seen.errors.push(error.message),
      ...(subagents && { filterSubagentMessages: true, subagentToolNames: subagents }),
      ...(listens && {
        onCustomEvent: (data) => void seen.custom.push(data),
        onUpdateEvent: (data) => void seen.updates.push(data),
      }),
    });
    void stream.messages; // what an app reads is what the hook asks for
    if (listens) void stream.toolProgress;
    useEffect(change.tell);
    return null;
  }

  let root;
  async function mount() {
    stream = undefined;
    root = createRoot(document.body.appendChild(document.createElement("div")));
    root.render(createElement(App));
    await until(change.subscribe, () => stream && !stream.isThreadLoading);
  }
  await mount();

  let last;
  const shows = (holds) => until(change.subscribe, holds);
  const settled = () => last.then(() => shows(() => !stream.isLoading && !stream.isThreadLoading));
  function submit(values, options, wait) {
    last = stream.submit(values, options);
    return wait === false ? null : settled();
  }
  const message = (id) => stream.messages.find((one) => one.id === id);
  /** What a page's "edit" and "try again" buttons send along. */
  const before = (id) => stream.getMessagesMetadata(message(id)).firstSeenState.parent_checkpoint;
  const options = (id) => stream.getMessagesMetadata(message(id))?.branchOptions ?? [];
  const content = (one) =>
    typeof one.content === "string" ? one.content : one.content.map((block) => block.text).join("");

  return {
    send: ({ text, wait, options }) =>
      submit({ messages: [{ type: "human", content: text }] }, options, wait),
    post: ({ messages, options, wait }) => submit(messages && { messages }, options, wait),
    resume: ({ value, wait }) => submit(undefined, { command: { resume: value } }, wait),
    edit: ({ messageId, text }) =>
      submit(
        { messages: [{ type: "human", content: text }] },
        { checkpoint: before(messageId) },
      ),
    regenerate: ({ messageId }) => submit(undefined, { checkpoint: before(messageId) }),
    /** What a page's branch picker does, which has two to pick from. */
    async switch({ messageId }) {
      const { branch } = stream.getMessagesMetadata(message(messageId));
      stream.setBranch(options(messageId).find((option) => option !== branch));
      await shows(() => !stream.isLoading);
    },
    stop: () => stream.stop(),
    settled,
    idle: () => shows(() => !stream.isLoading && !stream.isThreadLoading),
    saying: ({ text }) => shows(() => stream.messages.some((one) => content(one).includes(text))),
    loading: () => shows(() => stream.isLoading),
    /** The page is loaded again. */
    async reload() {
      root.unmount();
      await mount();
    },
    /** The subagents of the loaded thread have their messages. */
    restore: () =>
      shows(() => stream.subagents.size && [...stream.subagents.values()].every((one) => one.messages.length)),
    report: () => ({
      messages: stream.messages,
      branches: stream.messages.map(({ id }) => (history ? options(id).length : 0)),
      values: stream.values,
      interrupt: stream.interrupt ?? null,
      error: stream.error ? String(stream.error.message ?? stream.error) : null,
      isLoading: stream.isLoading,
      threadId,
      subagents: [...stream.subagents].map(([id, { status, messages }]) => ({
        id,
        status,
        messages,
      })),
      toolProgress: listens ? stream.toolProgress : [],
      ...seen,
    }),
    close() {
      root.unmount();
      sessionStorage.clear();
    },
  };
});
