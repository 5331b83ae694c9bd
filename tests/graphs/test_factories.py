"""A factory that takes the config, the runtime or the user is called for each run, with that run's;
one that takes nothing is called once."""

import sys
from pathlib import Path

import pytest

from tests.support.serving import serving, settings, text_of
from tests.support.users import bearer

AGENT = """
from contextlib import asynccontextmanager
from dataclasses import dataclass

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from langgraph_sdk.runtime import ServerRuntime

log = []


@dataclass
class Context:
    place: str = "nowhere"


def auth(authorization: str | None) -> str | None:
    return (authorization or "").removeprefix("Bearer ") or None


def made_for(name):
    log.append(f"made for {name}")

    def speak(state):
        asked = state["messages"][-1].text
        answer = interrupt("Really?") if asked == "Ask" else ""
        return {"messages": [AIMessage(f"Made for {name}. {answer}")]}

    builder = StateGraph(MessagesState, context_schema=Context)
    return builder.add_node("speak", speak).add_edge(START, "speak")


def by_config(config: RunnableConfig):
    return made_for(config["configurable"]["langgraph_auth_user"]["identity"])


async def by_user(user):
    return made_for(user.identity)


@asynccontextmanager
async def by_runtime(runtime: "ServerRuntime[Context]"):
    run = runtime.execution_runtime
    yield made_for(f"{runtime.ensure_user().identity} in {run.context.place if run else '-'}")
    log.append("closed")


def once():
    return made_for("nobody")


def fails(user):
    if user.is_authenticated:
        raise RuntimeError("no tools for you")
    return made_for(user.identity)
"""


def setup(folder: Path, factory: str) -> dict[str, object]:
    (folder / "factory_agent.py").write_text(AGENT)
    place = folder / "factory_agent.py"
    return {"graph": f"{place}:{factory}", "auth": (f"{place}:auth",)}


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        ("by_config", "Made for {}. "),
        ("by_user", "Made for {}. "),
        ("by_runtime", "Made for {} in Paris. "),
        ("once", "Made for nobody. "),
    ],
)
async def test_a_factory_makes_a_graph_for_the_caller_of_each_run_if_it_asks_who_that_is(
    factory: str, said: str, tmp_path: Path
) -> None:
    given = setup(tmp_path, factory) | {"client_context": ("place",)}
    async with serving(settings(tmp_path / "t.db", **given)) as client:
        for name in ("ann", "bob"):
            body = {"message": "Hello", "context": {"place": "Paris"}}
            thread_id, events = await client.turn(body, headers=bearer(name))
            assert text_of(events) == said.format(name)
            loaded = await client.http.get(f"/threads/{thread_id}", headers=bearer(name))
            assert loaded.json()["messages"][-1]["parts"][0]["text"] == said.format(name)


async def test_an_interrupt_is_answered_in_a_graph_that_is_made_anew(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db", **setup(tmp_path, "by_user"))) as client:
        thread_id, _ = await client.turn({"message": "Ask"}, headers=bearer("ann"))
        body = {"thread_id": thread_id, "resume": "Yes"}
        _, events = await client.turn(body, headers=bearer("ann"))
        assert text_of(events) == "Made for ann. Yes"


async def test_what_a_factory_opens_for_a_run_is_closed_with_the_run(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db", **setup(tmp_path, "by_runtime"))) as client:
        await client.turn({"message": "Hello"}, headers=bearer("ann"))
        log = sys.modules["factory_agent"].log
        assert log[-4:] == ["made for local in -", "closed", "made for ann in nowhere", "closed"]


async def test_a_factory_that_fails_fails_the_run_and_leaves_the_thread_usable(
    tmp_path: Path,
) -> None:
    async with serving(settings(tmp_path / "t.db", **setup(tmp_path, "fails"))) as client:
        thread_id, events = await client.turn({"message": "Hello"}, headers=bearer("ann"))
        assert [e.data["code"] for e in events if e.type == "error"] == ["internal_error"]
        loaded = await client.http.get(f"/threads/{thread_id}", headers=bearer("ann"))
        assert loaded.json()["messages"][0]["role"] == "user"
