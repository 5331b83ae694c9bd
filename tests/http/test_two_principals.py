"""Two callers with the same thread ids, idempotency keys and message ids, in random order: neither
notices the other, and what each has in the end is what they would have alone."""

import asyncio
import json
import random
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.messages import BaseMessage, HumanMessage

from tests.support.gated_tools import GatedTools
from tests.support.run_chunks import tool_call_message
from tests.support.samples import sample
from tests.support.scripted_model import Piece, ScriptedModel, finish, text
from tests.support.serving import Client, parse_events, serving
from tests.support.users import authenticating, named

ROUNDS, CALLS, PARTS = sample(1000, 16, 4), sample(8, 24), sample(4, 4, 1)
ASK = "Pay for"
GIVEN_ID = re.compile(r"call_[0-9a-f]{24}")
"""Of a call whose own id the thread had already."""
THREADS, KEYS, MESSAGE_IDS = ("t0", "t1"), ("k0", "k1"), ("m0", "m1", "m2")


@dataclass(frozen=True)
class Call:
    """One request; `words` go where the caller's secret goes."""

    kind: str
    thread: str
    key: str | None = None
    message_id: str | None = None
    format: str = "native"
    cursor: int = 0


KINDS = (
    *("chat",) * 6,
    *("hydrate",) * 3,
    *("list", "rename", "delete", "edit", "regenerate", "continue", "stop", "attach", "export"),
    *("narrow", "answer", "resume", "detach"),
    *("ask", "ask", "approve", "approve", "decline", "approvals", "decide", "decide"),
)


def drawn(draw: random.Random) -> Call:
    return Call(
        kind=draw.choice(KINDS),
        thread=draw.choice(THREADS),
        key=draw.choice((None, None, *KEYS)),
        message_id=draw.choice((None, *MESSAGE_IDS)),
        format=draw.choice(("native", "assistant-transport", "ui-message-stream")),
        cursor=draw.choice((0, 1, 5)),
    )


@dataclass
class Caller:
    """A principal and what they have seen: `runs` are the ids of their runs."""

    name: str
    http: httpx.AsyncClient
    prefix: str
    runs: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    """Run ids of somebody else, to guess with."""
    asked: list[str] = field(default_factory=list)
    """Ids of the caller's calls that wait for an approval."""
    asked_of_others: list[str] = field(default_factory=list)
    seen: bytearray = field(default_factory=bytearray)

    @property
    def secret(self) -> str:
        return f"SECRET-OF-{self.name.upper()}"

    async def make(self, call: Call, number: int) -> str:
        """The request's outcome, in words that do not depend on who makes it."""
        match call.kind:
            case "approvals":
                answer = await self.approvals()
            case "decide":
                answer = await self.decide(call)
            case _:
                answer = await self.request(call, number)
        self.seen += answer.content + str(answer.headers).encode()
        if "x-run-id" in answer.headers:
            self.runs.append(answer.headers["x-run-id"])
        code = answer.json()["code"] if answer.status_code >= 400 else ""
        return f"{call.kind}: {answer.status_code} {code}"

    async def request(self, call: Call, number: int) -> httpx.Response:
        thread = f"{self.prefix}{call.thread}"
        words = f"{self.secret} {number}"
        http = self.http
        match call.kind:
            case "list":
                return await http.get("/threads", params={"limit": 100})
            case "export":
                return await http.get("/export")
            case "hydrate":
                asked = {} if call.format == "native" else {"protocol": call.format}
                return await http.get(f"/threads/{thread}", params=asked)
            case "rename":
                return await http.patch(f"/threads/{thread}", json={"title": words})
            case "narrow":
                narrowed = {"allowed_tools": ["echo"]}
                return await http.patch(f"/threads/{thread}", json=narrowed)
            case "delete":
                return await http.delete(f"/threads/{thread}")
            case "stop":
                return await http.post(f"/chat/{thread}/stop")
            case "attach":
                known = self.runs if call.key else self.others
                cursor = {"last_event_id": f"{known[-1] if known else 'nothing'}:{call.cursor}"}
                return await http.get(f"/chat/{thread}/stream", params=cursor)
        headers = {"Idempotency-Key": f"{self.prefix}{call.key}"} if call.key else {}
        if call.kind == "detach":
            headers["Prefer"] = "respond-async"
        answer = await http.post("/chat", json=self.body(call, thread, words), headers=headers)
        return await http.get(answer.headers["location"]) if answer.status_code == 202 else answer

    async def approvals(self) -> httpx.Response:
        """The list has the caller's own calls alone."""
        answer = await self.http.get("/approvals")
        waiting = answer.json()["approvals"]
        assert all(self.secret in json.dumps(one) for one in waiting)
        self.asked += [one["id"] for one in waiting]
        return answer

    async def decide(self, call: Call) -> httpx.Response:
        """On the first call that waits, or on a guessed one of somebody else."""
        waiting = (await self.approvals()).json()["approvals"] if call.key else []
        known = [one["id"] for one in waiting] if call.key else self.asked_of_others
        id = known[0] if known else "nothing"
        answer = await self.http.post(f"/approvals/{id}", json={"approved": call.cursor > 0})
        if waiting:
            # The run goes on by itself: the next call comes when it has ended.
            await self.http.get(f"/chat/{waiting[0]['thread_id']}/stream")
        return answer

    def body(self, call: Call, thread: str, words: str) -> dict[str, Any]:
        """The same body again for the same words, as a retry has it."""
        native = {"thread_id": thread}
        item = {"tool_call_id": "call_1", "approved": call.kind == "approve"}
        bodies: dict[str, dict[str, Any]] = {
            "edit": {"edit": {"message_id": call.message_id or "m0", "message": words}},
            "regenerate": {"regenerate": True},
            "continue": {"continue": True},
            "answer": {"tool_results": [{"tool_call_id": "call_1", "result": {}}]},
            "resume": {"resume": words},
            "detach": {"message": words},
            "ask": {"message": f"{ASK} {words}"},
            "approve": {"approvals": [item]},
            "decline": {"approvals": [item]},
        }
        if call.kind in bodies:
            return {**native, **bodies[call.kind]}
        named = {"id": call.message_id} if call.message_id else {}
        parts = [{"type": "text", "text": words}]
        if call.format == "ui-message-stream":
            message = {"id": call.message_id or "m9", "role": "user", "parts": parts}
            return {"id": thread, "trigger": "submit-message", "messages": [message]}
        if call.format == "assistant-transport":
            command = {"type": "add-message", "message": {"role": "user", "parts": parts, **named}}
            return {"threadId": thread, "commands": [command], "state": {}}
        return {**native, "message": {"parts": parts, **named}}

    async def left(self) -> Any:
        """What the caller has at the end: threads, titles, messages."""
        threads = {}
        for thread in THREADS:
            answer = await self.http.get(f"/threads/{self.prefix}{thread}")
            self.seen += answer.content
            body = answer.json()
            told = [_told(message) for message in body.get("messages", ())]
            state = (answer.status_code, body.get("run_state"), body.get("title"))
            threads[thread] = (*state, told, body.get("approvals"))
        listed = [one["args"] for one in (await self.approvals()).json()["approvals"]]
        left = json.dumps((threads, listed)).replace(self.secret, "SECRET")
        return json.loads(GIVEN_ID.sub("call_N", left.replace(self.name, "NAME")))


