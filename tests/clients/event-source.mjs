// npm's eventsource: what it is told, in order, until it is closed for good.

import { EventSource } from "eventsource";
import { changes, serve, until } from "./driver.mjs";

serve(({ url }) => {
  const seen = { events: [], errors: [], opened: 0 };
  const change = changes();
  const source = new EventSource(url);
  source.onopen = () => void seen.opened++;
  source.onmessage = ({ lastEventId, data }) => {
    seen.events.push({ id: lastEventId, data });
    change.tell();
  };
  source.onerror = ({ code, message }) => {
    seen.errors.push(code ?? message ?? null);
    change.tell();
  };

  return {
    closed: () => until(change.subscribe, () => source.readyState === EventSource.CLOSED),
    saying: ({ text }) =>
      until(change.subscribe, () => seen.events.some(({ data }) => data.includes(text))),
    report: () => seen,
    close: () => source.close(),
  };
});
