"""Streams of graphs that are not ours: what was told is in the end what the thread has."""

from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langgraph.types import Overwrite

from tests.support import chunk_grammar
from turnstream.graphs.classify import Classifier
from turnstream.graphs.result_view import own_result
from turnstream.server.runs.speakers import Speakers
from turnstream.server.runs.thread_changes import ThreadBefore, ids_in
from turnstream.server.runs.transcript import Transcript
from turnstream.server.runs.translate import Translator
from turnstream.server.turns.accumulate import accumulate, is_in_order
from turnstream.server.turns.chunks import (
    Chunk,
    Custom,
    HistoryShortened,
    Interrupt,
    MessagesRemoved,
    StepStart,
    StepWithdrawn,
    TextDelta,
)
from turnstream.server.turns.messages import AssistantTurn, Text
from turnstream.tools.catalogue import Catalogue

HUMAN = HumanMessage("Go", id="u1")
FOREIGN = Classifier(Catalogue((), ()), unknown="server")


def translator(*history: AnyMessage, speakers: Speakers | None = None) -> Translator:
    before = ThreadBefore([*history, HUMAN])
    return Translator("u1.a", before, FOREIGN, own_result, speakers)


def says(
    id: str, text: str, node: str = "agent", task: str = "1", ns: tuple[str, ...] = ()
) -> dict[str, Any]:
    place = "|".join([*ns, f"{node}:{task}"])
    about = {"langgraph_node": node, "langgraph_checkpoint_ns": place}
    return {"type": "messages", "ns": ns, "data": (AIMessageChunk(content=text, id=id), about)}


def ends(node: str, *written: Any, task: str = "1") -> list[dict[str, Any]]:
    result = {"messages": list(written)} if written else {}
    begun = {"id": task, "name": node, "input": {}, "triggers": ()}
    done: dict[str, Any] = {
        "id": task,
        "name": node,
        "error": None,
        "result": result,
        "interrupts": [],
    }
    return [
        {"type": "tasks", "ns": (), "data": begun},
        {"type": "updates", "ns": (), "data": {node: result or None}},
        {"type": "tasks", "ns": (), "data": done},
    ]


def thread(*messages: BaseMessage, before: tuple[BaseMessage, ...] = ()) -> dict[str, Any]:
    values = {"messages": [*before, HUMAN, *messages]}
    return {"type": "values", "ns": (), "data": values, "interrupts": ()}


def ai(id: str, text: str, **more: Any) -> AIMessage:
    return AIMessage(text, id=id, **more)


def fed(told: Translator, *items: Any) -> list[Chunk]:
    flat = [one for item in items for one in (item if isinstance(item, list) else [item])]
    return [chunk for item in flat for chunk in told.feed(item)]


def whole(*items: Any) -> list[Chunk]:
    """The chunks of a run that came to its end, and left its thread as it told it."""
    told = translator()
    chunks = [*fed(told, *items), *told.finish()]
    chunk_grammar.check(chunks)
    kept = [item for item in items if isinstance(item, dict) and item["type"] == "values"]
    turns = Transcript(kept[-1]["data"]["messages"], {}, own_result).turns()
    spoken = [turn for turn in turns if isinstance(turn, AssistantTurn)]
    said = accumulate(chunks, "u1.a")
    assert [step.step_id for step in said.steps] == [s.step_id for t in spoken for s in t.steps]
    assert said.parts == (spoken[0].parts if spoken else ())
    if spoken:
        assert said.finish_reason == spoken[0].finish_reason
        assert [s.finish_reason for s in said.steps] == [s.finish_reason for s in spoken[0].steps]
    return chunks


def withdrawn(chunks: list[Chunk]) -> list[str]:
    return [chunk.step_id for chunk in chunks if isinstance(chunk, StepWithdrawn)]


def test_words_that_the_node_does_not_write_are_withdrawn_when_it_ends() -> None:
    answer = ai("m2", "Hello.")
    router = [says("m1", '{"to": "agent"}', "router"), *ends("router")]
    chunks = whole(*router, thread(), says("m2", "Hello."), *ends("agent", answer), thread(answer))
    assert withdrawn(chunks) == ["m1"]
    assert chunks.index(StepWithdrawn("m1", (0,))) < chunks.index(TextDelta("m2", (1,), "Hello."))


def test_models_that_speak_beside_each_other_stay_apart_and_end_in_the_threads_order() -> None:
    a, b = ai("a", "one two"), ai("b", "three four")
    chunks = whole(
        says("b", "three ", "worker", "2"),
        says("a", "one ", "worker", "1"),
        says("b", "four", "worker", "2"),
        says("a", "two", "worker", "1"),
        ends("worker", b, task="2"),
        ends("worker", a, task="1"),
        thread(a, b),
    )
    assert withdrawn(chunks) == ["b"]
    assert [c.text for c in chunks if isinstance(c, TextDelta)][:4] == [
        "three ",
        "one ",
        "four",
        "two",
    ]