def _told(message: dict[str, Any]) -> tuple[str, list[Any]]:
    keys = ("text", "state", "result", "approval")
    return message["role"], [[p.get(key) for key in keys] for p in message.get("parts", ())]


def answer(messages: list[BaseMessage]) -> Sequence[Piece]:
    """The model says again what it was told last, or asks for a payment if it is to."""
    last = next(message for message in reversed(messages) if isinstance(message, HumanMessage))
    if last is messages[-1] and last.text.startswith(ASK):
        return tool_call_message(("call_1", "pay", json.dumps({"word": last.text})))
    return [text(f"You say {last.text}"), finish()]


@asynccontextmanager
async def caller(client: Client, name: str, prefix: str) -> AsyncIterator[Caller]:
    async with httpx.AsyncClient(base_url=client.url, headers=named(name), timeout=30) as http:
        yield Caller(name, http, prefix)


async def all_of(caller: Caller, calls: Sequence[Call]) -> list[str]:
    return [await caller.make(call, number % 3) for number, call in enumerate(calls)]


async def in_turn(
    draw: random.Random, plans: Sequence[tuple[Caller, Sequence[Call]]]
) -> list[list[str]]:
    """The calls of all in one random order, each caller's in their own."""
    outcomes: list[list[str]] = [[] for _ in plans]
    waiting = [iter(enumerate(calls)) for _, calls in plans]
    order = [index for index, (_, calls) in enumerate(plans) for _ in calls]
    draw.shuffle(order)
    for index in order:
        number, call = next(waiting[index])
        outcomes[index].append(await plans[index][0].make(call, number % 3))
    return outcomes


def check_unseen(seen: bytearray, other: Caller) -> None:
    """Nothing of another was seen. Their run ids are theirs; one that was guessed is not told."""
    assert other.secret.encode() not in seen
    assert other.name.encode() not in seen.replace(b"SECRET-OF", b"")
    for run in set(other.runs):
        assert run.encode() not in seen


async def compare(client: Client, number: int) -> None:
    draw, prefix = random.Random(number), f"i{number}-"
    plans = [[drawn(draw) for _ in range(CALLS)] for _ in range(2)]
    names = (f"annabel{number}", f"benedict{number}")
    async with (
        caller(client, names[0], prefix) as ann,
        caller(client, names[1], prefix) as ben,
        caller(client, f"alone{number}", prefix) as alone,
    ):
        ann.others, ben.others = ben.runs, ann.runs
        ann.asked_of_others, ben.asked_of_others = ben.asked, ann.asked
        if number % 2:
            together, _ = await in_turn(draw, [(ann, plans[0]), (ben, plans[1])])
        else:
            together, _ = await asyncio.gather(all_of(ann, plans[0]), all_of(ben, plans[1]))
        assert together == await all_of(alone, plans[0])
        assert await ann.left() == await alone.left()
        await ben.left()
        check_unseen(ann.seen, ben)
        check_unseen(ben.seen, ann)
        if any(outcome.startswith("chat: 200") for outcome in together):
            assert ann.secret.encode() in ann.seen


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
async def test_neither_notices_the_other(part: int, tmp_path: Path) -> None:
    model = ScriptedModel.of(*[answer] * (2 * ROUNDS * CALLS))
    given = authenticating(tmp_path / "t.db", max_new_threads=1_000_000)
    async with serving(given, GatedTools().catalogue, model) as client:
        for number in range(part, ROUNDS, PARTS):
            await compare(client, number)


async def test_a_cursor_of_another_users_thread_of_the_same_id_is_lost(tmp_path: Path) -> None:
    async with serving(authenticating(tmp_path / "t.db")) as client:
        body = {"thread_id": "t1", "message": "Hello"}
        for name in ("ann", "bob"):
            async with client.chat(body, headers=named(name)) as stream:
                await stream.rest()
            if name == "ann":
                cursor = {"last_event_id": f"{stream.run_id}:0"}
        answer = await client.http.get("/chat/t1/stream", params=cursor, headers=named("bob"))
        assert parse_events(answer.content)[0].data["code"] == "cursor_lost"
