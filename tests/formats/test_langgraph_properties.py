"""Whatever a run says: what clients of LangGraph's SDK build of it is what the thread shows, also
if they are cut off between any two events."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.formats.test_protocol_properties import RUNS, Run, runs
from tests.support.langgraph_reader import Frame, LangGraphReader, named_frames
from turnstream.server.formats import WIRE_FORMATS
from turnstream.server.formats.format import NamedEvent
from turnstream.server.formats.langgraph.snapshot import messages, open_interrupts
from turnstream.server.http.event_streams import frame
from turnstream.server.turns.chunks import Error, Interrupt

FORMAT = WIRE_FORMATS["langgraph"]
OTHERS = [format for name, format in WIRE_FORMATS.items() if name != "langgraph"]
TUPLES, UPDATES = frozenset({"messages-tuple"}), frozenset({"updates"})
MODES = st.sampled_from([None, TUPLES, UPDATES, frozenset({"values"}), frozenset[str]()])


def told(run: Run, view: Any = None) -> list[Frame]:
    """All frames of a run, ahead of the first event too."""
    encoder = FORMAT.encoder(run.context, view)
    stream = frame(FORMAT.prologue(run.context, view, True), None)
    for number, chunk in enumerate(run.chunks, start=1):
        stream += frame(encoder.encode(chunk), f"run:{number}")
    return named_frames(stream)


def held_before(run: Run) -> LangGraphReader:
    """A client that has the thread as the run begins."""
    reader = LangGraphReader()
    for message in messages(run.context.turns):
        reader.hold(message)
    return reader


def expected(run: Run) -> dict[str, Any]:
    reader = LangGraphReader()
    for message in messages(run.after):
        reader.hold(message)
    return reader.built


@given(runs())
@RUNS
def test_the_chunks_of_messages_add_up_to_the_thread(run: Run) -> None:
    assert held_before(run).read(told(run, TUPLES)).built == expected(run)


@given(runs())
@RUNS
def test_updates_add_up_to_the_thread(run: Run) -> None:
    assert held_before(run).read(told(run, UPDATES)).built == expected(run)


@given(runs())
@RUNS
def test_the_last_values_are_the_thread_and_what_it_waits_for(run: Run) -> None:
    reader = LangGraphReader().read(told(run))
    asked = open_interrupts(run.after, [c for c in run.chunks if isinstance(c, Interrupt)])
    assert reader.values["messages"] == messages(run.after)
    assert reader.values.get("__interrupt__") == asked == reader.interrupts
    values = [one.data for one in told(run) if one.event == "values"]
    assert values[0] == {"messages": messages(run.context.turns)}
    # A client takes nothing else from values that have interrupts.
    assert values[1] == {"messages": messages(run.after)}


@given(runs(), st.sampled_from([TUPLES, UPDATES]), st.data())
@RUNS
def test_who_is_cut_off_between_two_events_misses_and_doubles_nothing(
    run: Run, modes: frozenset[str], data: st.DataObject
) -> None:
    frames = told(run, modes)
    cut = data.draw(st.integers(0, len(frames) - 1))
    reader = held_before(run).read(frames[:cut])
    ids = [one.id for one in frames[:cut] if one.id]
    reader.read(_behind(frames, ids[-1]) if ids else frames)
    assert reader.built == expected(run)


def _behind(frames: Sequence[Frame], id: str) -> Sequence[Frame]:
    return frames[[one.id for one in frames].index(id) + 1 :]


@given(runs(), MODES)
@RUNS
def test_the_first_event_is_metadata_and_the_last_the_only_end(run: Run, view: Any) -> None:
    frames = told(run, view)
    failed = any(isinstance(chunk, Error) for chunk in run.chunks)
    assert frames[0].event == "metadata"
    assert LangGraphReader().read(frames).ends == ["error" if failed else "end"]
    assert frames[-1].id == f"run:{len(run.chunks)}"
    if failed:
        assert frames[-1].data == {
            "error": "model_failed",
            "message": "The model failed.",
            "id": "e7",
        }


@given(runs())
@RUNS
def test_events_are_named_in_this_format_alone(run: Run) -> None:
    for format in OTHERS:
        encoder = format.encoder(run.context, None)
        said = [payload for chunk in run.chunks for payload in encoder.encode(chunk)]
        assert not any(isinstance(payload, NamedEvent) for payload in said)
        assert b"event:" not in frame(said[:1], "run:1")


@given(runs())
@RUNS
def test_a_client_is_told_nothing_that_it_did_not_ask_for(run: Run) -> None:
    always = {"metadata", "end", "error"}
    for modes, names in (
        (TUPLES, {"messages"}),
        (UPDATES, {"updates"}),
        (frozenset({"values"}), {"values"}),
        (frozenset({"custom"}), {"custom"}),
        (frozenset({"tools"}), {"tools"}),
    ):
        assert {one.event for one in told(run, modes)} <= names | always