def test_models_that_give_all_messages_one_id_stay_apart() -> None:
    kept = ai("same", "right")
    chunks = whole(
        says("same", "wr", "worker", "1"),
        says("same", "ri", "worker", "2"),
        says("same", "ong", "worker", "1"),
        says("same", "ght", "worker", "2"),
        ends("worker", kept, task="2"),
        ends("worker", task="1"),
        thread(kept),
    )
    assert len(withdrawn(chunks)) >= 1


def test_a_message_that_the_thread_has_otherwise_is_told_again() -> None:
    kept = ai("m1", "Hello.")
    chunks = whole(says("m1", "<think>Hm</think>Hello."), ends("agent", kept), thread(kept))
    assert withdrawn(chunks) == ["m1"]


def test_what_was_not_streamed_is_told_as_the_thread_has_it() -> None:
    kept = ai("m1", "From a dict.")
    chunks = whole(ends("agent", {"role": "ai", "content": "From a dict."}), thread(kept))
    assert TextDelta("m1", (0,), "From a dict.") in chunks


def test_a_subgraphs_talk_is_told_with_its_place_and_withdrawn_if_the_thread_does_not_get_it() -> (
    None
):
    inner, outer = ai("m1", "Inner."), ai("m2", "Outer.")
    chunks = whole(
        says("m1", "Inner.", "model", "9", ("team:1",)),
        {"type": "updates", "ns": ("team:1",), "data": {"model": {"messages": [inner]}}},
        says("m2", "Outer.", "model", "8", ("team:1",)),
        {"type": "updates", "ns": ("team:1",), "data": {"model": {"messages": [outer]}}},
        *ends("team", outer),
        thread(outer),
    )
    assert StepStart("u1.a", "m1", "model", ("team:1",)) in chunks
    assert withdrawn(chunks) == ["m1"]


def test_calls_and_results_of_a_subgraph_stay_with_their_step() -> None:
    call: Any = {"type": "tool_call", "id": "c1", "name": "look", "args": {"a": 1}}
    asks, said = ai("m1", "", tool_calls=[call]), ai("m2", "Found.")
    found = ToolMessage('{"n": 1}', tool_call_id="c1", id="t1", name="look")
    fragment: Any = {"id": "c1", "name": "look", "args": '{"a":1}', "index": 0}
    streamed = AIMessageChunk(content="", id="m1", tool_call_chunks=[fragment])
    about = {"langgraph_node": "model", "langgraph_checkpoint_ns": "team:1|model:9"}
    ns = ("team:1",)
    chunks = whole(
        {"type": "messages", "ns": ns, "data": (streamed, about)},
        {"type": "updates", "ns": ns, "data": {"model": {"messages": [asks]}}},
        {"type": "updates", "ns": ns, "data": {"tools": {"messages": [found]}}},
        says("m2", "Found.", "model", "10", ns),
        *ends("team", asks, found, said),
        thread(asks, found, said),
    )
    assert withdrawn(chunks) == []


def test_a_node_that_is_hidden_is_not_heard_and_what_it_leaves_is_told() -> None:
    kept = ai("m1", "Secret plan.")
    told = translator(speakers=Speakers(frozenset({"planner"})))
    assert fed(told, says("m1", "Secret ", "planner")) == []
    assert fed(told, says("m2", "inside", "model", "3", ("planner:1",))) == []
    assert TextDelta("m1", (0,), "Secret plan.") in fed(told, thread(kept))


@pytest.mark.parametrize(
    "mark", [{"lc_internal_call": True}, {"lc_source": "tool_selection"}], ids=str
)
def test_a_call_that_middleware_makes_for_itself_is_not_heard(mark: dict[str, Any]) -> None:
    told = translator()
    item = says("m1", "A summary.", "SummarizationMiddleware.before_model")
    message, about = item["data"]
    assert fed(told, {**item, "data": (message, about | mark)}) == []
    assert fed(told, says("m2", "Hello.")) != []


def test_messages_that_the_graph_removes_from_the_front_are_shown_and_named_once() -> None:
    old = (HumanMessage("Hi", id="u0"), ai("m0", "Hello."))
    told = translator(*old)
    summary = HumanMessage("So far: greetings.", id="s1")
    gone = {"messages": [summary, HUMAN]}
    item = {"type": "values", "ns": (), "data": gone, "interrupts": ()}
    assert fed(told, item, item) == [HistoryShortened(("u0", "m0"))]


