"""The example apps of docs/examples, in a page of another origin, by what is on the screen."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.driver import HERE, ClientProcess
from tests.clients.scripted_turns import QUESTION
from tests.clients.test_ag_ui_subagents import AGENT
from tests.support.endpoint import Pause, Say, call_reply, reply, text_reply
from tests.support.endpoint.script import Scripted
from tests.support.npm import CLIENTS, require
from tests.support.samples import repeat, sample
from tests.support.scripted_server import ScriptedServer, scripted_server
from tests.support.serving import PROJECT, serving, settings

APPS = PROJECT / "docs" / "examples"
ALLOWED = {"allowed_origins": ("http://localhost:5173",)}
ASK = call_reply(("request_user_selection", QUESTION), ids=("call_1",))
NAMES = ("use-chat", "assistant-ui", "use-stream", "ag-ui")
EXAMPLES = pytest.mark.parametrize("example", [NAMES[0], *map(repeat, NAMES[1:])])


def one_example(name: str) -> pytest.MarkDecorator:
    """This one; in a long run the others too. Each starts a process and bundles the app."""
    others = [pytest.param(other, marks=pytest.mark.long) for other in NAMES if other != name]
    return pytest.mark.parametrize("example", [name, *others[: sample(len(others), 0)]])


@pytest.fixture
def tab() -> Iterator[ClientProcess]:
    require(CLIENTS)
    process = ClientProcess("example.mjs")
    yield process
    process.close()


@pytest.fixture
def reloaded() -> Iterator[ClientProcess]:
    """A second tab, which gets the address and the storage of the first."""
    require(CLIENTS)
    process = ClientProcess("example.mjs")
    yield process
    process.close()


def erase(name: str) -> Scripted:
    return call_reply(("erase", f'{{"name":"{name}"}}'), ids=(f"call_{name}",))


async def report(tab: ClientProcess) -> dict[str, Any]:
    told = await tab.report()
    assert told["warnings"] == []
    assert told["alerts"] == []
    return told


async def the_thread(server: ScriptedServer) -> dict[str, Any]:
    (entry,) = (await server.http.http.get("/threads")).json()["threads"]
    return await server.http.thread(entry["id"])


@one_example("assistant-ui")
async def test_a_question_is_answered_on_the_screen(
    example: str, tmp_path: Path, tab: ClientProcess
) -> None:
    async with scripted_server(tmp_path, ASK, text_reply("Saturday it is."), **ALLOWED) as server:
        await tab.do("open", example=example, url=server.url)
        await tab.do("type", text="Book a trip")
        await tab.do("shows", text="Which day?")
        await tab.do("choose", value="sat")
        await tab.do("press", name="Answer")
        await tab.do("shows", text="Saturday it is.")
        await tab.do("withdraws", name="Stop")
        assert "Book a trip" in (await report(tab))["text"]
        part = (await the_thread(server))["messages"][1]["parts"][0]
        assert part["result"] == {"value": "sat"}


@EXAMPLES
async def test_a_call_is_approved_or_declined_on_the_screen(
    example: str, tmp_path: Path, tab: ClientProcess
) -> None:
    replies = (erase("old"), text_reply("Gone."), erase("new"), text_reply("It stays."))
    async with scripted_server(tmp_path, *replies, **ALLOWED) as server:
        await tab.do("open", example=example, url=server.url)
        await tab.do("type", text="Tidy up")
        await tab.do("shows", text="Run erase?")
        await tab.do("press", name="Approve")
        await tab.do("shows", text="Gone.")
        await tab.do("withdraws", name="Stop")
        await tab.do("type", text="And the other one")
        await tab.do("shows", text="Run erase?")
        await tab.do("write", name="reason", text="I need it.")
        await tab.do("press", name="Decline")
        await tab.do("shows", text="It stays.")
        await tab.do("withdraws", name="Stop")
        assert "Run erase?" not in (await report(tab))["text"]
        messages = (await the_thread(server))["messages"]
        approved, declined = (message["parts"][0] for message in messages[1::2])
        assert approved["result"] == {"erased": "old"}
        assert declined["state"] == "declined"
        assert declined["approval"]["reason"] == "I need it."


@one_example("use-chat")
async def test_stop_ends_the_run_on_the_server_and_keeps_what_was_said(
    example: str, tmp_path: Path, tab: ClientProcess
) -> None:
    replies = (reply(Say("The tide "), Pause(asyncio.Event())), text_reply("Once more."))
    async with scripted_server(tmp_path, *replies, **ALLOWED) as server:
        await tab.do("open", example=example, url=server.url)
        await tab.do("type", text="Go on")
        await tab.do("shows", text="The tide ")
        await tab.do("press", name="Stop")
        await tab.do("withdraws", name="Stop")
        assert "The tide " in (await report(tab))["text"]
        thread = await the_thread(server)
        assert thread["run_state"] == "stopped"
        assert thread["messages"][1]["ended"] == {"reason": "stopped"}
        await tab.do("type", text="And on")
        await tab.do("shows", text="Once more.")


@EXAMPLES
async def test_a_reload_in_mid_turn_shows_the_turn_to_its_end(
    example: str, tmp_path: Path, tab: ClientProcess, reloaded: ClientProcess
) -> None:
    pause = Pause(asyncio.Event())
    replies = (text_reply("Hello."), reply(Say("The tide "), pause, Say("is high.")))
    async with scripted_server(tmp_path, *replies, **ALLOWED) as server:
        await tab.do("open", example=example, url=server.url)
        await tab.do("type", text="Good day")
        await tab.do("shows", text="Hello.")
        await tab.do("withdraws", name="Stop")
        await tab.do("type", text="Go on")
        await tab.do("shows", text="The tide ")
        kept = await report(tab)
        tab.close()
        await reloaded.do(
            "open", example=example, url=server.url, hash=kept["hash"], storage=kept["storage"]
        )
        thread = await the_thread(server)
        thread_id, run_id = thread["id"], thread["run_id"]
        again = {
            "use-chat": f"GET /chat/{thread_id}/stream",
            "assistant-ui": "POST /chat",
            "use-stream": f"GET /langgraph/threads/{thread_id}/runs/{run_id}/stream",
            "ag-ui": f"GET /chat/{thread_id}/stream",
        }
        await reloaded.do("answered", request=again[example])
        pause.event.set()
        await reloaded.do("shows", text="The tide is high.")
        await reloaded.do("withdraws", name="Stop")
        text = (await report(reloaded))["text"]
        assert [text.count(said) for said in ("Good day", "Hello.", "Go on", "The tide")] == [1] * 4


async def test_ag_uis_example_shows_subagents_under_their_calls_and_after_a_reload_too(
    tmp_path: Path, tab: ClientProcess, reloaded: ClientProcess
) -> None:
    (tmp_path / "deep.py").write_text(AGENT)
    graph = f"{tmp_path / 'deep.py'}:graph"
    async with serving(settings(tmp_path / "t.db", graph=graph, **ALLOWED)) as server:
        await tab.do("open", example="ag-ui", url=server.url)
        await tab.do("type", text="moss and fern")
        await tab.do("shows", text="Written: ")
        await tab.do("withdraws", name="Stop")
        live = await report(tab)
        assert live["text"].count("Looking.") == 2
        tab.close()
        await reloaded.do("open", example="ag-ui", url=server.url, hash=live["hash"])
        await reloaded.do("shows", text="Written: ")
        assert (await report(reloaded))["text"] == live["text"]


@pytest.mark.full
async def test_a_reload_after_the_end_shows_what_was_missed(
    tmp_path: Path, tab: ClientProcess, reloaded: ClientProcess
) -> None:
    pause = Pause(asyncio.Event())
    async with scripted_server(
        tmp_path, reply(Say("The tide "), pause, Say("is high.")), **ALLOWED
    ) as server:
        await tab.do("open", example="assistant-ui", url=server.url)
        await tab.do("type", text="Go on")
        await tab.do("shows", text="The tide ")
        kept = (await report(tab))["storage"]
        pause.event.set()
        await tab.do("withdraws", name="Stop")
        await reloaded.do("open", example="assistant-ui", url=server.url, storage=kept)
        await reloaded.do("shows", text="The tide is high.")
        assert (await report(reloaded))["text"].count("The tide") == 1


@pytest.mark.parametrize("example", ["use-chat", repeat("use-stream"), repeat("ag-ui")])
async def test_again_makes_the_last_answer_anew(
    example: str, tmp_path: Path, tab: ClientProcess
) -> None:
    async with scripted_server(
        tmp_path, text_reply("First."), text_reply("Second."), **ALLOWED
    ) as server:
        await tab.do("open", example=example, url=server.url)
        await tab.do("type", text="Go on")
        await tab.do("shows", text="First.")
        await tab.do("press", name="Again")
        await tab.do("shows", text="Second.")
        await tab.do("offers", name="Again")
        assert "First." not in (await report(tab))["text"]


@pytest.mark.full
async def test_a_page_of_an_origin_that_is_not_allowed_gets_nothing(
    tmp_path: Path, tab: ClientProcess
) -> None:
    async with scripted_server(tmp_path) as server:
        await tab.do("open", example="assistant-ui", url=server.url)
        await tab.do("type", text="Go on")
        await tab.do("alerted")
        assert (await tab.report())["alerts"] == ["Failed to fetch"]
        assert (await server.http.http.get("/threads")).json()["threads"] == []


def packages(folder: Path) -> dict[str, str]:
    pinned: dict[str, str] = json.loads((folder / "package.json").read_text())["dependencies"]
    return pinned


@EXAMPLES
def test_an_example_pins_the_versions_that_are_tested_here(example: str) -> None:
    assert packages(APPS / example).items() <= packages(HERE).items()


def test_the_lock_file_names_no_registry() -> None:
    lock = json.loads((HERE / "package-lock.json").read_text())
    assert len(lock["packages"]) > 100
    assert [name for name, package in lock["packages"].items() if "resolved" in package] == []
