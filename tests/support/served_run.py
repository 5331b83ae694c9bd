"""A run of the server as its clients have it: its chunks, and the bytes of every wire format."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from tests.support import chunk_grammar
from tests.support.ag_ui_reader import AgUiReader, by_owner
from tests.support.backend import THREAD, Backend, chunks_of, key_of
from tests.support.langgraph_reader import check_subagents, holding, named_frames
from tests.support.protocol_readers import (
    UIMessageReader,
    accumulated,
    decoded_state,
    payloads,
)
from tests.support.sse_frames import event_id, frames, frames_after
from turnstream.server.formats import WIRE_FORMATS
from turnstream.server.formats.assistant_transport.state import snapshot as state_snapshot
from turnstream.server.formats.format import StreamContext, View
from turnstream.server.formats.langgraph.stream import ALL_MODES, SUBGRAPHS
from turnstream.server.http.event_streams import Encoding, frame
from turnstream.server.runs.reader import LoggedRun
from turnstream.server.turns.accumulate import accumulate
from turnstream.server.turns.chunks import Chunk, MessageFinish
from turnstream.server.turns.graph_state import GraphState, Values, state_after
from turnstream.server.turns.messages import AssistantTurn, Step, Turn, UserTurn, marked
from turnstream.server.turns.requests import TurnRequest

Json = dict[str, Any]
PARTS, STATE, UI = "assistant-transport", "assistant-transport with a state", "ui-message-stream"
LANGGRAPH, AG_UI = "langgraph", "ag-ui-1.0"
VARIANTS: Mapping[str, tuple[str, View]] = {
    PARTS: ("assistant-transport", None),
    STATE: ("assistant-transport", {}),
    UI: ("ui-message-stream", None),
    LANGGRAPH: ("langgraph", ALL_MODES | {SUBGRAPHS}),
    AG_UI: ("ag-ui-1.0", None),
}
"""Of each variant its wire format, and a view that asks for it."""

_UNSAID = ("args", "rawInput", "input", "providerExecuted")
"""What only a snapshot says of a part."""


@dataclass(frozen=True)
class ServedRun:
    run: LoggedRun
    chunks: Sequence[Chunk]
    before: tuple[Turn, ...]
    """The thread as the run began, with what its request added."""
    kept: tuple[Turn, ...]
    """The thread as the run left it."""
    thread_id: str = THREAD
    kept_state: Values | None = None
    """What clients see of the graph's state as the run left it; None: nothing."""

    @property
    def message_id(self) -> str:
        return self.run.header.message_id

    @property
    def earlier(self) -> AssistantTurn | None:
        """What earlier runs have said of the run's message."""
        last = self.before[-1] if self.before else None
        return last if isinstance(last, AssistantTurn) and last.id == self.message_id else None

    @property
    def told(self) -> tuple[Turn, ...]:
        """The thread as its client has it after the last chunk."""
        others = self.before[:-1] if self.earlier else self.before
        removed = {id for chunk in self.named("MessagesRemoved") for id in chunk.ids}
        shortened = {id for chunk in self.named("HistoryShortened") for id in chunk.ids}
        left = marked(filter(None, (_without(turn, removed) for turn in others)), shortened)
        told = accumulate(self.chunks, self.message_id, self._steps)
        # A graph may stop to ask before any word.
        return (
            *left,
            *([told] if told.steps or told.ended or told.error else []),
        )

    @property
    def reason(self) -> str:
        return next(chunk.reason for chunk in self.chunks if isinstance(chunk, MessageFinish))

    def named(self, name: str) -> list[Any]:
        """The chunks of a class."""
        return [chunk for chunk in self.chunks if type(chunk).__name__ == name]

    def check_chunks(self) -> None:
        """The chunks keep their grammar, and add up to the thread."""
        chunk_grammar.check(self.chunks)
        assert _named(without_versions(self.told)) == _named(without_versions(self.kept))
        states = [chunk for chunk in self.chunks if isinstance(chunk, GraphState)]
        assert [chunk.is_whole for chunk in states[:1]] == [True] * (self.kept_state is not None)
        assert state_after(states, {}) == (self.kept_state or {})

    async def check_format(self, variant: str, *, in_order: bool = True) -> None:
        """A client of the wire format has the thread. `in_order`: it appends in the thread's order;
        models that speak at once are appended in the order of their first words."""
        if variant == LANGGRAPH:
            await self._check_langgraph()
            return
        said = self._prologue(variant) + payloads(await self.bytes_after(variant, 0))
        if variant == AG_UI:
            self._check_ag_ui(said)
            return
        if variant == STATE:
            assert decoded_state({}, said) == state_snapshot(
                self.kept, self.thread_id, self.kept_state
            )
            return
        loaded = WIRE_FORMATS[VARIANTS[variant][0]].snapshot(self.kept)[-1]
        snapshot = loaded["parts"] if loaded["role"] == "assistant" else []
        if variant == UI:
            built = UIMessageReader().read(said).kept_parts
        else:
            built = accumulated(said)["parts"]
            snapshot = snapshot[sum(len(step.parts) for step in self._steps) :]
        shown, expected = ([_plain(part) for part in parts] for parts in (built, snapshot))
        if in_order:
            assert shown == expected
        else:
            assert sorted(shown, key=str) == sorted(expected, key=str)

    def _check_ag_ui(self, said: Sequence[str]) -> None:
        """A client that knew nothing has the thread, its subagents, its state and its questions."""
        reader, format = AgUiReader(version="1.0").read(said), WIRE_FORMATS[VARIANTS[AG_UI][0]]
        assert by_owner(reader.messages) == by_owner(format.snapshot(self.kept))
        assert reader.state == (self.kept_state or {})
        known = {one["subagentRunId"]: one for one in format.beside(self.kept).get("subagents", ())}
        assert reader.subagents.items() <= known.items()
        asked = format.waiting(self.kept, self.named("Interrupt"))
        assert reader.interrupts == asked.get("pendingInterrupts", [])

    async def _check_langgraph(self) -> None:
        """Its values are the thread, and its messages add up to it; so do those of subagents."""
        snapshot = WIRE_FORMATS[LANGGRAPH].snapshot
        reader, expected = map(holding, (self.before, self.kept))
        reader.read(named_frames(await self.bytes_after(LANGGRAPH, 0)))
        values = {key: item for key, item in reader.values.items() if key != "__interrupt__"}
        assert values == {**(self.kept_state or {}), "messages": snapshot(self.kept)}
        assert reader.built == expected.built
        check_subagents(reader, expected)

    async def check_cuts(self, variant: str, cuts: Sequence[int]) -> None:
        """A reader that comes with a cursor gets the rest of the same bytes."""
        whole, run_id = await self.bytes_after(variant, 0), self.run.header.run_id
        ids = [id for id in map(event_id, frames(whole)) if id]
        assert ids[-1] == f"{run_id}:{len(self.chunks)}"
        for cut in cuts:
            rest = await self.bytes_after(variant, cut)
            assert whole.endswith(rest)
            if f"{run_id}:{cut}" in ids:
                assert rest == frames_after(whole, f"{run_id}:{cut}")

    async def bytes_after(self, variant: str, number: int) -> bytes:
        """What a reader gets who has so many events, from an encoder of its own."""
        name, view = VARIANTS[variant]
        context = self._context(variant)
        encoder = WIRE_FORMATS[name].encoder(context, view)
        encoding, said = Encoding(self.run.header.run_id, context, encoder), b""
        async for batch in self.run.log.read(number):
            said += b"".join([events async for events in encoding.frames(self.run.log, batch)])
        return said

    @property
    def _steps(self) -> tuple[Step, ...]:
        return self.earlier.steps if self.earlier else ()

    def _prologue(self, variant: str) -> list[str]:
        """Of a client that knows nothing of the thread."""
        name, view = VARIANTS[variant]
        ahead = WIRE_FORMATS[name].prologue(self._context(variant), view, True)
        return payloads(frame(ahead, None))

    def _context(self, variant: str) -> StreamContext:
        """As the server makes it: with the turns only where the format asks for them."""
        name, view = VARIANTS[variant]
        needed = WIRE_FORMATS[name].needs_turns(self.run.header, view)
        return StreamContext(self.thread_id, self.message_id, self.before if needed else ())


