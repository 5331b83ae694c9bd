"""LangSmith's and Langfuse's own callbacks, as their users set them up, in a served run."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.collector import Collector, attributes, collector, langsmith_runs
from tests.support.endpoint import StrictEndpoint, call_reply, text_reply
from tests.support.serving import Client, endpoint_environment, process
from tests.support.waiting import until

CALL = ("calculator", '{"expression": "6 * 7"}')


@pytest.fixture
async def found() -> AsyncIterator[Collector]:
    async with collector() as found:
        yield found


async def a_turn(client: Client) -> None:
    async with client.chat({"thread_id": "t1", "message": "Hello"}) as reader:
        await reader.rest()


@pytest.mark.full
async def test_langsmith_gets_a_served_run_with_its_model_calls_and_tools_in_one_tree(
    tmp_path: Path, found: Collector
) -> None:
    variables = ("LANGSMITH_TRACING=true", f"LANGSMITH_ENDPOINT={found.url}", "LANGSMITH_API_KEY=k")
    async with StrictEndpoint() as endpoint:
        endpoint.script(call_reply(CALL), text_reply("42"))
        settings = endpoint_environment(endpoint)
        async with process(tmp_path / "t.db", prefix=("env", *variables), **settings) as server:
            await a_turn(server.client)

            def all_came() -> bool:
                known = langsmith_runs(found).values()
                kinds = [run.get("run_type") for run in known if "end_time" in run]
                return kinds.count("llm") == 2 and kinds.count("tool") == 1

            await until(all_came)
    known = langsmith_runs(found)
    [root] = [run for run in known.values() if not run.get("parent_run_id")]
    assert {run["trace_id"] for run in known.values()} == {root["id"]}
    assert all(run["parent_run_id"] in known for run in known.values() if run is not root)
    assert [run["name"] for run in known.values() if run["run_type"] == "tool"] == ["calculator"]
    assert b'"thread_id":"t1"' in b"".join(found.bodies)


OWN_GRAPH = """
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langfuse.langchain import CallbackHandler
from langgraph.graph import START, MessagesState, StateGraph


@tool
async def look_up(word: str) -> str:
    'Looks a word up.'
    return "found"


async def speak(state):
    return {"messages": [AIMessage(await look_up.ainvoke({"word": "w"}))]}


builder = StateGraph(MessagesState)
builder.add_node("speak", speak)
builder.add_edge(START, "speak")
graph = builder.compile().with_config(callbacks=[CallbackHandler()])
"""


@pytest.mark.full
async def test_langfuse_gets_the_runs_of_a_graph_that_has_its_callback(
    tmp_path: Path, found: Collector
) -> None:
    (tmp_path / "agent.py").write_text(OWN_GRAPH)
    variables = (
        f"LANGFUSE_BASE_URL={found.url}",
        "LANGFUSE_PUBLIC_KEY=pk-lf-test",
        "LANGFUSE_SECRET_KEY=sk-lf-test",
        "LANGFUSE_FLUSH_INTERVAL=0.05",
    )
    named = f"{tmp_path / 'agent.py'}:graph"
    async with process(tmp_path / "t.db", prefix=("env", *variables), GRAPH=named) as server:
        await a_turn(server.client)
        await until(lambda: found.named("look_up") and found.named("LangGraph"))
    [root], [tool] = found.named("LangGraph"), found.named("look_up")
    assert tool.trace_id == root.trace_id
    [speak] = found.named("speak")
    assert (speak.parent_span_id, tool.parent_span_id) == (root.span_id, speak.span_id)
    assert "found" in str(attributes(tool))