def test_messages_that_the_graph_takes_back_are_named_once() -> None:
    old = (HumanMessage("Hi", id="u0"), ai("m0", "Hello."))
    told = translator(*old)
    left = {"messages": [old[0], HUMAN]}
    item = {"type": "values", "ns": (), "data": left, "interrupts": ()}
    assert fed(told, item, item) == [MessagesRemoved(("m0",))]


def test_an_interrupted_node_loses_its_words_and_its_run_ends_to_ask() -> None:
    told = translator()
    chunks = fed(told, says("m1", "May I?", "agent"), thread())
    asked = Interrupt("i1", "Sure?", "agent")
    chunks += told.finish([asked])
    assert withdrawn(chunks) == ["m1"]
    assert chunks[-3] == asked


def test_a_stop_keeps_the_words_of_those_whose_words_last() -> None:
    speakers = Speakers()
    first = translator(speakers=speakers)
    fed(first, says("m1", "{}", "router"), ends("router"))
    second = translator(speakers=speakers)
    fed(second, says("r2", '{"to"', "router", "1"), says("m2", "Half", "agent", "2"))
    chunks = second.reconcile([HUMAN], at_rest=True)
    assert withdrawn(chunks) == ["r2"]
    assert [step.step_id for step in second.unsaved] == ["m2"]


def test_a_stop_keeps_the_words_of_a_node_that_was_tried_again_before() -> None:
    """Of the first try the thread gets nothing, of the second all."""
    speakers = Speakers()
    first, answer = translator(speakers=speakers), ai("m2", "Whole.")
    tries = (says("m1", "Ha"), says("m2", "Whole."), ends("agent", answer), thread(answer))
    assert withdrawn(fed(first, *tries)) == ["m1"]
    second = translator(speakers=speakers)
    fed(second, says("m3", "Half"))
    assert withdrawn(second.reconcile([HUMAN], at_rest=True)) == []


def test_a_step_that_was_last_is_told_its_reason_when_a_later_one_is_withdrawn() -> None:
    answer = ai("m1", "Done.")
    whole(
        says("m1", "Done."),
        ends("agent", answer),
        thread(answer),
        says("m2", "Fine by me.", "critic", "2"),
        ends("critic", task="2"),
        thread(answer),
    )


def test_the_ids_of_what_a_task_writes_are_found_in_every_form() -> None:
    two = [ai("1", ""), {"role": "ai", "id": "2", "content": ""}, RemoveMessage(id="3"), "text"]
    assert ids_in(two) == {"1", "2", "3"}
    assert ids_in(Overwrite(two)) == {"1", "2", "3"}
    assert ids_in({"$writes": [ai("1", ""), [ai("4", "")]]}) == {"1", "4"}
    assert ids_in(ai("1", "")) == {"1"}
    assert ids_in(None) == set()


def test_a_step_says_which_it_is_where_parts_of_another_came_last() -> None:
    a, b = ai("a", "x"), ai("b", "y")
    chunks = whole(
        says("a", "x", "worker", "1"),
        says("b", "y", "worker", "2"),
        ends("worker", a, task="1"),
        ends("worker", b, task="2"),
        thread(a, b),
    )
    said = accumulate(chunks, "u1.a")
    assert [step.parts for step in said.steps] == [(Text("x"),), (Text("y"),)]


def begins(node: str, task: str, ns: tuple[str, ...] = ()) -> dict[str, Any]:
    data = {"id": task, "name": node, "input": {}, "triggers": ()}
    return {"type": "tasks", "ns": ns, "data": data}


def test_a_custom_event_names_its_node_where_one_alone_is_at_work() -> None:
    told, ns = translator(), ("team:1",)
    event = {"type": "custom", "ns": ns, "data": {"n": 1}}
    fed(told, begins("look", "7", ns))
    assert fed(told, event) == [Custom({"n": 1}, "look", ns)]
    fed(told, begins("think", "8", ns))
    assert fed(told, event) == [Custom({"n": 1}, None, ns)]


def test_a_message_is_out_of_order_where_steps_interleave_or_are_withdrawn() -> None:
    plain = [says("a", "x"), ends("agent", ai("a", "x")), thread(ai("a", "x")), says("b", "y")]
    assert is_in_order(fed(translator(), *plain))
    beside = [says("a", "x", task="1"), says("b", "y", task="2"), says("a", "z", task="1")]
    assert is_in_order(fed(translator(), *beside))  # by its parts, which are all begun
    image = AIMessageChunk(content=[{"type": "reasoning", "reasoning": "Hm."}], id="a")
    about = {"langgraph_node": "agent", "langgraph_checkpoint_ns": "agent:1"}
    late = {"type": "messages", "ns": (), "data": (image, about)}
    assert not is_in_order(fed(translator(), *beside, late))
    assert not is_in_order(fed(translator(), says("a", "x"), ends("agent")))
