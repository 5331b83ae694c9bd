"""Live is replay, and replay is what the thread keeps: whoever comes when, from where."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.ag_ui_reader import AgUiReader, in_call_order
from tests.support.backend import THREAD, Backend, backend, chunks_of, chunks_until, message
from tests.support.counting_tools import CountingTools
from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint, call_reply, text_reply
from tests.support.endpoint.failures import CONTENT_FILTERED
from tests.support.protocol_readers import UIMessageReader, decoded_state
from tests.support.random_turns import QUESTION, RandomTurn, next_request, random_turn
from tests.support.samples import sample
from tests.support.scripted_model import ScriptedModel
from tests.support.serving import endpoint_settings, serving
from tests.support.sse_frames import event_id, frames, frames_after, without_pings
from tests.support.waiting import WAIT_SECONDS
from turnstream.server.formats import WIRE_FORMATS
from turnstream.server.formats.assistant_transport.state import snapshot as state_snapshot
from turnstream.server.formats.format import StreamContext, View
from turnstream.server.http.event_streams import Encoding
from turnstream.server.runs.reader import LoggedRun
from turnstream.server.turns.accumulate import accumulate
from turnstream.server.turns.chunks import Chunk
from turnstream.server.turns.messages import AssistantTurn, Step, ToolCall, Turn
from turnstream.server.turns.requests import TurnRequest

Json = dict[str, Any]
PARTS, STATE, UI = "assistant-transport", "assistant-transport with a state", "ui-message-stream"
LANGGRAPH = "langgraph"
AG_UI = "ag-ui"
VARIANTS: Mapping[str, tuple[str, View]] = {
    PARTS: ("assistant-transport", None),
    STATE: ("assistant-transport", {}),
    UI: ("ui-message-stream", None),
    LANGGRAPH: ("langgraph", None),
    AG_UI: ("ag-ui", None),
    "AG-UI 1.0": ("ag-ui-1.0", None),
}
"""Of each variant its wire format, and a view that asks for it."""


@dataclass
class Glance:
    """The thread as hydration showed it when the run had said `cursor` events."""

    cursor: int
    turns: tuple[Turn, ...]
    first_part: int


@dataclass
class Watched:
    """A run, what its readers got while it was live, and what hydration showed meanwhile."""

    run: LoggedRun
    before: tuple[Turn, ...]
    live: dict[str, bytes] = field(default_factory=dict)
    glances: list[Glance] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)

    @property
    def message_id(self) -> str:
        return self.run.header.message_id

    @property
    def own(self) -> AssistantTurn | None:
        """The run's message as runs before it left it."""
        last = self.before[-1]
        return last if isinstance(last, AssistantTurn) and last.id == self.message_id else None

    @property
    def earlier(self) -> tuple[Step, ...]:
        return self.own.steps if self.own else ()

    @property
    def others(self) -> tuple[Turn, ...]:
        return self.before[:-1] if self.own else self.before

    def context(self, variant: str) -> StreamContext:
        """As the server makes it: with the turns only where the format asks for them."""
        name, view = VARIANTS[variant]
        needed = WIRE_FORMATS[name].needs_turns(self.run.header, view)
        return StreamContext(THREAD, self.message_id, self.before if needed else ())

    def prologue(self, variant: str, view: View, *, replay: bool) -> list[str]:
        name, _ = VARIANTS[variant]
        return WIRE_FORMATS[name].prologue(self.context(variant), view, replay)

    def encoding(self, variant: str) -> Encoding:
        """A fresh one."""
        name, view = VARIANTS[variant]
        context = self.context(variant)
        encoder = WIRE_FORMATS[name].encoder(context, view)
        return Encoding(self.run.header.run_id, context, encoder)

    async def events_after(self, variant: str, cursor: int) -> bytes:
        """What a reader gets, as it comes, that begins after so many events."""
        encoding, said = self.encoding(variant), b""
        async for batch in self.run.log.read(cursor):
            said += b"".join([events async for events in encoding.frames(self.run.log, batch)])
        return said

    def after(self, events: int) -> tuple[Turn, ...]:
        """The thread when the run has said so many events."""
        said = accumulate(self.chunks[:events], self.message_id, self.earlier)
        return (*self.others, said)


