"""Words of nodes that a setting hides, and what of them the thread gets."""

from pathlib import Path

from tests.support.serving import serving, settings, text_of

AGENT = """
from tests.graphs.zoo.model import ReplyingModel
from langgraph.graph import START, MessagesState, StateGraph


def graph():
    planner = ReplyingModel(replies=lambda *_: "A secret plan.")
    speaker = ReplyingModel(replies=lambda *_: "Hello.")

    async def plan(state):
        await planner.ainvoke(state["messages"])

    async def note(state):
        return {"messages": [await planner.ainvoke(state["messages"])]}

    async def speak(state):
        return {"messages": [await speaker.ainvoke(state["messages"])]}

    built = StateGraph(MessagesState)
    inner = StateGraph(MessagesState).add_node("plan", plan).add_edge(START, "plan")
    built.add_node("team", inner.compile()).add_node("note", note).add_node("speak", speak)
    built.add_edge(START, "team").add_edge("team", "note").add_edge("note", "speak")
    return built
"""


async def words(folder: Path, *hidden: str) -> str:
    """All that is streamed, withdrawn or not."""
    file = folder / "hiding_agent.py"
    file.write_text(AGENT)
    given = settings(folder / "t.db", graph=f"{file}:graph", hidden_nodes=hidden)
    async with serving(given) as client:
        _, events = await client.turn({"message": "Hi"})
    return text_of(events)


async def test_a_node_is_hidden_by_its_name_or_by_that_of_the_subgraph_around_it(
    tmp_path: Path,
) -> None:
    shown = "A secret plan.A secret plan.Hello."
    assert await words(tmp_path) == shown
    for name in ("plan", "team"):
        assert await words(tmp_path, name) == "A secret plan.Hello."


async def test_what_a_hidden_node_leaves_in_the_thread_is_told(tmp_path: Path) -> None:
    assert await words(tmp_path, "team", "note", "speak") == "A secret plan.Hello."
