"""The features of AG-UI's dojo with its published client, each on a graph of its shape."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import ClientOf
from tests.clients.driver import ClientProcess
from tests.graphs.zoo.dojo import DOCUMENT, DONE, KLM, SALTED, STATE, STEPS
from tests.support.samples import repeat
from tests.support.serving import Client, serving, settings

Json = dict[str, Any]
GRAPHS = """
from tests.graphs.zoo import dojo
from tests.graphs.zoo.model import ReplyingModel


def model():
    return ReplyingModel(replies=dojo.reply)
"""
NAMES = (
    "chat",
    "asks_about_steps",
    "tells_its_steps",
    "shares_a_recipe",
    "predicts_a_document",
    "plans_a_trip",
)
VERSIONS = pytest.mark.parametrize(
    "version", [pytest.param("", id="1.0.0"), repeat(" v0", "0.0.59")]
)


def of_the_page(name: str) -> Json:
    parameters = {"type": "object", "properties": {"value": {"type": "string"}}}
    return {"name": name, "description": "The page's.", "parameters": parameters}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Client]:
    made = (f"def {name}():\n    return dojo.{name}(model())\n" for name in NAMES)
    (tmp_path / "graphs.py").write_text(GRAPHS + "\n\n".join(made))
    listed = {"graphs": {name: f"./graphs.py:{name}" for name in NAMES}}
    (tmp_path / "langgraph.json").write_text(json.dumps(listed))
    given = settings(
        tmp_path / "t.db",
        graph=str(tmp_path / "langgraph.json"),
        client_state=STATE,
        client_context=("recipe",),
    )
    async with serving(given) as client:
        yield client


class Page:
    """An agent of the published client that talks to one graph."""

    def __init__(self, agent: ClientProcess, server: Client, graph: str, version: str) -> None:
        self.agent, self.server, self.graph = agent, server, graph
        self.protocol = "ag-ui" if version else "ag-ui-1.0"

    async def opened(self, *tools: str) -> "Page":
        offered = [*map(of_the_page, tools)]
        about = {"url": self.server.url, "graph": self.graph, "threadId": self.graph}
        await self.agent.do("open", **about, tools=offered)
        return self

    async def does(self, what: str, **given: Any) -> Json:
        """The report after a run: the agent has the thread."""
        await self.agent.do(what, **given)
        report = await self.agent.report()
        assert (report["failures"], report["errors"], report["warnings"]) == ([], [], [])
        loaded = await self.server.thread(self.graph, protocol=self.protocol)
        assert report["messages"] == loaded["messages"]
        assert report["state"] == loaded.get("state", {})
        assert report["pendingInterrupts"] == loaded.get("pendingInterrupts", [])
        return report


@pytest.fixture
def page(server: Client, client_of: ClientOf) -> Any:
    def opened(graph: str, version: str) -> Page:
        return Page(client_of(f"ag-ui.mjs{version}"), server, graph, version)

    return opened


def texts(report: Json) -> list[str]:
    return [m["content"] for m in report["messages"] if m["role"] == "assistant" and "content" in m]


def calls(report: Json) -> list[tuple[str, Json]]:
    functions = (c["function"] for m in report["messages"] for c in m.get("toolCalls", ()))
    return [(one["name"], json.loads(one["arguments"])) for one in functions]


@VERSIONS
async def test_agentic_chat_backend_tools_and_tool_based_generative_ui(
    version: str, page: Any
) -> None:
    agent = await page("chat", version).opened("change_background")
    report = await agent.does("send", text="What is the weather?")
    assert calls(report) == [("get_weather", {"location": "Kiel"})]
    assert texts(report) == ["It is so: Rain in Kiel."]
    report = await agent.does("send", text="Paint it")
    assert calls(report)[1:] == [("change_background", {"value": "blue"})]
    call = report["messages"][-1]["toolCalls"][0]["id"]
    report = await agent.does("answer", toolCallId=call, content="painted")
    assert texts(report)[1:] == ["It is so: painted"]


@VERSIONS
async def test_human_in_the_loop(version: str, page: Any) -> None:
    agent = await page("asks_about_steps", version).opened()
    report = await agent.does("send", text="Plant a tree")
    assert report["state"] == {"steps": STEPS}
    (asked,) = report["pendingInterrupts"]
    assert asked["metadata"]["value"] == {"steps": STEPS}
    answer = {"interruptId": asked["id"], "status": "resolved", "payload": {"steps": DONE}}
    report = await agent.does("run", resume=[answer])
    assert texts(report) == ["Done: Dig a hole."]
    assert report["state"] == {"steps": DONE}


@VERSIONS
async def test_a_chat_that_connects_has_the_thread_and_its_question(
    version: str, page: Any
) -> None:
    """As CopilotKit's does when it is shown."""
    await (await page("asks_about_steps", version).opened()).does("send", text="Plant a tree")
    again = await page("asks_about_steps", version).opened()
    report = await again.does("connect")
    assert report["state"] == {"steps": STEPS}
    (asked,) = report["pendingInterrupts"]
    answer = {"interruptId": asked["id"], "status": "resolved", "payload": {"steps": DONE}}
    assert texts(await again.does("run", resume=[answer])) == ["Done: Dig a hole."]
    nothing = await page("chat", version).opened()
    await nothing.agent.do("connect")
    assert (await nothing.agent.report())["messages"] == []


@VERSIONS
async def test_agentic_generative_ui(version: str, page: Any) -> None:
    agent = await page("tells_its_steps", version).opened()
    report = await agent.does("send", text="Plant a tree")
    assert report["state"] == {"steps": DONE}
    told = [type for type in report["events"] if type in ("STATE_DELTA", "TEXT_MESSAGE_START")]
    assert told == ["STATE_DELTA", "TEXT_MESSAGE_START"]
    assert [one["name"] for one in report["custom"]] == ["PredictState"]


@VERSIONS
async def test_shared_state(version: str, page: Any) -> None:
    agent = await page("shares_a_recipe", version).opened()
    await agent.agent.do("set", state={"recipe": {"title": "Soup", "ingredients": ["water"]}})
    report = await agent.does("send", text="Salt it")
    assert report["state"] == {"recipe": SALTED}


@VERSIONS
async def test_predictive_state_updates(version: str, page: Any) -> None:
    agent = await page("predicts_a_document", version).opened("confirm_changes")
    report = await agent.does("send", text="Write")
    predicted = {"tool": "write_document", "state_key": "document", "tool_argument": "document"}
    assert report["custom"] == [{"name": "PredictState", "value": [predicted]}]
    assert report["events"].index("CUSTOM") < report["events"].index("TOOL_CALL_START")
    assert report["state"] == {"document": DOCUMENT}
    assert [name for name, _ in calls(report)] == ["write_document", "confirm_changes"]
    call = report["messages"][-1]["toolCalls"][0]["id"]
    report = await agent.does("answer", toolCallId=call, content="confirmed")
    assert texts(report)[-1] == "It is so: confirmed"


@VERSIONS
async def test_subgraphs(version: str, page: Any) -> None:
    agent = await page("plans_a_trip", version).opened()
    report = await agent.does("send", text="Plan a trip")
    (asked,) = report["pendingInterrupts"]
    assert asked["metadata"]["value"]["message"] == "Which flight?"
    answer = {"interruptId": asked["id"], "status": "resolved", "payload": KLM}
    report = await agent.does("run", resume=[answer])
    assert report["state"] == {"itinerary": {"flight": KLM}}
    assert texts(report) == ["Flight booked.", "Good day."]