async def watch(inside: Backend, request: TurnRequest, stop_after: int | None) -> Watched:
    run = await inside.start(request)
    watched = Watched(run, await inside.reader.turns_before(run.header))
    readers = [asyncio.create_task(_read(watched, variant)) for variant in VARIANTS]
    glancing = asyncio.create_task(_glance(watched, inside))
    if stop_after is not None:
        await chunks_until(run, lambda chunks: len(chunks) >= stop_after)
        await inside.stop()
    watched.chunks = await chunks_of(run)
    async with asyncio.timeout(WAIT_SECONDS):
        await asyncio.gather(*readers, glancing)
    return watched


async def _read(watched: Watched, variant: str) -> None:
    """A live reader: takes what is there, waits for more."""
    watched.live[variant] = await watched.events_after(variant, 0)


async def _glance(watched: Watched, inside: Backend) -> None:
    """Hydrate before the first event, and whenever there are more."""
    await _hydrate(watched, inside)
    async for _ in watched.run.log.read(0):
        await _hydrate(watched, inside)


async def _hydrate(watched: Watched, inside: Backend) -> None:
    progress = await inside.reader.progress(watched.run)
    watched.glances.append(Glance(progress.last, progress.turns, progress.first_part))


# what clients make of a hydrated thread and the events after its cursor


def events_of(data: bytes) -> Iterable[Json]:
    for payload in payloads_of(data):
        if payload != "[DONE]":
            yield json.loads(payload)


def is_end(payload: str) -> bool:
    return payload == "[DONE]" or json.loads(payload)["type"] in ("RUN_FINISHED", "RUN_ERROR")


def payloads_of(data: bytes) -> list[str]:
    return [
        line.removeprefix("data: ")
        for line in data.decode().split("\n")
        if line.startswith("data: ")
    ]


EMPTY: Mapping[bool, Json] = {
    False: {"text": ""},
    True: {"argsText": "", "state": "pending"},
}
"""What a part has when it starts; True: it is a tool call."""


def carried_on(shown: Json, first_part: int, rest: bytes) -> list[Json]:
    """The parts of a hydrated message after the events that follow, as a page carries them on."""
    parts: list[Json] = [dict(part) for part in shown["parts"]]
    for event in events_of(rest):
        path = event.get("path") or ()
        part = parts[first_part + path[0]] if path else {}
        match event["type"]:
            case "part-start":
                parts.append({**event["part"], **EMPTY[event["part"]["type"] == "tool-call"]})
            case "text-delta":
                part["argsText" if "argsText" in part else "text"] += event["textDelta"]
            case "tool-call-args-text-finish":
                part["disposition"] = event["disposition"]
            case "result":
                end = {"result": event["result"], "isError": event["isError"]}
                part.update(**end, state=event["end"])
            case "data":
                for item in event["data"]:
                    if item["name"] == "tool-settled":
                        settle(parts, item["data"])
    return [plain(part) for part in parts]


def settle(parts: list[Json], settled: Mapping[str, Any]) -> None:
    for part in parts:
        if part.get("toolCallId") == settled["tool_call_id"]:
            is_error = settled["end"] not in ("result", "shown")
            part.update(result=settled["result"], isError=is_error, state=settled["end"])


def plain(part: Json) -> Json:
    """A part without what only hydration says."""
    return {key: value for key, value in part.items() if key != "args"}


async def check_bytes(watched: Watched) -> None:
    run_id, count = watched.run.header.run_id, len(watched.chunks)
    for variant in VARIANTS:
        whole = watched.live[variant]
        ids = [id for id in map(event_id, frames(whole)) if id]
        assert ids[-1] == f"{run_id}:{count}"
        last = payloads_of(whole)[-1]
        assert is_end(last) if variant != LANGGRAPH else b"event: e" in frames(whole)[-1]
        for cut in range(count + 1):
            rest = await watched.events_after(variant, cut)
            cursor = f"{run_id}:{cut}"
            assert rest == (frames_after(whole, cursor) if cursor in ids else rest)
            assert whole.endswith(rest)
            assert cut > 0 or rest == whole


