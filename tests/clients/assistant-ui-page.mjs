// assistant-ui in a page: what the drivers of its runtimes share.

import "./page.mjs";
import { createElement, useEffect } from "react";
import { createRoot } from "react-dom/client";
import { until } from "./driver.mjs";

/** Renders `App`. Resolves once the runtime that it made, which `runtime()` gives, has its threads. */
export async function rendered(App, runtime, change) {
  const root = createRoot(document.body.appendChild(document.createElement("div")));
  await new Promise((resolve) => {
    function Page() {
      useEffect(resolve, []);
      return createElement(App);
    }
    root.render(createElement(Page));
  });
  await until(
    (changed) => runtime().threads.subscribe(changed),
    () => !runtime().threads.getState().isLoading,
  );
  const thread = () => runtime().thread;
  return {
    thread,
    message: (id) => thread().getMessageById(id),
    messages: () =>
      thread()
        .getState()
        .messages.map(({ id, role, content, status }) => ({ id, role, content, status })),
    onChange(changed) {
      const stops = [thread().subscribe(changed), change.subscribe(changed)];
      return () => stops.forEach((stop) => stop());
    },
    close: () => root.unmount(),
  };
}
