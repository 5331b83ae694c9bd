"""What the offline model streams, and whole runs with it."""

import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from tests.support.offline_model import (
    BY_NAME,
    CALCULATOR,
    MULTIPLY,
    REAL,
    RENDER,
    SELECT,
    TIME,
    TOOLS,
    UNITS,
    answer,
    assert_valid,
    result,
    stream,
)
from tests.support.samples import sample
from turnstream.graphs.execution import execute
from turnstream.graphs.limits import Limits
from turnstream.graphs.offline import EXAMPLES, OfflineChatModel
from turnstream.graphs.offline.plan import plan
from turnstream.tools.solar import SOLAR_TOOLS


async def test_words_stream_one_by_one_and_make_the_very_text() -> None:
    chunks = await stream(HumanMessage("Show me markdown"))
    texts = [str(chunk.content) for chunk in chunks if chunk.content]
    assert len(texts) > 40
    assert all(len(text.split()) == 1 for text in texts)
    whole = plan([HumanMessage("Show me markdown")], BY_NAME).text
    assert "".join(texts) == whole
    assert "| apples | 3 |\n" in whole


async def test_a_call_streams_its_head_first_and_its_arguments_in_fragments() -> None:
    chunks = await stream(HumanMessage("Draw a line chart of 1, 4, 9, 16"))
    head, *fragments = [delta for chunk in chunks for delta in chunk.tool_call_chunks]
    assert (head["index"], head["id"], head["name"], head["args"]) == (0, "call_1", RENDER, "")
    assert len(fragments) > 5
    assert all(not delta["name"] and not delta["id"] for delta in fragments)
    assert all(delta["index"] == 0 for delta in fragments)
    args = json.loads("".join(delta["args"] or "" for delta in fragments))
    assert args["props"]["series"][0]["data"] == [1, 4, 9, 16]


async def test_parallel_calls_stream_interleaved() -> None:
    chunks = await stream(HumanMessage("What is 17 * 23, and what time is it in Tokyo?"))
    deltas = [delta for chunk in chunks for delta in chunk.tool_call_chunks]
    order = [delta["index"] for delta in deltas if delta["args"]]
    assert order[:4] == [0, 1, 0, 1]
    texts = ["".join(d["args"] or "" for d in deltas if d["index"] == index) for index in (0, 1)]
    assert [json.loads(text) for text in texts] == [
        {"expression": "17 * 23"},
        {"timezone": "Asia/Tokyo"},
    ]


@pytest.mark.parametrize(("text", "reason"), [("Hello", "stop"), ("What is 2 + 2?", "tool_calls")])
async def test_only_the_last_chunk_says_why_it_ended_and_what_it_cost(
    text: str, reason: str
) -> None:
    *others, last = await stream(HumanMessage(text))
    assert last.chunk_position == "last"
    assert last.response_metadata == {"finish_reason": reason, "model_name": "offline"}
    assert not any(chunk.response_metadata or chunk.usage_metadata for chunk in others)
    assert not any(chunk.chunk_position for chunk in others)
    assert {chunk.id for chunk in others} == {last.id}


async def test_usage_counts_words_read_and_written_and_adds_up() -> None:
    call = AIMessage("", tool_calls=[{"id": "call_1", "name": "x", "args": {"a": "two words"}}])
    history = [SystemMessage("Be kind."), HumanMessage("What is 2 + 2?")]
    short = (await stream(*history))[-1].usage_metadata
    long = (await stream(HumanMessage("Hi there"), call, ToolMessage("1", tool_call_id="call_1")))[
        -1
    ]
    # "Let me work that out." and {"expression": "2 + 2"}
    assert short == {"input_tokens": 7, "output_tokens": 9, "total_tokens": 16}
    assert long.usage_metadata is not None
    assert long.usage_metadata["input_tokens"] == 6  # Hi there; {'a': 'two words'}; 1


async def test_the_same_history_gives_the_same_chunks() -> None:
    history = HumanMessage("What is 6 * 7, and draw a bar chart of apples 3, pears 5")
    first, second = await stream(history), await stream(history)
    assert [c.model_copy(update={"id": ""}) for c in first] == [
        c.model_copy(update={"id": ""}) for c in second
    ]


async def test_callbacks_hear_of_each_chunk_once() -> None:
    model = OfflineChatModel(word_seconds=0)
    chunks = await stream(HumanMessage("Hello"))
    heard = [
        event
        async for event in model.astream_events([HumanMessage("Hello")], version="v2")
        if event["event"] == "on_chat_model_stream"
    ]
    assert len(heard) == len(chunks)


async def test_invoked_it_says_what_it_would_have_streamed() -> None:
    history = [HumanMessage("Multiply 6 by 7")]
    model = OfflineChatModel(word_seconds=0).bind_tools(TOOLS)
    streamed = await answer(*history)
    for whole in (await model.ainvoke(history), model.invoke(history)):
        assert whole.text == streamed.text
        assert whole.tool_calls == streamed.tool_calls
        assert whole.response_metadata["finish_reason"] == "tool_calls"


async def test_call_ids_go_on_counting_over_the_thread() -> None:
    question = HumanMessage("What is 2 + 2?")
    first = await answer(question)
    second = await answer(question, first, result(first, {"value": 4}), question)
    assert [c["id"] for c in (*first.tool_calls, *second.tool_calls)] == ["call_1", "call_2"]