async def check_hydration(watched: Watched, kept: tuple[Turn, ...]) -> None:
    """`kept`: what the thread says when the run has ended."""
    told = watched.after(len(watched.chunks))
    assert kept == told
    for name, wire_format in WIRE_FORMATS.items():
        assert wire_format.snapshot(kept) == wire_format.snapshot(told), name
    snapshot = WIRE_FORMATS["assistant-transport"].snapshot
    first_part = sum(len(step.parts) for step in watched.earlier)
    parts = [plain(part) for part in snapshot(kept)[-1]["parts"]]
    for glance in watched.glances:
        assert glance.turns == watched.after(glance.cursor)
        assert glance.first_part == first_part
        rest = await watched.events_after(PARTS, glance.cursor)
        shown = snapshot(glance.turns)[-1]
        assert carried_on(shown, first_part, rest) == parts


def check_state(watched: Watched, kept: tuple[Turn, ...]) -> None:
    """A client that renders `update-state` only comes with the state that it had."""
    for glance in watched.glances:
        posted = state_snapshot(glance.turns, THREAD)
        prologue = watched.prologue(STATE, posted, replay=False)
        said = prologue + payloads_of(watched.live[STATE])
        assert decoded_state(posted, said) == state_snapshot(kept, THREAD)


def check_ui_message(watched: Watched, kept: tuple[Turn, ...]) -> None:
    """useChat gets the message from its own beginning again."""
    prologue = watched.prologue(UI, None, replay=True)
    reader = UIMessageReader().read(prologue + payloads_of(watched.live[UI]))
    shown = WIRE_FORMATS["ui-message-stream"].snapshot(kept)[-1]
    assert reader.id == shown["id"]
    assert [ui_plain(part) for part in reader.parts] == [ui_plain(p) for p in shown["parts"]]


def check_agent(watched: Watched, kept: tuple[Turn, ...]) -> None:
    """An agent that loaded the thread at any moment gets it set right, and the run once more."""
    format = WIRE_FORMATS[AG_UI]
    for glance in watched.glances:
        said = watched.prologue(AG_UI, None, replay=True) + payloads_of(watched.live[AG_UI])
        reader = AgUiReader(format.snapshot(glance.turns)).read(said)
        assert in_call_order(reader.messages) == format.snapshot(kept)


def ui_plain(part: Json) -> Json:
    """A part without what a stream says of an input only when it is whole, or ran here."""
    unsaid = ("rawInput", "input", "providerExecuted")
    return {key: value for key, value in part.items() if key not in unsaid}


# at the height of runs


@settings(max_examples=sample(30, 8))
@given(st.tuples(random_turn(0), random_turn(1), random_turn(2)))
def test_whoever_comes_when_sees_the_same(turns: tuple[RandomTurn, ...]) -> None:
    asyncio.run(sees_the_same(turns))


async def sees_the_same(turns: tuple[RandomTurn, ...]) -> None:
    model, counting_tools = ScriptedModel.of(), CountingTools(nap_seconds=0)
    with TemporaryDirectory() as folder:
        async with backend(
            Path(folder) / "t.db", model, catalogue=counting_tools.catalogue
        ) as inside:
            request = message("Hello")
            for turn in turns:
                model.script_anew(*turn.scripts)
                watched = await watch(inside, request, turn.stop_after)
                kept = await inside.turns()
                await check_bytes(watched)
                await check_hydration(watched, kept)
                check_state(watched, kept)
                check_ui_message(watched, kept)
                check_agent(watched, kept)
                request = after_that(kept)


def after_that(kept: tuple[Turn, ...]) -> TurnRequest:
    last = kept[-1]
    assert isinstance(last, AssistantTurn)
    calls = [part for part in last.parts if isinstance(part, ToolCall)]
    pending = [call.tool_call_id for call in calls if call.end is None]
    return next_request(bool(last.ended or last.error), pending)


# over HTTP

