"""LangGraph's stream to chunks, from items made by hand."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from tests.support import chunk_grammar
from tests.support.sample_tools import add
from tests.support.scripted_model import call, finish, reasoning, text
from turnstream.graphs.answers import answer, failed
from turnstream.graphs.calls import parse_args
from turnstream.graphs.classify import Classifier
from turnstream.graphs.result_view import own_result
from turnstream.graphs.stored import Ended, ai_metadata
from turnstream.server.runs.failures import Failure
from turnstream.server.runs.thread_changes import ThreadBefore
from turnstream.server.runs.translate import Translator
from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    Disposition,
    Done,
    Error,
    MessageFinish,
    PartFinish,
    PartStart,
    ReasoningPart,
    Result,
    RunEnded,
    StepFinish,
    StepStart,
    TextDelta,
    TextPart,
    ToolCallPart,
    ToolSettled,
    Usage,
)
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.ui import request_user_selection

ASK = "request_user_selection"
CLASSIFIER = Classifier(
    Catalogue((add.model_copy(update={"name": "t"}),), (request_user_selection,))
)
DISPOSITIONS: dict[str, Disposition] = {"t": "server", ASK: "client"}
FAILED = Failure("model_error", "It failed.", "e1")
STOPPED: Ended = {"reason": "stopped"}


def translator(*history: AnyMessage) -> Translator:
    before = ThreadBefore([HumanMessage("Go", id="u1"), *history])
    return Translator("u1.a", before, CLASSIFIER, own_result)


def streams(step_id: str, *chunks: BaseMessage) -> list[dict[str, Any]]:
    """A model's message as it streams under its id."""
    said = [chunk.model_copy(update={"id": step_id}) for chunk in chunks]
    return [{"type": "messages", "data": (chunk, {})} for chunk in said]


def stores(node: str, *messages: BaseMessage) -> dict[str, Any]:
    return {"type": "updates", "data": {node: {"messages": list(messages)}}}


def stored(
    step_id: str,
    *calls: tuple[str, str],
    reason: str = "stop",
    said: str = "",
    **metadata: Any,
) -> AIMessage:
    """The model's message as the thread keeps it; calls by id and name, all valid."""
    metadata.setdefault("dispositions", [DISPOSITIONS[name] for _, name in calls])
    return AIMessage(
        said,
        id=step_id,
        tool_calls=[{"type": "tool_call", "id": i, "name": n, "args": {}} for i, n in calls],
        usage_metadata={"input_tokens": 7, "output_tokens": 5, "total_tokens": 12},
        response_metadata=ai_metadata(run_id="run-1", finish_reason=reason, **metadata),
    )


def result(call_id: str, content: str = "1") -> ToolMessage:
    call: Any = {"type": "tool_call", "id": call_id, "name": "t", "args": {}}
    message = answer(call, content, "result")
    message.id = f"result-{call_id}"
    return message


def fed(translator: Translator, *items: Any) -> list[Chunk]:
    flat = [one for item in items for one in (item if isinstance(item, list) else [item])]
    return [chunk for item in flat for chunk in translator.feed(item)]


def whole(*items: Any) -> list[Chunk]:
    """The chunks of a run that came to its end."""
    told = translator()
    chunks = [*fed(told, *items), *told.finish()]
    chunk_grammar.check(chunks)
    return chunks


def test_text_streams_in_one_part_of_one_step() -> None:
    chunks = whole(
        streams("s1", text("Hel"), text("lo."), finish()),
        stores("agent", stored("s1", said="Hello.")),
    )
    assert chunks == [
        StepStart("u1.a", "s1"),
        PartStart("s1", (0,), TextPart()),
        TextDelta("s1", (0,), "Hel"),
        TextDelta("s1", (0,), "lo."),
        PartFinish("s1", (0,)),
        StepFinish("s1", "stop", Usage(7, 5)),
        MessageFinish("stop", Usage(7, 5)),
        Done(),
    ]


