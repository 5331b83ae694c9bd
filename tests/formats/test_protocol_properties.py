"""Whatever a run says: what each client builds of the stream is what the history shows."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.protocol_readers import (
    UIMessageReader,
    accumulated,
    decoded_state,
    payloads,
)
from tests.support.samples import sample
from turnstream.server.formats import WIRE_FORMATS, WireFormat
from turnstream.server.formats.assistant_transport.state import snapshot as state_snapshot
from turnstream.server.formats.format import StreamContext, View
from turnstream.server.http.event_streams import frame
from turnstream.server.turns.chunks import (
    Approval,
    ArgsFinish,
    Chunk,
    Custom,
    Disposition,
    Done,
    End,
    Error,
    Interrupt,
    MessageFinish,
    PartFinish,
    PartStart,
    Path,
    ReasoningPart,
    Result,
    RunEnded,
    StepFinish,
    StepStart,
    StepWithdrawn,
    TextDelta,
    TextPart,
    ToolApproval,
    ToolCallPart,
    ToolProgress,
    ToolSettled,
    Usage,
)
from turnstream.server.turns.header import LOCAL_OWNER, RunHeader, ThreadKey
from turnstream.server.turns.messages import (
    AssistantTurn,
    MessagePart,
    Reasoning,
    Step,
    Text,
    ToolCall,
    Turn,
    UserTurn,
    settle_call,
    settle_turn,
)
from turnstream.server.turns.requests import ImageContent, TextContent

RUNS = settings(max_examples=sample(40, 12))

PARTS = WIRE_FORMATS["assistant-transport"]
UI = WIRE_FORMATS["ui-message-stream"]
AG_UI = WIRE_FORMATS["ag-ui"]

texts = st.lists(st.text(max_size=4), max_size=3)
flags: st.SearchStrategy[bool] = st.booleans()
names = st.sampled_from(["get_weather", "render_ui_component", "ask"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
objects = st.dictionaries(st.text(max_size=3), json_values, max_size=3)
usages = st.builds(Usage, st.integers(0, 99), st.integers(0, 99))
failures = st.fixed_dictionaries(
    {"code": st.just("x"), "message": st.text(min_size=1, max_size=5)},
    optional={"id": st.just("e1")},
).map(lambda error: {"error": error})
ends: st.SearchStrategy[tuple[End, Any]] = st.one_of(
    st.tuples(st.sampled_from(["result", "shown"]), json_values),
    st.tuples(st.sampled_from(["error", "timeout", "cancelled"]), failures),
)
rejections: st.SearchStrategy[tuple[End, Any]] = st.tuples(
    st.sampled_from(["error", "cancelled"]), failures
)
dispositions: st.SearchStrategy[Disposition] = st.sampled_from(
    ["server", "shown", "client", "approval", "invalid"]
)
run_ends = st.sampled_from([RunEnded("stopped"), RunEnded("limit", "max_steps", 12)])


@dataclass
class Run:
    """A run, and the thread before and after it."""

    context: StreamContext
    chunks: list[Chunk]
    turn: AssistantTurn
    said: AssistantTurn
    """What this run adds to `turn`."""
    held: AssistantTurn
    """The message before the run, with the decisions that the request brings."""

    @property
    def after(self) -> tuple[Turn, ...]:
        context = self.context
        earlier = tuple(turn for turn in context.turns if turn is not context.continued)
        return (*earlier, self.turn)


class Ids:
    def __init__(self) -> None:
        self._count = 0

    def new(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"


def spoken(draw: st.DrawFn, step_id: str, path: Path) -> tuple[list[Chunk], MessagePart]:
    deltas = draw(texts)
    said = [TextDelta(step_id, path, delta) for delta in deltas]
    text = "".join(deltas)
    if draw(flags):
        return [PartStart(step_id, path, TextPart()), *said, PartFinish(step_id, path)], Text(text)
    return [
        PartStart(step_id, path, ReasoningPart()),
        *said,
        PartFinish(step_id, path),
    ], Reasoning(text)


def cut(draw: st.DrawFn, text: str) -> list[str]:
    at = draw(st.integers(0, len(text)))
    return [text[:at], text[at:]]


def called(draw: st.DrawFn, step_id: str, path: Path, ids: Ids) -> tuple[list[Chunk], MessagePart]:
    args = draw(st.none() | objects)
    part = ToolCallPart(ids.new("call"), draw(names), draw(dispositions))
    final = "invalid" if args is None or draw(flags) else part.disposition
    pending = final in ("client", "approval") and draw(flags)
    args_text = draw(st.sampled_from(['{"a', "[1]"])) if args is None else json.dumps(args)
    call = ToolCall(part.tool_call_id, part.tool_name, args_text, args, final)
    if final == "approval":
        call = replace(call, approval=Approval(call.tool_call_id))
    chunks: list[Chunk] = [PartStart(step_id, path, part)]
    chunks += [TextDelta(step_id, path, delta) for delta in cut(draw, args_text)]
    chunks += [ArgsFinish(step_id, path, args, final)]
    if not pending:
        end, result = draw(rejections if final == "invalid" else ends)
        call = replace(call, end=end, result=result, result_id=ids.new("r"))
        chunks += [Result(step_id, path, result, end, str(call.result_id))]
    return [*chunks, PartFinish(step_id, path)], call


def interleaved(
    draw: st.DrawFn, parts: Sequence[list[Chunk]], *, noise: Sequence[Chunk]
) -> list[Chunk]:
    """The chunks of all parts, each part's own in order, the parts' starts in order."""
    waiting, live, chunks = [list(part) for part in parts], list[list[Chunk]](), list[Chunk]()
    while waiting or live:
        if waiting and (not live or draw(flags)):
            live.append(waiting.pop(0))
            source = live[-1]
        else:
            source = draw(st.sampled_from(live))
        chunks.append(source.pop(0))
        live = [part for part in live if part]
        if draw(flags):
            chunks.append(draw(st.sampled_from(noise)))
    return chunks


@st.composite
def steps(draw: st.DrawFn, ids: Ids, message_id: str, first_path: int) -> tuple[list[Chunk], Step]:
    drawn: list[tuple[list[Chunk], MessagePart]] = []
    step_id = ids.new("s")
    for number in range(first_path, first_path + draw(st.integers(0, 4))):
        is_call, path = draw(flags), (number,)
        part = called(draw, step_id, path, ids) if is_call else spoken(draw, step_id, path)
        drawn.append(part)
    step = Step(step_id, tuple(part for _, part in drawn), draw(st.just("stop")), draw(usages))
    calls = [part.tool_call_id for _, part in drawn if isinstance(part, ToolCall)]
    noise: list[Chunk] = [Custom({"a": None})]
    noise += [ToolProgress(id, 1) for id in [*calls, "other"]]
    said = interleaved(draw, [chunks for chunks, _ in drawn], noise=noise)
    start = StepStart(message_id, step.step_id)
    assert step.usage is not None
    return [start, *said, StepFinish(step_id, step.finish_reason, step.usage)], step


def decided_on(draw: st.DrawFn, step: Step) -> Step:
    """The step of an earlier run: of its calls that asked for an approval some got it, and of these
    some are to run."""
    parts = (
        decided(draw, part) if isinstance(part, ToolCall) and part.awaits_approval else part
        for part in step.parts
    )
    return replace(step, parts=tuple(parts))


def decided(draw: st.DrawFn, call: ToolCall) -> ToolCall:
    """A call that waits for an approval, or one that has got it, or not got it."""
    how = draw(st.sampled_from(["waiting", "asked again", "approved", "ran", "declined"]))
    id, reason = call.tool_call_id, draw(st.none() | st.just("Why."))
    match how:
        case "asked again":
            return replace(call, approval=Approval(f"{id}.2", may_have_run=True))
        case "approved" | "ran":
            args = draw(st.none() | objects)
            approved = replace(call, approval=Approval(id, False, True, "Ann", reason, args))
            return approved if how == "approved" else settle_call(approved, ran(draw, id))
        case "declined":
            refused = replace(call, approval=Approval(id, False, False, None, reason))
            return settle_call(refused, declined(id))
    return call


def ran(draw: st.DrawFn, call_id: str) -> ToolSettled:
    end, result = draw(ends)
    return ToolSettled(call_id, end, result, f"r-{call_id}")


def declined(call_id: str) -> ToolSettled:
    error = {"code": "declined", "message": "The user declined this call."}
    return ToolSettled(call_id, "declined", {"error": error}, f"r-{call_id}")


@dataclass
class Decisions:
    """What a run brings and tells of calls of earlier runs."""

    begin: list[Chunk]
    """The decisions, and the ends of these calls."""
    end: list[Chunk]
    """The questions that are open again."""
    turn: AssistantTurn
    """The message with the decisions alone: what the client holds that posted them."""


def decisions(draw: st.DrawFn, turn: AssistantTurn) -> Decisions:
    told = Decisions([], [], turn)
    for call in turn.parts:
        if not (isinstance(call, ToolCall) and call.approval and call.end is None and draw(flags)):
            continue
        id = call.tool_call_id
        is_approved = bool(call.approval.approved) or draw(flags)
        decision = ToolApproval(id, Approval(call.approval.id, False, is_approved, None, "So."))
        told.begin.append(decision)
        told.turn = settled(told.turn, [decision])
        if not is_approved:
            told.begin.append(declined(id))
        elif draw(flags):
            told.begin.append(ran(draw, id))
        else:
            told.end.append(ToolApproval(id, Approval(f"{id}.3", may_have_run=True)))
    return told


def settled(turn: AssistantTurn, chunks: Sequence[Chunk]) -> AssistantTurn:
    changed: Turn = turn
    for chunk in chunks:
        if isinstance(chunk, ToolSettled | ToolApproval):
            changed = settle_turn(changed, chunk)
    assert isinstance(changed, AssistantTurn)
    return changed


def reviews(draw: st.DrawFn, turn: AssistantTurn) -> list[Chunk]:
    """A graph that is not ours has stopped to ask about calls that it does not run by itself."""
    calls = [part for part in turn.parts if isinstance(part, ToolCall)]
    open_calls = [call.tool_call_id for call in calls if call.end is None and not call.approval]
    asks: bool = draw(flags)
    if not (open_calls and asks):
        return []
    return [Interrupt("i1", {"question": 1}, "review", tool_call_ids=tuple(open_calls))]


@st.composite
def histories(draw: st.DrawFn, ids: Ids) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    for _ in range(draw(st.integers(0, 2))):
        content = draw(
            st.lists(
                st.builds(TextContent, st.text(min_size=1, max_size=3))
                | st.just(ImageContent("data:image/png;base64,AAAA")),
                min_size=1,
                max_size=2,
            )
        )
        turns.append(UserTurn(ids.new("u"), tuple(content)))
        message_id = ids.new("m")
        said = draw(st.lists(steps(ids, message_id, 0), max_size=2))
        told = [decided_on(draw, step) for _, step in said]
        turns.append(AssistantTurn(message_id, tuple(told), "stop"))
    return tuple(turns)


@dataclass
class Source:
    """A step that is being told, and the paths of its parts so far."""

    step: Step
    chunks: list[Chunk]
    paths: list[Path] = field(default_factory=list)

    def next(self, started: int) -> Chunk:
        chunk = self.chunks.pop(0)
        match chunk:
            case PartStart():
                self.paths.append((started,))
                return replace(chunk, path=(started,))
            case TextDelta() | ArgsFinish() | Result() | PartFinish():
                return replace(chunk, path=self.paths[chunk.path[0]])
        return chunk

    def withdrawn(self) -> StepWithdrawn:
        return StepWithdrawn(self.step.step_id, tuple(number for (number,) in self.paths))


def merged(
    draw: st.DrawFn, steps: Sequence[tuple[list[Chunk], Step]], *, beside: bool
) -> tuple[list[Chunk], list[Step]]:
    """Steps told one after the other, or beside each other; some are withdrawn at their end."""
    waiting = [Source(step, list(said)) for said, step in steps]
    live, kept, chunks = list[Source](), [step for _, step in steps], list[Chunk]()
    while waiting or live:
        if waiting and (not live or (beside and draw(flags))):
            source = waiting.pop(0)
            live.append(source)
        else:
            source = draw(st.sampled_from(live))
        started = sum(isinstance(chunk, PartStart) for chunk in chunks)
        chunks.append(source.next(started))
        if not source.chunks:
            live.remove(source)
            if draw(st.integers(0, 3)) == 0:
                chunks.append(source.withdrawn())
                kept.remove(source.step)
    return chunks, kept


@st.composite
def runs(draw: st.DrawFn, *, beside: bool = True) -> Run:
    ids = Ids()
    turns = draw(histories(ids))
    goes_on = draw(flags)
    continued = turns[-1] if turns and goes_on else None
    if continued is None:
        turns = (*turns, UserTurn(ids.new("u"), (TextContent("Go on"),)))
    earlier = continued.steps if isinstance(continued, AssistantTurn) else ()
    message_id = continued.id if continued else ids.new("m")
    drawn = [draw(steps(ids, message_id, 0)) for _ in range(draw(st.integers(1, 3)))]
    chunks, new = merged(draw, drawn, beside=beside)
    about = decisions(draw, AssistantTurn(message_id, earlier))
    # A run that adds nothing ends as the thread does already.
    reason = earlier[-1].finish_reason if earlier and not new else "other"
    said_now = AssistantTurn(message_id, tuple(new), reason)
    begun = settled(AssistantTurn(message_id, earlier), [*about.begin, *about.end])
    asked = reviews(draw, replace(begun, steps=(*begun.steps, *new)))
    chunks = [*about.begin, *chunks, *asked, *about.end]
    error = draw(st.none() | st.just(Error("model_failed", "The model failed.", "e7")))
    ended = draw(st.none() | run_ends)
    if ended:
        chunks.append(ended)
    if error:
        chunks.append(error)
    usage = sum((step.usage for step in new if step.usage), start=Usage(0, 0))
    chunks += [MessageFinish(reason, usage), Done()]
    questions = [
        ToolApproval(id, question)
        for chunk in asked
        if isinstance(chunk, Interrupt)
        for id, question in chunk.approvals.items()
    ]
    said_now = settled(replace(said_now, ended=ended), questions)
    return Run(
        StreamContext("thread-1", message_id, turns),
        chunks,
        replace(said_now, steps=(*settled(begun, questions).steps, *said_now.steps)),
        said_now,
        about.turn,
    )


def encode(run: Run, format: WireFormat, view: View = None, *, replay: bool = False) -> list[str]:
    """What a client reads: through the bytes, after the prologue."""
    encoder = format.encoder(run.context, view)
    stream = frame(format.prologue(run.context, view, replay), None)
    for number, chunk in enumerate(run.chunks, start=1):
        stream += frame(encoder.encode(chunk), f"run:{number}")
    return payloads(stream)


def posted_states(turns: Sequence[Turn]) -> list[Any]:
    """What a client may hold when it posts: nothing, the thread, less, more, or something else."""
    known = state_snapshot(turns, "thread-1")
    messages = known["messages"]
    return [
        None,
        {},
        {"messages": "none", "thread_id": "thread-1"},
        known,
        {**known, "messages": messages[:-1]},
        {**known, "messages": [*messages, *messages, {"type": "human", "id": "x"}]},
        {**known, "messages": [{"type": "human"}, *messages[1:]]},
        {**known, "thread_id": "another"},
        {**known, "approvals": {"gone": {"id": "gone"}}},
    ]


def plain(state: dict[str, Any]) -> dict[str, Any]:
    """A state cannot lose a key: without approvals it may be left with an empty object."""
    return {key: value for key, value in state.items() if key != "approvals" or value}


@given(runs(), st.data())
@RUNS
def test_the_state_becomes_the_snapshot_of_the_thread(run: Run, data: st.DataObject) -> None:
    posted = data.draw(st.sampled_from(posted_states(run.context.turns)))
    said = encode(run, PARTS, view={} if posted is None else posted)
    assert plain(decoded_state(posted, said)) == state_snapshot(run.after, "thread-1")


@given(runs())
@RUNS
def test_the_whole_thread_is_sent_once_at_the_most(run: Run) -> None:
    """However many steps are withdrawn: a list that loses messages has to be sent whole."""
    encoder = PARTS.encoder(run.context, {})
    said = [json.loads(payload) for chunk in run.chunks[:-1] for payload in encoder.encode(chunk)]
    operations = [op for payload in said for op in payload.get("operations", ())]
    assert sum(operation["path"] == ["messages"] for operation in operations) <= 1


@given(runs(), st.data())
@RUNS
def test_a_replay_on_top_of_any_moment_of_the_run_converges(run: Run, data: st.DataObject) -> None:
    first = encode(run, PARTS, view={})
    seen = first[: data.draw(st.integers(0, len(first)))]
    held = decoded_state({"messages": []}, seen)
    again = encode(run, PARTS, view=held)
    assert plain(decoded_state(held, again)) == state_snapshot(run.after, "thread-1")


@given(runs())
@RUNS
def test_the_parts_become_the_message_of_the_hydrated_thread(run: Run) -> None:
    built = accumulated(encode(run, PARTS))
    (hydrated,) = PARTS.snapshot([run.said])
    states = [part["state"] for part in hydrated["parts"] if part["type"] == "tool-call"]
    calls = [part for part in run.said.parts if isinstance(part, ToolCall)]
    assert states == [call.end or "pending" for call in calls]
    assert built["id"] == hydrated["id"]
    assert built["parts"] == hydrated["parts"]
    assert built["usage"] == hydrated.get("usage", {"inputTokens": 0, "outputTokens": 0})
    assert built["steps"] == hydrated["steps"]


@given(runs())
@RUNS
def test_assistant_transport_says_every_chunk_in_one_payload(run: Run) -> None:
    encoder = PARTS.encoder(run.context, None)
    assert PARTS.prologue(run.context, None, True) == []
    assert [len(encoder.encode(chunk)) for chunk in run.chunks] == [1] * len(run.chunks)


@given(runs())
@RUNS
def test_the_state_goes_beside_the_very_same_parts(run: Run) -> None:
    plain = encode(run, PARTS)
    both = encode(run, PARTS, view={})
    assert [said for said in both if '"type":"update-state"' not in said] == plain


@given(runs(beside=False))
@RUNS
def test_use_chat_becomes_the_message_of_the_hydrated_thread(run: Run) -> None:
    (hydrated,) = UI.snapshot([run.turn])
    live = UIMessageReader(held_parts(run)).read(encode(run, UI))
    replayed = UIMessageReader().read(encode(run, UI, replay=True))
    undecided = [without_decision(part) for part in hydrated["parts"]]
    for reader, parts in ((live, hydrated["parts"]), (replayed, undecided)):
        assert reader.id == hydrated["id"]
        assert with_ids_of(parts, reader.kept_parts) == parts
        # A turn that keeps no step has counted nothing; its stream says so in numbers.
        nothing = {"usage": {"inputTokens": 0, "outputTokens": 0}}
        assert reader.metadata == nothing | hydrated.get("metadata", {})
        assert reader.aborted == (run.turn.ended is not None)


def held_parts(run: Run) -> list[dict[str, Any]]:
    """What the client has of the message when the run begins."""
    parts: list[dict[str, Any]] = UI.snapshot([run.held])[0]["parts"]
    return parts


def without_decision(part: dict[str, Any]) -> dict[str, Any]:
    """The part for a reader that begins with the message: no chunk says that a call was approved,
    nor why it was declined."""
    approval = part.get("approval", {})
    if "approved" not in approval:
        return part
    if part["state"] == "output-denied":
        return {**part, "approval": {"id": approval["id"]}}
    state = "input-available" if part["state"] == "approval-responded" else part["state"]
    return {key: value for key, value in {**part, "state": state}.items() if key != "approval"}


def with_ids_of(
    loaded: Sequence[dict[str, Any]], parts: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """A reasoning's id counts the parts that were withdrawn ahead of it."""
    ids = (part["id"] for part in loaded if part["type"] == "reasoning")
    return [{**part, "id": next(ids, "")} if "id" in part else part for part in parts]


