"""What visitors do, at random, on threads that they share."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.frames import last_number, tells_lost
from tests.chaos.recorder import Recorder
from tests.chaos.records import NO_ANSWER, Following, Reading

PATIENCE_SECONDS = 0.3
"""Behind a request that was not answered."""

TOOLS = "What is 17 * 23, and what time is it in Tokyo?"
MESSAGES: Sequence[tuple[str, int]] = (
    (TOOLS, 5),
    ("Multiply 6 by 7, then convert the result from km to miles", 4),
    ("Draw a line chart of 1, 4, 9, 16, 25", 3),
    ("What is 6 * 7, and draw a bar chart of apples 3, pears 5", 3),
    ("Let me choose between red, green and blue", 5),
    ("Write 40 words", 5),
    ("Write 250 words", 3),
    ("Hello", 3),
)


@dataclass
class Known:
    """What all visitors know of the runs so far."""

    last: dict[str, tuple[str, int]] = field(default_factory=dict)
    """By thread: a run, and the last event of it that somebody saw."""
    keys: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    """By thread: an idempotency key, and the body that it went with."""
    queued: dict[str, list[str]] = field(default_factory=dict)
    """By thread: runs that waited for their turn when they were posted, without a key."""


@dataclass
class Visitor:
    """Acts until it is told to end."""

    recorder: Recorder
    random: random.Random
    threads: Sequence[str]
    known: Known
    acted: dict[str, int] = field(default_factory=dict)
    acting: str = ""
    """What it is about."""

    async def act(self) -> None:
        names = [name for name, _, _ in ACTIONS]
        weights = [weight for _, weight, _ in ACTIONS]
        (name,) = self.random.choices(names, weights)
        self.acted[name] = self.acted.get(name, 0) + 1
        thread = self._thread()
        self.acting = f"{name} in thread {thread}"
        await next(action for known, _, action in ACTIONS if known == name)(self, thread)
        if self.recorder.history.answers[-1].status == NO_ANSWER:
            await asyncio.sleep(PATIENCE_SECONDS)

    def _thread(self) -> str:
        # Some are crowded, so that requests meet.
        return self.threads[int(len(self.threads) * self.random.random() ** 2)]

    def _message(self, **fields: Any) -> dict[str, Any]:
        messages, weights = zip(*MESSAGES, strict=True)
        part = {"type": "text", "text": self.random.choices(messages, weights)[0]}
        id = f"m-{self.random.getrandbits(64):x}"
        return {"message": {"id": id, "parts": [part]}, **fields}

    # posts

    async def talk(self, thread: str) -> None:
        await self._post(thread, self._message())

    async def leave(self, thread: str) -> None:
        """The tab is closed."""
        await self._post(thread, self._message(), most=self.random.randrange(1, 40), returns=False)

    async def come_back(self, thread: str) -> None:
        """The connection breaks, and the client attaches again."""
        await self._post(thread, self._message(), most=self.random.randrange(1, 60))

    async def interrupt(self, thread: str) -> None:
        await self._post(thread, self._message(on_busy="stop"))

    async def both_at_once(self, thread: str) -> None:
        await asyncio.gather(self.talk(thread), self.talk(thread))

    async def queue(self, thread: str) -> None:
        """One message or several, each to wait for its turn, once or again under its key."""
        for _ in range(self.random.choice((1, 1, 2, 3))):
            body = {"thread_id": thread, **self._message(on_busy="queue")}
            key = f"{thread}-{self.random.getrandbits(48):x}" if self.random.random() < 0.4 else ""
            headers = {"Prefer": "respond-async", **({"Idempotency-Key": key} if key else {})}
            for _ in range(2 if key else 1):
                asked = ("post", thread, "POST", "/chat", body, headers)
                async with self.recorder.ask(*asked) as (response, said):
                    if response is not None and "queue_place" in said and not key:
                        self.known.queued.setdefault(thread, []).append(response.run_id)

    async def withdraw(self, thread: str) -> None:
        await self._change(thread, "withdraw", "DELETE")

    async def move(self, thread: str) -> None:
        await self._change(thread, "move", "PATCH", {"place": self.random.randrange(1, 4)})

    async def _change(
        self, thread: str, kind: str, method: str, body: Mapping[str, Any] | None = None
    ) -> None:
        """One of the newest requests that waited; it may have begun."""
        newest = self.known.queued.get(thread, ["unheard-of"])[-4:]
        run = self.random.choice(newest)
        path = f"/threads/{thread}/queue/{run}"
        async with self.recorder.ask(kind, thread, method, path, body, about=run):
            pass

    async def go_on(self, thread: str) -> None:
        await self._post(thread, {"continue": True})

    async def retry(self, thread: str) -> None:
        """One request twice under one key, at once or the second one later; or an old one."""
        known = self.known.keys.get(thread)
        if known is not None and self.random.random() < 0.5:
            key, body = known
            await self._post(thread, body, key=key)
            return
        key, body = f"{thread}-{self.random.getrandbits(48):x}", self._message()
        self.known.keys[thread] = key, body
        posts = [self._post(thread, body, key=key) for _ in range(2)]
        if self.random.random() < 0.5:
            await asyncio.gather(*posts)
        else:
            for post in posts:
                await post

    async def answer(self, thread: str) -> None:
        """All questions that wait, or a late answer beside them."""
        loaded = await self.recorder.hydrate(thread)
        calls = [
            part
            for message in (loaded or {}).get("messages", [])
            for part in message["parts"]
            if part["type"] == "tool-call" and part.get("disposition") == "client"
        ]
        waiting = [call for call in calls if call.get("state") == "pending"]
        chosen = waiting or calls[-1:]
        if not chosen:
            await self._post(thread, {"message": "Let me choose between red, green and blue"})
            return
        results = [
            {"tool_call_id": call["toolCallId"], "result": {"value": "red"}}
            if self.random.random() < 0.7
            else {"tool_call_id": call["toolCallId"], "result": {"cancelled": True}}
            for call in chosen
        ]
        await self._post(thread, {"tool_results": results})

    async def _post(
        self,
        thread: str,
        body: Mapping[str, Any],
        *,
        most: int | None = None,
        returns: bool = True,
        key: str = "",
    ) -> None:
        headers = {"Idempotency-Key": key} if key else {}
        if self.random.random() < 0.15:
            headers["Prefer"] = "respond-async"
        asked = {"thread_id": thread, **body}
        began = time.time()
        recorder, reader = self.recorder, self.recorder.reader()
        reading: Reading | None = None
        async with recorder.ask("post", thread, "POST", "/chat", asked, headers) as (
            response,
            said,
        ):
            if response is None or response.status not in (200, 202):
                return
            run, has_stream = response.run_id, "thread_url" not in said
            if response.status == 200:
                reading = await recorder.read(reader, thread, response, 0, most)
                has_stream = not tells_lost(reading.frames) or last_number(reading.frames) > 0
        if not has_stream:
            return  # The request is accepted; the thread has what comes of it.
        if reading is not None:
            self._note(thread, reading)
        if returns:
            await recorder.follow(reader, thread, run, began, reading)
        else:
            recorder.history.followings.append(
                Following(reader, thread, run, began, time.time(), "left")
            )

    # what others do

    async def attach(self, thread: str) -> None:
        """To the live run, from its first event."""
        recorder, reader, began = self.recorder, self.recorder.reader(), time.time()
        path = f"/chat/{thread}/stream"
        async with recorder.ask("attach", thread, "GET", path) as (response, _):
            if response is None or response.status != 200:
                return
            run = response.run_id
            reading = await recorder.read(reader, thread, response)
        self._note(thread, reading)
        if reading.run_id or run:
            await recorder.follow(reader, thread, reading.run_id or run, began, reading)

    async def attach_behind(self, thread: str) -> None:
        """With a cursor: any of a run that somebody has read, or none that there ever was."""
        run, last = self.known.last.get(thread, ("unheard-of", 5))
        after = self.random.randrange(0, last + 1)
        if self.random.random() < 0.05:
            run = "unheard-of"
        reader = self.recorder.reader()
        most = self.random.choice((None, None, 1, 20))
        reading, _ = await self.recorder.attach(reader, thread, run, after, most)
        if reading is not None:
            self._note(thread, reading)

    async def stop(self, thread: str) -> None:
        await self.recorder.plain("stop", thread, "POST", f"/chat/{thread}/stop")

    async def look(self, thread: str) -> None:
        await self.recorder.hydrate(thread)

    async def list(self, _thread: str) -> None:
        await self.recorder.plain("list", "", "GET", "/threads?limit=30")

    async def delete(self, thread: str) -> None:
        await self.recorder.plain("delete", thread, "DELETE", f"/threads/{thread}?at_once=true")

    def _note(self, thread: str, reading: Reading) -> None:
        if reading.run_id and reading.frames:
            self.known.last[thread] = reading.run_id, reading.after + len(reading.frames)


ACTIONS: Sequence[tuple[str, int, Callable[[Visitor, str], Awaitable[None]]]] = (
    ("talk", 14, Visitor.talk),
    ("leave", 5, Visitor.leave),
    ("come back", 10, Visitor.come_back),
    ("interrupt", 6, Visitor.interrupt),
    ("both at once", 3, Visitor.both_at_once),
    ("queue", 12, Visitor.queue),
    ("withdraw", 2, Visitor.withdraw),
    ("move", 2, Visitor.move),
    ("go on", 4, Visitor.go_on),
    ("retry", 12, Visitor.retry),
    ("answer", 10, Visitor.answer),
    ("attach", 12, Visitor.attach),
    ("attach behind", 14, Visitor.attach_behind),
    ("stop", 9, Visitor.stop),
    ("look", 12, Visitor.look),
    ("list", 2, Visitor.list),
    ("delete", 2, Visitor.delete),
)
"""What visitors do, and how often, relative to each other."""
