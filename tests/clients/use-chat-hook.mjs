// AI SDK: the `useChat` hook, in a page that React draws.

import "./page.mjs";
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { createElement, useEffect } from "react";
import { createRoot } from "react-dom/client";
import { changes, serve, until } from "./driver.mjs";

serve(async ({ url, id, tools = {} }) => {
  const seen = { toolCalls: [], errors: [] };
  const change = changes();
  let chat;

  function App() {
    chat = useChat({
      id,
      transport: new DefaultChatTransport({ api: `${url}/chat`, body: { tools } }),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall: ({ toolCall }) => void seen.toolCalls.push(toolCall.toolCallId),
      onError: (error) => void seen.errors.push(error.message),
    });
    useEffect(change.tell);
    return null;
  }

  const root = createRoot(document.body.appendChild(document.createElement("div")));
  root.render(createElement(App));
  await until(change.subscribe, () => chat);
  const idle = () => chat.status === "ready" || chat.status === "error";

  return {
    async send({ text }) {
      await chat.sendMessage({ text });
      await until(change.subscribe, idle);
    },
    report: () => ({ messages: chat.messages, status: chat.status, ...seen }),
    close: () => root.unmount(),
  };
});
