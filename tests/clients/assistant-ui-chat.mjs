// assistant-ui on the AI SDK's wire: `useChatRuntime` in a page.

import "./page.mjs";
import { AssistantRuntimeProvider } from "@assistant-ui/react";
import { AssistantChatTransport, useChatRuntime } from "@assistant-ui/react-ai-sdk";
import { lastAssistantMessageIsCompleteWithApprovalResponses } from "ai-v7";
import { createElement } from "react";
import { createRoot } from "react-dom/client";
import { changes, serve, until } from "./driver.mjs";

serve(async ({ url }) => {
  const seen = { errors: [], finished: 0 };
  const change = changes();
  let runtime;

  function App() {
    runtime = useChatRuntime({
      transport: new AssistantChatTransport({ api: `${url}/chat` }),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
      onError: (error) => void seen.errors.push(error.message),
      onFinish() {
        seen.finished++;
        change.tell();
      },
    });
    return createElement(AssistantRuntimeProvider, { runtime });
  }

  const root = createRoot(document.body.appendChild(document.createElement("div")));
  root.render(createElement(App));
  await new Promise((resolve) => setTimeout(resolve)).then(() =>
    until(
      (changed) => runtime.threads.subscribe(changed),
      () => !runtime.threads.getState().isLoading,
    ),
  );
  const thread = () => runtime.thread;
  const onChange = (changed) => {
    const stops = [thread().subscribe(changed), change.subscribe(changed)];
    return () => stops.forEach((stop) => stop());
  };
  async function turn(begin) {
    const ended = seen.finished;
    await begin();
    await until(onChange, () => seen.finished > ended && !thread().getState().isRunning);
  }

  return {
    send: ({ text }) => turn(() => thread().append(text)),
    decide: ({ messageId, toolCallId, approved, reason }) =>
      turn(() =>
        thread()
          .getMessageById(messageId)
          .getMessagePartByToolCallId(toolCallId)
          .respondToToolApproval({ approved, reason }),
      ),
    report: () => ({
      messages: thread()
        .getState()
        .messages.map(({ id, role, content, status }) => ({ id, role, content, status })),
      ...seen,
    }),
    close: () => root.unmount(),
  };
});