async def serve_run(inside: Backend, request: TurnRequest, thread: str = THREAD) -> ServedRun:
    """A request, and its run to the end."""
    return await ended(inside, await inside.start(request, thread), thread)


async def ended(inside: Backend, run: LoggedRun, thread: str = THREAD) -> ServedRun:
    """A run that was started, read to its end."""
    chunks = await chunks_of(run)
    before = await inside.reader.turns_before(run.header)
    state = await inside.state(thread)
    kept = await inside.reader.with_substeps(key_of(thread), None, inside.reader.shown(state))
    return ServedRun(run, chunks, before, kept, thread, state.graph_state)


def _without(turn: Turn, removed: Set[str]) -> Turn | None:
    """A turn without the messages that the graph has removed; None if nothing is left of it."""
    if isinstance(turn, UserTurn):
        return None if turn.id in removed else turn
    steps = tuple(step for step in turn.steps if step.step_id not in removed)
    return replace(turn, steps=steps) if steps or not turn.steps else None


def without_versions(turns: Sequence[Turn]) -> Sequence[Turn]:
    """What chunks tell: which versions there are is the thread's alone."""
    return [replace(turn, versions=None) for turn in turns]


def _named(turns: Sequence[Turn]) -> Sequence[Turn]:
    """An answer has the id of its question; where the graph removed that, of its first step."""
    asked = {turn.id for turn in turns if isinstance(turn, UserTurn)}
    own = {f"{id}.a" for id in asked} | asked
    return [turn if turn.id in own else replace(turn, id="") for turn in turns]


def _plain(part: Json) -> Json:
    """Nor has the AI SDK's stream a chunk that says how somebody decided on a call: then its part
    is not `tool-call`."""
    of_ai_sdk = part["type"] != "tool-call" and part.get("state") != "approval-requested"
    unsaid = (*_UNSAID, "approval") if of_ai_sdk else _UNSAID
    plain = {key: value for key, value in part.items() if key not in unsaid}
    if "messages" in part:
        steps = part["messages"]
        plain["messages"] = [{**step, "parts": [*map(_plain, step["parts"])]} for step in steps]
    return plain