def told_in_any_order(parts: Sequence[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps({**part, "id": ""}, sort_keys=True) for part in parts)


@given(runs())
@RUNS
def test_use_chat_keeps_the_parts_of_steps_beside_each_other(run: Run) -> None:
    """In the order of their first words, which is not that of a loaded message."""
    (hydrated,) = UI.snapshot([run.turn])
    reader = UIMessageReader(held_parts(run)).read(encode(run, UI))
    assert told_in_any_order(reader.kept_parts) == told_in_any_order(hydrated["parts"])


@given(runs())
@RUNS
def test_use_chat_runs_only_the_calls_that_wait_for_it(run: Run) -> None:
    reader = UIMessageReader(held_parts(run)).read(encode(run, UI))
    withdrawn = {number for c in run.chunks if isinstance(c, StepWithdrawn) for number in c.parts}
    waiting = [
        call.tool_call_id
        for call in run.said.parts
        if isinstance(call, ToolCall) and call.disposition == "client"
    ]
    starts = [chunk.part for chunk in run.chunks if isinstance(chunk, PartStart)]
    gone = [getattr(part, "tool_call_id", "") for n, part in enumerate(starts) if n in withdrawn]
    assert sorted(set(reader.tool_calls) - set(gone)) == sorted(waiting)


@given(runs())
@RUNS
def test_only_the_prologue_depends_on_the_reader(run: Run) -> None:
    """Readers of one variant share the encoded chunks, whatever their views and replays."""
    posted = {"thread_id": "thread-1", "messages": []}
    both: Sequence[tuple[WireFormat, Sequence[View]]] = (
        (PARTS, ({}, posted)),
        (PARTS, (None, None)),
        (UI, (None, posted)),
        (AG_UI, (None, [])),
    )
    for format, views in both:
        assert len({format.variant(view) for view in views}) == 1
        one, other = (format.encoder(run.context, view) for view in views)
        format.prologue(run.context, views[1], True)
        assert [one.encode(c) for c in run.chunks] == [other.encode(c) for c in run.chunks]
    assert PARTS.variant(None) != PARTS.variant({})


@given(runs())
@RUNS
def test_a_stream_that_needs_no_turns_is_the_same_without_them(run: Run) -> None:
    bare = replace(run, context=replace(run.context, turns=()))
    header = header_of(run)
    for format, view in ((PARTS, None), (PARTS, {}), (UI, None)):
        if not format.needs_turns(header, view):
            assert encode(run, format, view, replay=True) == encode(bare, format, view, replay=True)
    assert PARTS.needs_turns(header, {})
    assert AG_UI.needs_turns(header, None)
    assert UI.needs_turns(header, None) == header.continues


def header_of(run: Run) -> RunHeader:
    return RunHeader(
        key=ThreadKey(LOCAL_OWNER, "thread-1"),
        run_id="run",
        graph="chat",
        message_id=run.context.message_id,
        user_message_id="u",
        wire_format=PARTS.name,
        checkpoint_id=None,
        continues=run.context.continued is not None,
    )
