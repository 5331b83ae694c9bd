// AI SDK: the Chat class behind `useChat`, with auto-send on, as the SDK's documentation sets it up.

import { Chat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { serve, until } from "./driver.mjs";

serve(({ url, id, query = "", messages = [], tools = {}, outputs = {} }) => {
  const seen = { toolCalls: [], errors: [], preliminary: [] };
  const chat = new Chat({
    id,
    messages,
    transport: new DefaultChatTransport({ api: `${url}/chat${query}`, body: { tools } }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall({ toolCall: { toolCallId, toolName: tool } }) {
      seen.toolCalls.push(toolCallId);
      if (tool in outputs) void chat.addToolOutput({ tool, toolCallId, output: outputs[tool] });
    },
    onError: (error) => void seen.errors.push(error.message),
  });
  chat["~registerMessagesCallback"](() => {
    for (const part of chat.lastMessage?.parts ?? []) {
      if (part.preliminary) seen.preliminary.push(part.output);
    }
  });
  const idle = () => chat.status === "ready" || chat.status === "error";
  const settled = () => until((changed) => chat["~registerStatusCallback"](changed), idle);
  let last = Promise.resolve();
  const begun = (promise, wait) => {
    last = promise;
    return wait === false ? null : promise;
  };

  return {
    send: ({ text, files, messageId, body, wait }) =>
      begun(chat.sendMessage({ text, files, messageId }, { body }), wait),
    show({ messages }) {
      chat.messages = messages;
    },
    resend: () => chat.sendMessage(),
    regenerate: ({ messageId, wait }) => begun(chat.regenerate({ messageId }), wait),
    resume: ({ wait }) => begun(chat.resumeStream(), wait),
    stop: () => chat.stop(),
    settled: () => last.then(settled),
    async answer({ tool, toolCallId, output, errorText, wait }) {
      const answer = errorText ? { state: "output-error", errorText } : { output };
      await chat.addToolOutput({ tool, toolCallId, ...answer });
      if (wait !== false) await settled();
    },
    saying: ({ text }) =>
      until(
        (changed) => chat["~registerMessagesCallback"](changed),
        () => chat.lastMessage?.parts.some((part) => part.text?.includes(text)),
      ),
    report: () => ({ messages: chat.messages, status: chat.status, ...seen }),
    close: () => chat.stop(),
  };
});