async def test_call_ids_go_on_where_the_oldest_calls_were_trimmed_away() -> None:
    late = AIMessage("", tool_calls=[{"id": "call_7", "name": "multiply", "args": {}}])
    kept = [late, ToolMessage("{}", tool_call_id="call_7")]
    message = await answer(HumanMessage("Hi"), *kept, HumanMessage("What is 2 + 2?"))
    assert message.tool_calls[0]["id"] == "call_8"


class LoopState(MessagesState):
    pass


async def run_loop(text: str) -> list[AnyMessage]:
    model = OfflineChatModel(word_seconds=0).bind_tools(TOOLS)

    async def agent(state: LoopState) -> dict[str, Any]:
        first, *rest = [chunk async for chunk in model.astream(state["messages"])]
        assert isinstance(first, AIMessageChunk)
        return {"messages": first + [c for c in rest if isinstance(c, AIMessageChunk)]}

    graph = StateGraph(LoopState)
    graph.add_node("agent", agent)
    graph.add_node("tools", ToolNode(REAL))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", tools_condition, ["tools", END])
    graph.add_edge("tools", "agent")
    ended = await graph.compile().ainvoke({"messages": [HumanMessage(text)]})
    found: list[AnyMessage] = ended["messages"]
    return found


async def test_a_chain_runs_through_a_real_graph_with_real_tools() -> None:
    messages = await run_loop("Multiply 6 by 7, then convert the result from km to miles")
    assert [m.type for m in messages] == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert messages[-1].text == "42 km = 26.09759007 miles."


async def test_parallel_calls_run_through_a_real_graph_with_real_tools() -> None:
    messages = await run_loop("What is 17 * 23, and what time is it in Tokyo?")
    assert [m.type for m in messages] == ["human", "ai", "tool", "tool", "ai"]
    assert messages[-1].text.startswith("17 * 23 = 391. In Tokyo it is ")


PROMISED: list[tuple[list[str], ...]] = [
    (["get_fleet_overview"], [RENDER]),
    (["list_loggers"], ["get_power_curve"], [RENDER]),
    (["compare_loggers"], [RENDER]),
    (["calculate_financial_savings"], [RENDER]),
    (["diagnose_error_codes"], [RENDER]),
    (["get_power_curve"],),
    (["schedule_maintenance"],),
    ([CALCULATOR, TIME],),
    ([MULTIPLY], [UNITS]),
    ([RENDER],),
    ([CALCULATOR], [RENDER]),
    ([SELECT],),
    (),
]


@pytest.mark.parametrize(("text", "steps"), [*zip(EXAMPLES, PROMISED, strict=True)])
async def test_every_example_leads_to_the_calls_it_promises(
    text: str, steps: tuple[list[str], ...]
) -> None:
    history: list[BaseMessage] = [HumanMessage(text)]
    tools = [*TOOLS, *SOLAR_TOOLS]
    for names in steps:
        message = await answer(*history, tools=tools)
        assert [call["name"] for call in message.tool_calls] == names
        history += [message, *[await answered(call) for call in message.tool_calls]]
    last = await answer(*history, tools=tools)
    assert not last.tool_calls
    assert last.text


@pytest.mark.parametrize("text", ["Hello", "What can you do?"])
async def test_the_demo_is_offered_where_its_tools_are_bound(text: str) -> None:
    offered = await answer(HumanMessage(text), tools=[*TOOLS, *SOLAR_TOOLS])
    assert EXAMPLES[0] in offered.text
    others = await answer(HumanMessage(text), tools=TOOLS)
    assert not any(example in others.text for example in EXAMPLES)


async def answered(call: ToolCall) -> ToolMessage:
    """What the model reads of a call: real tools run, a shown component is its own result."""
    real = {tool.name: tool for tool in (*REAL, *SOLAR_TOOLS)}
    if call["name"] in real:
        return await execute(call, partial(real[call["name"]].ainvoke, call), Limits())
    if "data_from" not in call["args"]:
        assert_valid(call["name"], call["args"])
    return ToolMessage(json.dumps(call["args"]), name=call["name"], tool_call_id=call["id"])


SAYINGS = (
    *(
        "what is",
        "1",
        "2.5",
        "-3",
        "*",
        "+",
        "/",
        "(",
        ")",
        "^",
        "sqrt(",
        "time",
        "in Tokyo",
        "and",
    ),
    *(",", ".", ":", "then", "show it", "them", "the result", "as a", "bar chart", "table", "card"),
    *("alert", "of", "apples 3", "let me pick", "two", "between", '"a"', "{", "}", "convert", "km"),
    *("to miles", "call multiply with", "my name is Ada", "write", "words", "draw a line chart of"),
    *(
        "compare",
        "site A",
        "inverter 3",
        "how is the fleet doing",
        "power curve of",
        "last Tuesday",
    ),
    *(
        "schedule an inspection of",
        "clean the panels of",
        "next Tuesday",
        "on 5 May",
        "in two weeks",
    ),
    *("which maintenance is planned", "cancel M-1", "cancelled visits", "inverters 3, 4 and 5"),
    *("error 3105", "in February 2023", "on 2024-02-30", "what did we save", "forecast", "30 July"),
)
ALL_BY_NAME = BY_NAME | {real.name: {} for real in SOLAR_TOOLS}


@given(st.lists(st.sampled_from(SAYINGS), max_size=25).map(" ".join))
@settings(max_examples=sample(200, 40))
def test_no_message_breaks_it_and_what_it_shows_is_valid(text: str) -> None:
    planned = plan([HumanMessage(text)], ALL_BY_NAME)
    assert planned.text
    for call in planned.calls:
        if call.name in (RENDER, SELECT):
            assert_valid(call.name, json.loads(call.args_text))