def test_a_call_stays_open_until_its_result() -> None:
    chunks = whole(
        streams("s1", call('{"a"', name="t", id="c1"), call(":1}"), finish("tool_calls")),
        stores("agent", stored("s1", ("c1", "t"))),
        stores("tools", result("c1", '{"n": 1}')),
        streams("s2", text("One."), finish()),
        stores("agent", stored("s2", said="One.")),
    )
    assert chunks[1:9] == [
        PartStart("s1", (0,), ToolCallPart("c1", "t")),
        TextDelta("s1", (0,), '{"a"'),
        TextDelta("s1", (0,), ":1}"),
        ArgsFinish("s1", (0,), {"a": 1}),
        Result("s1", (0,), {"n": 1}, "result", "result-c1"),
        PartFinish("s1", (0,)),
        StepFinish("s1", "tool-calls", Usage(7, 5)),
        StepStart("u1.a", "s2"),
    ]
    assert chunks[-2] == MessageFinish("stop", Usage(14, 10))


def test_fragments_of_parallel_calls_have_the_paths_of_their_parts() -> None:
    chunks = whole(
        streams(
            "s1",
            text("Two: "),
            call('{"a"', name="t", id="c1", index=0),
            call('{"b"', name="t", id="c2", index=1),
            call(":1}", index=0),
            call(":2}", index=1),
        ),
        stores("agent", stored("s1", ("c1", "t"), ("c2", "t"))),
        stores("tools", result("c2")),
        stores("tools", result("c1")),
    )
    deltas = [(chunk.path, chunk.text) for chunk in chunks if isinstance(chunk, TextDelta)]
    assert deltas[1:] == [((1,), '{"a"'), ((2,), '{"b"'), ((1,), ":1}"), ((2,), ":2}")]
    results = [chunk.path for chunk in chunks if isinstance(chunk, Result)]
    assert results == [(2,), (1,)], "as they come"


def test_paths_go_on_in_the_next_step() -> None:
    chunks = whole(
        streams("s1", text("A"), call("{}", name="t", id="c1")),
        stores("agent", stored("s1", ("c1", "t"))),
        stores("tools", result("c1")),
        streams("s2", text("B")),
        stores("agent", stored("s2")),
    )
    assert [c for c in chunks if isinstance(c, TextDelta)][-1] == TextDelta("s2", (2,), "B")


def test_reasoning_is_a_part_of_its_own() -> None:
    chunks = whole(streams("s1", reasoning("Hm."), text("Yes.")), stores("agent", stored("s1")))
    parts = [chunk.part for chunk in chunks if isinstance(chunk, PartStart)]
    assert parts == [ReasoningPart(), TextPart()]


def test_a_model_that_does_not_stream_gives_the_same_parts() -> None:
    calls: Any = [{"type": "tool_call", "id": "c1", "name": "t", "args": {"a": 1}}]
    done = [stores("agent", stored("s1", ("c1", "t"))), stores("tools", result("c1"))]
    at_once = whole(streams("s1", AIMessage("Hello.", tool_calls=calls)), *done)
    streamed = whole(streams("s1", text("Hello."), call('{"a":1}', name="t", id="c1")), *done)
    assert at_once == streamed


def test_a_message_that_is_said_again_when_it_is_stored_is_not_repeated() -> None:
    once = [streams("s1", text("Hello.")), stores("agent", stored("s1"))]
    assert whole(*once, streams("s1", AIMessage("Hello."))) == whole(*once)


def test_arguments_that_never_come_are_the_empty_object() -> None:
    chunks = whole(
        streams("s1", call("", name="t", id="c1"), finish("tool_calls")),
        stores("agent", stored("s1", ("c1", "t"))),
        stores("tools", result("c1")),
    )
    assert chunks[2:4] == [TextDelta("s1", (0,), "{}"), ArgsFinish("s1", (0,), {})]