CALCULATE = call_reply(("calculator", '{"expression": "6 * 7"}'), ("clock", "{}"), ids=("c1", "c2"))
ASK = Reply(
    (Say("Let me ask. "), *call_reply(("request_user_selection", json.dumps(QUESTION))).steps)
)
TURNS: dict[str, tuple[Reply, ...]] = {
    "tools": (CALCULATE, text_reply("It is 42, whatever the time.")),
    "a question": (CALCULATE, ASK),
    "a stop": (CALCULATE, Reply((Say("It is "), Pause(asyncio.Event())))),
}


@pytest.mark.parametrize("protocol", ["assistant-transport", "ui-message-stream", "ag-ui"])
@pytest.mark.parametrize("kind", [*TURNS, "an error"])
async def test_over_http_too_at_every_cursor(tmp_path: Path, kind: str, protocol: str) -> None:
    async with StrictEndpoint() as endpoint:
        endpoint.script(*TURNS.get(kind, (CALCULATE, CONTENT_FILTERED)))
        async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
            body = {"thread_id": "t1", "message": "6 * 7, and the time?"}
            async with client.chat(body, params={"protocol": protocol}) as stream:
                if kind == "a stop":
                    await endpoint.arrived(2)
                    await client.http.post("/chat/t1/stop")
                await stream.rest()
            whole = without_pings(bytes(stream.raw))
            ids = [id for id in map(event_id, frames(whole)) if id]
            for cursor in ids[:-1]:
                answer = await client.http.get("/chat/t1/stream", headers={"Last-Event-ID": cursor})
                assert without_pings(answer.content) == frames_after(whole, cursor)
            thread = await client.thread("t1", protocol=protocol)
            if protocol == "ag-ui":
                agent = AgUiReader().read(payloads_of(whole))
                assert in_call_order(agent.messages) == thread["messages"]
            elif protocol == "ui-message-stream":
                reader = UIMessageReader().read(payloads_of(whole))
                shown = thread["messages"][-1]
                assert [ui_plain(p) for p in reader.parts] == [ui_plain(p) for p in shown["parts"]]
            else:
                empty = {**thread["messages"][-1], "parts": []}
                parts = [plain(part) for part in thread["messages"][-1]["parts"]]
                assert carried_on(empty, 0, whole) == parts
        assert endpoint.refused == []


async def test_a_page_that_loads_in_mid_run_and_attaches_misses_and_doubles_nothing(
    tmp_path: Path,
) -> None:
    gates = [asyncio.Event() for _ in range(6)]
    steps = [step for gate in gates for step in (Say("word "), Pause(gate))]
    async with StrictEndpoint() as endpoint:
        endpoint.script(ASK, CALCULATE, Reply(tuple(steps)))
        async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
            await client.turn({"thread_id": "t1", "message": "Hello"})
            (ask,) = (await client.thread("t1"))["pending"]
            answer = {"tool_call_id": ask["tool_call_id"], "result": {"value": "a"}}

            async def page() -> list[Json]:
                thread = await client.thread("t1")
                run = thread["run"]
                loaded.set()
                cursor = {"Last-Event-ID": run["cursor"]}
                async with client.stream("GET", run["stream_url"], headers=cursor) as reader:
                    await reader.rest()
                    rest = without_pings(bytes(reader.raw))
                return carried_on(thread["messages"][-1], run["first_part"], rest)

            async with client.chat({"thread_id": "t1", "tool_results": [answer]}) as stream:
                await stream.until("result")
                pages = []
                for gate in gates:
                    loaded = asyncio.Event()
                    pages.append(asyncio.create_task(page()))
                    await loaded.wait()
                    gate.set()
                await stream.rest()
                shown = (await client.thread("t1"))["messages"][-1]
                parts = [plain(part) for part in shown["parts"]]
                for built in await asyncio.gather(*pages):
                    assert built == parts


def test_a_reader_that_skips_an_event_is_found_out() -> None:
    """The check itself: a lost or a doubled event does not pass for the whole."""
    shown = {"parts": [{"type": "text", "text": "One "}]}
    delta = b'id: r:4\ndata: {"type":"text-delta","textDelta":"two","path":[0]}\n\n'
    assert carried_on(shown, 0, delta) != carried_on(shown, 0, delta + delta)
    assert carried_on(shown, 0, b"") != carried_on(shown, 0, delta)
