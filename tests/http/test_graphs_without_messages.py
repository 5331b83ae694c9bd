"""Graphs that take no user's message: they run on other input."""

from pathlib import Path
from typing import Any

from tests.support.langgraph_reader import named_frames
from tests.support.serving import Client, serving, settings
from turnstream.server.extensions.built_in import ServerSettings as Settings

Json = dict[str, Any]
PATH = "/langgraph/threads/t1"

REPORTS = """
import asyncio
from typing import TypedDict
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt


class Report(TypedDict, total=False):
    topic: str
    text: str
    secret: str


async def write(state):
    if state.get("topic") == "endless":
        await asyncio.Event().wait()
    model = GenericFakeChatModel(messages=iter([AIMessage("Of " + state.get("topic", "none"))]))
    return {"text": (await model.ainvoke("Write")).content, "secret": "s"}


def check(state):
    return {"text": interrupt("Fine?")} if state["text"] == "Of moons" else {}


graph = StateGraph(Report).add_node("write", write).add_node("check", check)
graph.add_edge(START, "write").add_edge("write", "check")
"""
MAILS = """
from typing import TypedDict
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph


class Mail(TypedDict):
    mail: str


class State(MessagesState):
    mail: str


def answer(state):
    said = [one.type for one in state["messages"]]
    call = {"name": "ask", "args": {}, "id": f"c{len(said)}"}
    text = " ".join([state["mail"], *said])
    return {"messages": [AIMessage(text, tool_calls=[call])]}


graph = StateGraph(State, input_schema=Mail).add_node("answer", answer).add_edge(START, "answer")
"""


def own(folder: Path, source: str, *names: str) -> Settings:
    (folder / "own.py").write_text(source)
    return settings(
        folder / "t.db",
        graph=f"{folder / 'own.py'}:graph",
        client_context=names[:1],
        client_state=names,
    )


async def ran(client: Client, **body: Any) -> Json:
    answer = await client.http.post(f"{PATH}/runs/wait", json={"assistant_id": "own", **body})
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


async def test_a_graph_without_messages_is_run_on_its_input_and_has_values_alone(
    tmp_path: Path,
) -> None:
    said = {"messages": [{"type": "human", "content": "Hi"}], "place": "sea"}
    async with serving(own(tmp_path, REPORTS, "topic", "text")) as client:
        body: Json = {"assistant_id": "own", "input": {"topic": "tides", **said}}
        answer = await client.http.post(f"{PATH}/runs/wait", json=body)
        assert answer.json() == {"topic": "tides", "text": "Of tides"}
        assert answer.headers["x-turnstream-ignored"] == "input.messages, input.place"
        state = (await client.http.get(f"{PATH}/state")).json()
        assert (state["values"], state["next"]) == (answer.json(), [])
        [only] = (await client.http.post(f"{PATH}/history", json={})).json()
        assert only["values"] == answer.json()
        asked = await ran(client, input={"topic": "moons"})
        assert asked["__interrupt__"][0]["value"] == "Fine?"
        assert (await ran(client, command={"resume": "Yes"}))["text"] == "Yes"
        assert (await ran(client, input={}))["text"] == "Of moons"
        assert (await client.thread("t1"))["messages"] == []


async def test_input_goes_past_a_question_of_a_graph_that_takes_no_messages(
    tmp_path: Path,
) -> None:
    async with serving(own(tmp_path, REPORTS, "topic", "text")) as client:
        for topic in ("moons", "moons", "tides"):
            told = await ran(client, input={"topic": topic})
            assert told["text"] == f"Of {topic}"
            assert ("__interrupt__" in told) == (topic == "moons")
        state = (await client.http.get(f"{PATH}/state")).json()
        assert (state["next"], state["interrupts"]) == ([], [])
        await ran(client, input={"topic": "moons"})
        goes_on = await client.http.post(f"{PATH}/runs/wait", json={"assistant_id": "own"})
        assert (goes_on.status_code, goes_on.json()["code"]) == (409, "interrupt_pending")


async def test_a_stopped_run_of_a_graph_without_messages_leaves_its_thread_ready(
    tmp_path: Path,
) -> None:
    async with serving(own(tmp_path, REPORTS, "topic", "text")) as client:
        body: Json = {"assistant_id": "own", "input": {"topic": "endless"}}
        run = (await client.http.post(f"{PATH}/runs", json=body)).json()
        await client.http.post(f"{PATH}/runs/{run['run_id']}/cancel", params={"wait": "1"})
        state = (await client.http.get(f"{PATH}/state")).json()
        assert (state["values"], state["next"]) == ({"topic": "endless"}, [])
        again = await ran(client, input={"topic": "tides"})
        assert again == {"topic": "tides", "text": "Of tides"}


async def test_words_of_a_graph_without_messages_are_streamed_and_taken_back(
    tmp_path: Path,
) -> None:
    async with serving(own(tmp_path, REPORTS)) as client:
        modes = ["messages-tuple", "values", "updates"]
        body = {"assistant_id": "own", "input": {}, "stream_mode": modes}
        stream = await client.http.post(f"{PATH}/runs/stream", json=body)
        told = [(one.event, one.data) for one in named_frames(stream.content)]
        *said, gone = [data[0] for event, data in told if event == "messages"]
        assert "".join(one["content"] for one in said) == "Of none"
        assert gone == {"type": "remove", "id": said[0]["id"]}
        assert [data for event, data in told if event == "values"][-1] == {}
        assert [data for event, data in told if event == "updates"] == [
            {"write": None},
            {"check": None},
        ]


async def test_a_message_for_a_graph_that_takes_none_is_refused(tmp_path: Path) -> None:
    async with serving(own(tmp_path, REPORTS, "topic")) as client:
        message = {"parts": [{"type": "text", "text": "Hi"}]}
        answer = await client.http.post("/chat", json={"thread_id": "t1", "message": message})
        assert (answer.status_code, answer.json()["code"]) == (422, "value_not_allowed")
        assert "takes no messages" in answer.json()["detail"]
        written = {"values": {"messages": [{"type": "human", "content": "Hi"}]}}
        await ran(client, input={"topic": "tides"})
        answer = await client.http.post(f"{PATH}/state", json=written)
        assert (answer.status_code, answer.json()["code"]) == (422, "value_not_allowed")
        await client.turn({"thread_id": "t1", "input": {"topic": "seas"}})
        assert (await client.http.get(f"{PATH}/state")).json()["values"]["topic"] == "seas"


async def test_a_graph_whose_input_has_no_messages_answers_into_its_thread(
    tmp_path: Path,
) -> None:
    async with serving(own(tmp_path, MAILS, "mail")) as client:
        await ran(client, input={"mail": "One"})
        told = await ran(client, input={"mail": "Two"})
        # The call that nobody has answered is closed ahead of the model's next message.
        assert [(one["type"], one["content"]) for one in told["messages"]][::2] == [
            ("ai", "One"),
            ("ai", "Two ai tool"),
        ]
        assert told["messages"][1]["tool_call_id"] == "c0"
