"""Requests as they are made and recorded."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.chaos.exchange import BrokenOff, Response, Silent, request
from tests.chaos.frames import is_done, last_number, place, tells_lost
from tests.chaos.records import (
    NO_ANSWER,
    Answer,
    Following,
    History,
    Hydrated,
    Outcome,
    Reading,
    ReadingEnd,
)

ATTEMPTS = 60
PAUSE_SECONDS = 0.25


@dataclass
class Recorder:
    """The one place that asks the servers; all of it gets into the history."""

    url: str
    history: History
    requests: int = 0
    _readers: "count[int]" = field(default_factory=lambda: count(1))
    _frames: dict[bytes, bytes] = field(default_factory=dict)
    """Each frame once, however often it was read."""

    @asynccontextmanager
    async def ask(
        self,
        kind: str,
        thread: str,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        about: str = "",
    ) -> AsyncIterator[tuple[Response | None, dict[str, Any]]]:
        """The response and its body, of a stream an empty one; None: there was no answer. `about`:
        the run that the request names."""
        self.requests += 1
        key = (headers or {}).get("Idempotency-Key", "")
        asked = (body or {}).get("message")
        message = asked["id"] if isinstance(asked, Mapping) else ""
        sent = time.time()
        try:
            async with request(self.url, method, path, body, headers) as response:
                is_stream = "event-stream" in response.headers.get("content-type", "")
                said = {} if is_stream else await response.json()
                answered = time.time()
                run = response.run_id or str(said.get("run_id") or "")
                if kind == "stop" and said.get("state") == "live":
                    run = ""  # one that has begun since
                code = str(said.get("code", ""))
                wait = response.headers.get("retry-after", "")
                place = int(response.headers.get("x-queue-place", "0"))
                asked_for = kind, thread, sent, answered, response.status, code
                self.history.answers.append(
                    Answer(*asked_for, run or about, key, message, wait, place)
                )
                yield response, said
                return
        except BrokenOff:
            status, code = NO_ANSWER, ""
        except Silent:
            status, code = 599, "silent"
        self.history.answers.append(
            Answer(kind, thread, sent, time.time(), status, code, about, key, message)
        )
        yield None, {}

    async def plain(
        self, kind: str, thread: str, method: str, path: str, **given: Any
    ) -> tuple[int, dict[str, Any]]:
        """Status and body."""
        async with self.ask(kind, thread, method, path, **given) as (response, said):
            return (response.status if response else NO_ANSWER), said

    async def hydrate(self, thread: str, *, is_last: bool = False) -> dict[str, Any] | None:
        """The thread; None without an answer, or if there is none."""
        sent = time.time()
        status, said = await self.plain("hydrate", thread, "GET", f"/threads/{thread}")
        if status not in (200, 404):
            return None
        now = time.time()
        if status == 404:
            self.history.hydrated.append(Hydrated(thread, sent, now, is_last=is_last))
            return None
        waits = [one for one in said.get("queue", ()) if one["message"]]
        loaded = Hydrated(
            thread,
            sent,
            now,
            (said.get("run") or {}).get("id", ""),
            {m["id"]: m["parts"] for m in said["messages"]},
            is_last,
            tuple(m["id"] for m in said["messages"]),
            {one["message"]["id"]: one.get("problem", {}).get("code", "") for one in waits},
        )
        self.history.hydrated.append(loaded)
        return said

    # streams

    def reader(self) -> int:
        return next(self._readers)

    async def read(
        self, reader: int, thread: str, response: Response, after: int = 0, most: int | None = None
    ) -> Reading:
        """A stream to its end, or its first `most` events."""
        frames: list[bytes] = []
        opened = time.time()
        end: ReadingEnd = "whole"
        try:
            async for frame in response.frames():
                frames.append(self._frames.setdefault(frame, frame))
                if most is not None and len(frames) >= most and not is_done(frame):
                    end = "left"
                    break
        except (BrokenOff, Silent):
            end = "broken"
        run = next((found[0] for frame in frames if (found := place(frame))), response.run_id)
        reading = Reading(
            reader,
            thread,
            "" if tells_lost(frames) and not last_number(frames) else run,
            after,
            opened,
            time.time(),
            tuple(frames),
            end,
        )
        self.history.readings.append(reading)
        return reading

    async def follow(
        self, reader: int, thread: str, run: str, began: float, reading: Reading | None
    ) -> Outcome:
        """Attach again, behind what was seen, until the end comes."""
        seen = last_number(reading.frames) if reading else 0
        outcome: Outcome = "unanswered"
        for attempt in range(ATTEMPTS):
            if reading is not None and reading.frames and is_done(reading.frames[-1]):
                outcome = "lost" if tells_lost(reading.frames) else "ended"
                break
            if attempt:
                await asyncio.sleep(PAUSE_SECONDS)
            reading, status = await self.attach(reader, thread, run, seen)
            if reading is not None:
                seen = max(seen, last_number(reading.frames))
            elif status in (204, 404):
                outcome = "nothing" if status == 204 else "thread gone"
                break
        over = time.time()
        self.history.followings.append(Following(reader, thread, run, began, over, outcome))
        return outcome

    async def attach(
        self, reader: int, thread: str, run: str, after: int, most: int | None = None
    ) -> tuple[Reading | None, int]:
        """Behind an event of a run; 0: ahead of its first. The reading, and the status."""
        headers = {"Last-Event-ID": f"{run}:{after}"}
        path = f"/chat/{thread}/stream"
        async with self.ask("attach", thread, "GET", path, headers=headers) as (response, _):
            if response is None or response.status != 200:
                return None, response.status if response else NO_ANSWER
            return await self.read(reader, thread, response, after, most), 200