def test_broken_arguments_finish_without_a_value() -> None:
    refused = stored("s1", ("c1", "t"), dispositions=["invalid"])
    chunks = whole(
        streams("s1", call('{"a": 1, "b', name="t", id="c1")),
        stores("agent", refused, failed_answer("c1")),
    )
    assert PartStart("s1", (0,), ToolCallPart("c1", "t", "server")) in chunks
    assert ArgsFinish("s1", (0,), None, "invalid") in chunks


def failed_answer(call_id: str) -> ToolMessage:
    call: Any = {"type": "tool_call", "id": call_id, "name": "t", "args": {}}
    return failed(call, "invalid_json", "Not JSON.")


def test_a_question_stays_without_result_and_the_turn_waits() -> None:
    chunks = whole(
        streams("s1", call("{}", name=ASK, id="c1"), finish("tool_calls")),
        stores("agent", stored("s1", ("c1", ASK))),
    )
    assert PartStart("s1", (0,), ToolCallPart("c1", ASK, "client")) in chunks
    assert ArgsFinish("s1", (0,), {}, "client") in chunks
    assert not any(isinstance(chunk, Result) for chunk in chunks)
    assert chunks[-3:-1] == [
        StepFinish("s1", "tool-calls", Usage(7, 5)),
        MessageFinish("tool-calls", Usage(7, 5)),
    ]


def test_the_final_disposition_is_the_messages_and_not_the_names() -> None:
    chunks = whole(
        streams("s1", call("{}", name="t", id="c1"), call("{}", name=ASK, id="c2", index=1)),
        stores(
            "agent",
            stored("s1", ("c1", "t"), ("c2", ASK), dispositions=["client", "invalid"]),
            failed_answer("c2"),
        ),
    )
    assert [c.disposition for c in chunks if isinstance(c, ArgsFinish)] == ["client", "invalid"]


def test_a_message_that_carries_no_dispositions_has_those_of_its_calls_names() -> None:
    """A graph that is not ours made it; it may have given a call another id than streamed."""
    calls: Any = [
        {"type": "tool_call", "id": "c1", "name": "t", "args": {}},
        {"type": "tool_call", "id": "another", "name": ASK, "args": {}},
    ]
    chunks = whole(
        streams("s1", call("{}", name="t", id="c1"), call("{}", name=ASK, id="c2", index=1)),
        stores("model", AIMessage("", id="s1", tool_calls=calls)),
        stores("tools", result("c1")),
    )
    assert [c.disposition for c in chunks if isinstance(c, ArgsFinish)] == ["server", "client"]


def test_the_finish_reason_is_the_providers_in_our_words() -> None:
    for given, ours in (("length", "length"), ("content_filter", "content-filter"), ("x", "other")):
        chunks = whole(streams("s1", text("A")), stores("agent", stored("s1", reason=given)))
        finished = [c.reason for c in chunks if isinstance(c, StepFinish | MessageFinish)]
        assert finished == [ours, ours]


def test_a_broken_budget_is_told_before_the_end() -> None:
    limit: Ended = {"reason": "limit", "limit": "max_steps", "value": 1}
    chunks = whole(streams("s1", text("A")), stores("agent", stored("s1", ended=limit)))
    assert chunks[-3:-1] == [
        RunEnded("limit", "max_steps", 1),
        MessageFinish("other", Usage(7, 5)),
    ]


def test_a_call_of_an_earlier_run_that_is_closed_is_told_as_data() -> None:
    told = translator(stored("s0", ("c0", ASK)))
    [chunk] = fed(told, stores("agent", result("c0", '{"value": "x"}')))
    assert chunk == ToolSettled("c0", "result", {"value": "x"}, "result-c0")
    assert fed(told, stores("agent", result("c0"))) == [], "and only once"


