// AI SDK: the `useChat` hook, in a page that React draws. The argument `v7` makes it that of version 7.

import "./page.mjs";
import { createElement, useEffect } from "react";
import { createRoot } from "react-dom/client";
import { changes, serve, until } from "./driver.mjs";

const version = process.argv[2] ? `-${process.argv[2]}` : "";
const { useChat } = await import(`@ai-sdk/react${version}`);
const {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses: approvalsComplete,
  lastAssistantMessageIsCompleteWithToolCalls: callsComplete,
} = await import(`ai${version}`);

const sendsWhen = {
  calls: callsComplete,
  approvals: approvalsComplete,
  // As docs/clients.md has it.
  both: ({ messages }) =>
    !messages.at(-1)?.parts.some(({ state }) => state === "approval-requested") &&
    (callsComplete({ messages }) || approvalsComplete({ messages })),
};

serve(async ({ url, id, messages = [], tools = {}, sends = "calls" }) => {
  const seen = { toolCalls: [], errors: [], data: [], finished: 0 };
  const change = changes();
  let chat;

  function App() {
    chat = useChat({
      id,
      messages,
      transport: new DefaultChatTransport({ api: `${url}/chat`, body: { tools } }),
      sendAutomaticallyWhen: sendsWhen[sends],
      onToolCall: ({ toolCall }) => void seen.toolCalls.push(toolCall.toolCallId),
      onData: ({ type, data }) => void seen.data.push({ type, data }),
      onError: (error) => void seen.errors.push(error.message),
      onFinish() {
        seen.finished++;
        change.tell();
      },
    });
    useEffect(change.tell);
    return null;
  }

  const root = createRoot(document.body.appendChild(document.createElement("div")));
  root.render(createElement(App));
  await until(change.subscribe, () => chat);
  const idle = () => chat.status === "ready" || chat.status === "error";
  const shows = (holds) => until(change.subscribe, () => holds(chat.messages.at(-1)?.parts ?? []));
  /** What begins a turn, until that has ended. */
  async function turn(begin, wait) {
    const ended = seen.finished;
    begin();
    if (wait !== false) await until(change.subscribe, () => seen.finished > ended && idle());
  }

  return {
    send: ({ text, wait }) => turn(() => chat.sendMessage({ text }), wait),
    resume: ({ wait }) => turn(() => chat.resumeStream(), wait),
    /** Without `wait` it is not the last decision that the turn waits for. */
    decide: ({ approvalId, approved, reason, wait = false }) =>
      turn(() => chat.addToolApprovalResponse({ id: approvalId, approved, reason }), wait),
    answer: ({ tool, toolCallId, output, wait = false }) =>
      turn(() => chat.addToolOutput({ tool, toolCallId, output }), wait),
    settled: ({ turns }) => until(change.subscribe, () => seen.finished >= turns && idle()),
    saying: ({ text }) => shows((parts) => parts.some((part) => part.text?.includes(text))),
    holding: ({ state }) => shows((parts) => parts.some((part) => part.state === state)),
    report: () => ({ messages: chat.messages, status: chat.status, ...seen }),
    close: () => root.unmount(),
  };
});
