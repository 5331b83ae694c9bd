// assistant-ui on AG-UI's wire: `useAgUiRuntime` in a page.

import { rendered } from "./assistant-ui-page.mjs";
import { HttpAgent } from "@ag-ui/client";
import { AssistantRuntimeProvider, AuiConfig, Tools } from "@assistant-ui/react";
import { useAgUiRuntime } from "@assistant-ui/react-ag-ui";
import { createElement } from "react";
import { changes, serve, until } from "./driver.mjs";

serve(async ({ url, threadId, tools = {} }) => {
  const seen = { errors: [] };
  const change = changes();
  const agent = new HttpAgent({ url: `${url}/ag-ui`, threadId });
  let runtime;

  const toolkit = Object.fromEntries(
    Object.entries(tools).map(([name, { result, ...tool }]) => [
      name,
      { type: "frontend", ...tool, execute: async () => result, render: () => null },
    ]),
  );

  function App() {
    runtime = useAgUiRuntime({
      agent,
      onError: (error) => void seen.errors.push(error.message),
    });
    const config = AuiConfig({ tools: Tools({ toolkit }) });
    return createElement(AssistantRuntimeProvider, { runtime, config });
  }

  const { thread, message, messages, onChange, close } = await rendered(App, () => runtime, change);
  const idle = () => until(onChange, () => !thread().getState().isRunning);
  const started = () => agent.messages.length;

  async function turn(begin, wait) {
    const running = until(onChange, () => thread().getState().isRunning);
    await begin();
    await running;
    return wait === false ? null : idle();
  }

  return {
    send: ({ text, wait, ...message }) =>
      turn(() => thread().append({ role: "user", content: [{ type: "text", text }], ...message }), wait),
    reload: ({ id }) => turn(() => message(id).reload()),
    decide: ({ messageId, toolCallId, wait, ...decision }) => {
      const decided = () =>
        message(messageId).getMessagePartByToolCallId(toolCallId).respondToToolApproval(decision);
      return wait === false ? void decided() : turn(decided);
    },
    answer: ({ messageId, toolCallId, result }) =>
      turn(() => message(messageId).getMessagePartByToolCallId(toolCallId).addToolResult(result)),
    resolve: ({ answers }) =>
      turn(() =>
        void runtime.unstable_submitInterruptResponses(
          runtime.unstable_getPendingInterrupts().map(({ id }, n) => ({
            interruptId: id,
            status: "resolved",
            payload: answers[n],
          })),
        ),
      ),
    saying: ({ text }) =>
      until(onChange, () => JSON.stringify(thread().getState().messages).includes(text)),
    settled: idle,
    report: () => ({
      messages: messages(),
      interrupts: runtime.unstable_getPendingInterrupts(),
      posted: started(),
      ...seen,
    }),
    close,
  };
});