def test_the_graphs_other_words_are_passed_over() -> None:
    items: list[Any] = [
        {"type": "messages", "data": (ToolMessage("1", tool_call_id="c1", id="t"), {})},
        {"type": "messages", "data": (AIMessage("no id"), {})},
        {"type": "updates", "data": {"node": None, "other": {"counter": 1}}},
        {"type": "tools", "data": {"event": "tool-started", "tool_call_id": "c1"}},
        {"type": "values", "data": {"anything": True}},
    ]
    assert fed(translator(), *items) == []


def settled_run(
    items: Sequence[Any], answers: Sequence[ToolMessage] = (), **end: Any
) -> list[Chunk]:
    told = translator()
    chunks = [*fed(told, *items), *told.finalize(answers, **end)]
    chunk_grammar.check(chunks)
    return chunks


def test_a_run_that_is_stopped_in_mid_text_closes_its_part_and_step() -> None:
    chunks = settled_run([streams("s1", text("Hel"))], ended=STOPPED)
    assert chunks[3:] == [
        PartFinish("s1", (0,)),
        StepFinish("s1", "other", Usage(0, 0)),
        RunEnded("stopped"),
        MessageFinish("other", Usage(0, 0)),
        Done(),
    ]


def test_a_run_that_fails_settles_its_calls_then_tells_the_error_then_ends() -> None:
    items = [
        streams("s1", text("A"), call('{"a": 1, "b', name="t", id="c1")),
    ]
    chunks = settled_run(items, [failed_answer("c1")], failed=FAILED)
    kinds = [type(chunk) for chunk in chunks]
    assert kinds[-7:] == [
        ArgsFinish,
        Result,
        PartFinish,
        StepFinish,
        Error,
        MessageFinish,
        Done,
    ]
    assert chunks[-2] == MessageFinish("error", Usage(0, 0))


def test_arguments_that_were_whole_when_the_run_was_cut_are_told_as_such() -> None:
    cut = streams("s1", call('{"a":1}', name="t", id="c1"), call("", name="t", id="c2", index=1))
    chunks = settled_run([cut], [failed_answer("c1"), failed_answer("c2")], ended=STOPPED)
    finished = {c.path: c.args for c in chunks if isinstance(c, ArgsFinish)}
    assert finished == {(0,): parse_args('{"a":1}'), (1,): {}}


def test_a_call_that_was_cut_off_ends_as_invalid_whoever_was_expected_to_end_it() -> None:
    cut = streams("s1", call("{}", name=ASK, id="c1"), call("{}", name="t", id="c2", index=1))
    chunks = settled_run([cut], [failed_answer("c1"), failed_answer("c2")], ended=STOPPED)
    parts = [chunk.part for chunk in chunks if isinstance(chunk, PartStart)]
    assert parts == [ToolCallPart("c1", ASK, "client"), ToolCallPart("c2", "t", "server")]
    assert [c.disposition for c in chunks if isinstance(c, ArgsFinish)] == ["invalid", "invalid"]


def test_a_run_that_fails_before_the_first_word_still_ends_in_order() -> None:
    assert [type(c) for c in settled_run([], failed=FAILED)] == [Error, MessageFinish, Done]


def test_results_that_came_before_the_end_are_not_told_twice() -> None:
    items = [
        streams("s1", call("{}", name="t", id="c1"), call("{}", name="t", id="c2", index=1)),
        stores("agent", stored("s1", ("c1", "t"), ("c2", "t"))),
        stores("tools", result("c1")),
    ]
    chunks = settled_run(items, [result("c1"), failed_answer("c2")], ended=STOPPED)
    assert [c.path for c in chunks if isinstance(c, Result)] == [(0,), (1,)]


def test_a_call_that_nobody_could_answer_is_cancelled_on_the_wire_all_the_same() -> None:
    chunks = settled_run([streams("s1", call('{"a":1}', name="t", id="c1"))], failed=FAILED)
    [ended] = [chunk for chunk in chunks if isinstance(chunk, Result)]
    assert ended.end == "cancelled"
