"""What a server says to the page, written down: for what no graph of the tests says.

The page itself comes from a real server; its calls for the thread are answered from here.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Page, Route

Json = dict[str, Any]

THREAD, RUN, QUESTION = "thread-1", "run-1", "m1"
ANSWER = f"{QUESTION}.a"
NO_USAGE = {"inputTokens": 0, "outputTokens": 0}


def step(step_id: str, node: str | None = None, *namespace: str) -> Json:
    where = ({"node": node} if node else {}) | ({"namespace": namespace} if namespace else {})
    return {"type": "step-start", "messageId": ANSWER, "stepId": step_id, "path": []} | where


def begin(step_id: str | None = None, **part: str) -> Json:
    """A part begins: a text, unless told otherwise."""
    of_step = {"stepId": step_id} if step_id else {}
    return {"type": "part-start", "part": {"type": "text"} | part, "path": []} | of_step


def delta(number: int, text: str) -> Json:
    return {"type": "text-delta", "textDelta": text, "path": [number]}


def end_part(number: int) -> Json:
    return {"type": "part-finish", "path": [number]}


def text(number: int, words: str, step_id: str | None = None) -> list[Json]:
    return [begin(step_id), delta(number, words), end_part(number)]


def end_step(step_id: str | None = None) -> Json:
    of_step = {"stepId": step_id} if step_id else {}
    end = {"type": "step-finish", "finishReason": "stop", "usage": NO_USAGE, "isContinued": False}
    return end | {"path": []} | of_step


def data(name: str, **values: Any) -> Json:
    return {"type": "data", "data": [{"name": name, "data": values}], "path": []}


def finish(reason: str = "stop") -> Json:
    return {"type": "message-finish", "finishReason": reason, "usage": NO_USAGE, "path": []}


def interrupt(id: str, node: str = "tools", **rest: Any) -> Json:
    return {"id": id, "node": node} | rest


def spoken(*parts: Json, **rest: Any) -> Json:
    """An assistant message as a loaded thread has it."""
    steps = [{"stepId": "s1", "finishReason": "stop"}]
    base = {"id": ANSWER, "role": "assistant", "parts": parts, "steps": steps}
    return base | {"finishReason": "stop"} | rest


@dataclass(frozen=True)
class Reply:
    """The events of a run from the `first` on; the stream breaks off unless they have an end."""

    chunks: Sequence[Json]
    first: int = 1
    held: asyncio.Event | None = None
    """Set when the server may answer."""

    @property
    def body(self) -> str:
        told: list[Json | str] = list(self.chunks)
        if self.chunks and self.chunks[-1]["type"] == "message-finish":
            told.append("[DONE]")
        return "".join(
            f"id: {RUN}:{number}\ndata: {item if isinstance(item, str) else json.dumps(item)}\n\n"
            for number, item in enumerate(told, self.first)
        )


@dataclass(frozen=True)
class Refusal:
    """A problem; status 0: the connection fails."""

    status: int
    code: str = ""
    detail: str = ""
    held: asyncio.Event | None = None
    headers: dict[str, str] = field(default_factory=dict)
    extra: Json = field(default_factory=dict)


def asking(*interrupts: Json, words: str = "Let me ask.") -> Reply:
    """A run that says some words and stops to ask."""
    said = [step("s1", "agent"), *text(0, words), end_step()] if words else []
    asked = [data("interrupt", **item) for item in interrupts]
    return Reply([*said, *asked, finish("tool-calls")])


def answering(words: str = "Thank you.") -> Reply:
    return Reply([step("s2", "agent"), *text(0, words), end_step(), finish()])


@dataclass
class ScriptedWire:
    """Answers each `POST /chat` and each attach with the next reply, and has the bodies."""

    replies: list[Reply | Refusal] = field(default_factory=list)
    thread: Json = field(default_factory=dict)
    bodies: list[Json] = field(default_factory=list)
    cursors: list[str] = field(default_factory=list)
    loads: int = 0

    def script(self, *replies: Reply | Refusal) -> None:
        self.replies.extend(replies)

    def hold(self, *messages: Json, **rest: Any) -> None:
        """What the server says of the thread from now on."""
        asked = {"id": QUESTION, "role": "user", "parts": [{"type": "text", "text": "Go"}]}
        base = {"id": THREAD, "title": "Go", "run_state": "finished", "run": None, "run_id": RUN}
        self.thread = base | {"messages": [asked, *messages]} | rest

    async def serve(self, page: Page) -> None:
        await page.route(re.compile(r"/threads\?"), self._list)
        await page.route(re.compile(r"/threads/"), self._thread)
        await page.route(re.compile(r"/queue$"), self._queue)
        await page.route(re.compile(r"/chat$"), self._post)
        await page.route(re.compile(r"/chat/.*/stream$"), self._attach)

    async def _list(self, route: Route) -> None:
        state = self.thread.get("run_state", "finished")
        entry = {"id": THREAD, "title": "Go", "run_state": state}
        entries = [entry | {"updated_at": "2024-01-01T00:00:00Z"}] if self.thread else []
        await route.fulfill(json={"threads": entries})

    async def _thread(self, route: Route) -> None:
        self.loads += 1
        await route.fulfill(json=self.thread)

    async def _queue(self, route: Route) -> None:
        await route.fulfill(json={"run_id": self.thread.get("run_id", RUN), "queue": []})

    async def _post(self, route: Route) -> None:
        self.bodies.append(json.loads(route.request.post_data or "null"))
        await self._answer(route)

    async def _attach(self, route: Route) -> None:
        self.cursors.append(str(await route.request.header_value("last-event-id")))
        await self._answer(route)

    async def _answer(self, route: Route) -> None:
        reply = self.replies.pop(0)
        if reply.held:
            await reply.held.wait()
        if isinstance(reply, Reply):
            ids = {"X-Thread-Id": THREAD, "X-Run-Id": RUN, "X-Message-Id": QUESTION}
            head = {"Content-Type": "text/event-stream"} | ids
            await route.fulfill(headers=head, body=reply.body)
        elif reply.status:
            problem = {"code": reply.code, "detail": reply.detail} | reply.extra
            await route.fulfill(status=reply.status, json=problem, headers=reply.headers)
        else:
            await route.abort()


@asynccontextmanager
async def scripted_wire(page: Page) -> AsyncIterator[ScriptedWire]:
    """Ends with the proof that each reply was asked for."""
    wire = ScriptedWire()
    await wire.serve(page)
    yield wire
    assert wire.replies == []
