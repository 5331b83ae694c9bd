// AI SDK without its Chat: DefaultChatTransport and readUIMessageStream, for apps of other kinds.

import { DefaultChatTransport, readUIMessageStream } from "ai";
import { serve } from "./driver.mjs";

serve(({ url, id }) => {
  const transport = new DefaultChatTransport({ api: `${url}/chat` });
  const seen = { errors: [], chunks: [], snapshots: [] };

  async function read(stream, message) {
    const [counted, told] = stream.tee();
    const counting = (async () => {
      for await (const chunk of counted) seen.chunks.push(chunk);
    })();
    let last;
    const snapshots = readUIMessageStream({
      stream: told,
      message,
      onError: (error) => void seen.errors.push(error.message),
    });
    for await (const snapshot of snapshots) seen.snapshots.push((last = snapshot));
    await counting;
    return last;
  }

  return {
    async send({ messages, trigger = "submit-message", messageId, continued }) {
      const stream = await transport.sendMessages({ chatId: id, messages, trigger, messageId });
      return read(stream, continued);
    },
    async resume() {
      const stream = await transport.reconnectToStream({ chatId: id });
      return stream && read(stream);
    },
    report: () => seen,
  };
});
