// assistant-ui on the AI SDK's wire: `useChatRuntime` in a page.

import { rendered } from "./assistant-ui-page.mjs";
import { AssistantRuntimeProvider } from "@assistant-ui/react";
import { AssistantChatTransport, useChatRuntime } from "@assistant-ui/react-ai-sdk";
import { lastAssistantMessageIsCompleteWithApprovalResponses } from "ai-v7";
import { createElement } from "react";
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

  const { thread, message, messages, onChange, close } = await rendered(App, () => runtime, change);
  async function turn(begin) {
    const ended = seen.finished;
    await begin();
    await until(onChange, () => seen.finished > ended && !thread().getState().isRunning);
  }

  return {
    send: ({ text }) => turn(() => thread().append(text)),
    decide: ({ messageId, toolCallId, approved, reason }) =>
      turn(() =>
        message(messageId)
          .getMessagePartByToolCallId(toolCallId)
          .respondToToolApproval({ approved, reason }),
      ),
    report: () => ({
      messages: messages(),
      ...seen,
    }),
    close,
  };
});
