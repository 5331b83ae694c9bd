"""LangGraph's `push_ui_message`: what a graph draws is told, and kept with the thread."""

from pathlib import Path
from typing import Any

from tests.support.serving import parse_events, serving, settings

AGENT = """
from typing import Annotated, Sequence

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.ui import AnyUIMessage, push_ui_message, ui_message_reducer


class State(MessagesState):
    ui: Annotated[Sequence[AnyUIMessage], ui_message_reducer]
    secret: str


def answer(state):
    said = AIMessage("Here is the weather.", id="m1")
    push_ui_message("weather", {"city": "Rome"}, id="u1", message=said)
    push_ui_message("weather", {"degrees": 21}, id="u1", message=said, merge=True)
    return {"messages": [said], "secret": "s3cret"}


graph = StateGraph(State).add_node("answer", answer).add_edge(START, "answer").compile()
"""


async def test_ui_messages_are_told_at_once_and_kept_with_the_thread(tmp_path: Path) -> None:
    (tmp_path / "chat.py").write_text(AGENT)
    own = settings(tmp_path / "t.db", graph=f"{tmp_path / 'chat.py'}:graph")
    async with serving(own) as client:
        thread_id, events = await client.turn({"message": "Weather?"})
        told = [item for e in events if e.type == "data" for item in e.data["data"]]
        pushed = [one["data"]["value"] for one in told if one["name"] == "custom"]
        assert [one["props"] for one in pushed] == [{"city": "Rome"}, {"degrees": 21}]
        thread = await client.http.get(f"/threads/{thread_id}")
        (kept,) = thread.json()["state"]["ui"]
        assert (kept["name"], kept["props"]) == ("weather", {"city": "Rome", "degrees": 21})
        assert kept["metadata"]["message_id"] == "m1"
        assert "s3cret" not in thread.text
        asked = {"id": "q1", "role": "user", "content": "Weather?"}
        body: Any = {"threadId": "t2", "runId": "r1", "messages": [asked], "tools": []}
        answer = await client.http.post("/ag-ui", json=body)
        states = [e.data for e in parse_events(answer.content) if e.type.startswith("STATE")]
        assert "degrees" in str(states)
