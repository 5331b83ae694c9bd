// A fetch for HttpAgent whose streams survive a broken line: it attaches again behind the last event
// that came whole, and gets the very same bytes from there on: those of the version that the agent
// has said it speaks.

const TRIES = 5;

export function resumingFetch(server, pauseSeconds = 1) {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (!response.ok || !response.body) return response;
    const thread = response.headers.get("x-thread-id");
    const attach = (cursor) =>
      fetch(`${server}/chat/${thread}/stream`, {
        headers: { ...init.headers, "Last-Event-ID": cursor },
        signal: init.signal,
      });
    const first = `${response.headers.get("x-run-id")}:0`;
    const frames = whole(response, attach, first, pauseSeconds, init.signal);
    return new Response(ReadableStream.from(frames), response);
  };
}

async function* whole(response, attach, cursor, pauseSeconds, signal) {
  const encoder = new TextEncoder();
  for (let tries = 0; tries < TRIES; ) {
    // What comes ahead of an event's id is passed on with it: until then it may come again.
    let held = "";
    try {
      for await (const frame of framesOf(response)) {
        held += `${frame}\n\n`;
        const id = /^id: ?(.*)$/m.exec(frame)?.[1];
        if (id === undefined) continue;
        yield encoder.encode(held);
        [held, cursor, tries] = ["", id, 0];
        if (/"type":"RUN_(FINISHED|ERROR)"/.test(frame)) return;
      }
    } catch (error) {
      if (signal?.aborted) throw error;
    }
    tries++;
    await new Promise((resolve) => setTimeout(resolve, 1000 * pauseSeconds));
    response = await attach(cursor).catch(() => new Response(null, { status: 503 }));
    if (response.status === 204) return;
  }
  throw new TypeError("The stream broke off, and the server cannot be reached.");
}

async function* framesOf(response) {
  if (!response.ok || !response.body) return;
  let text = "";
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    const frames = text.split("\n\n");
    text = frames.pop();
    yield* frames;
  }
}
