"""A package of an integrator: one component with an action, a theme and prompts.

Two settings add it to an installed turnstream. What may go wrong with a component is here too.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Visitors, both_looks
from tests.browser.site import Visit, axe, size_of
from tests.browser.test_accessibility import AXE
from tests.browser.test_components import RENDER, show
from tests.browser.test_export import saved
from tests.clients.driver import ClientProcess
from tests.clients.message_parts import parts_of_ui_message
from tests.clients.scripted_turns import call
from tests.support.endpoint import Args, Call, Pause, StrictEndpoint, call_reply, reply
from tests.support.npm import CLIENTS, require
from tests.support.serving import PROJECT, Client, endpoint_settings, serving
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool
from turnstream.tools.ui import render_ui_component

COMPONENTS = PROJECT / "tests" / "data" / "components"
"""One component, with everything that a folder may hold."""
PAGE = """
title = "Grid desk"

[colours]
accent = { light = "#7a1fa2", dark = "#d9a6f0" }
on-accent = { light = "#ffffff", dark = "#2a0638" }
tint = { light = "#f5e9fa", dark = "#2b1833" }

[welcome]
heading = "What happens in the grid?"

[[prompts]]
heading = "Every morning"
prompts = [{ label = "The load", message = "Show the load of the night." }]
"""
ACCENTS = {"light": "rgb(122, 31, 162)", "dark": "rgb(217, 166, 240)"}
GAUGE = {"title": "Load", "value": 70, "unit": "kW", "alarm": 7, "readings": [10, 70]}
DRAWN = {"component": "alarm_gauge", "props": GAUGE}
GAUGE_TEXT = "**Load**\n\nAt 70 kW"
acknowledged: list[int] = []


@real_tool(client_fields=["alarm"], needs_approval=lambda args, _caller: args["alarm"] > 100)
def acknowledge(alarm: int) -> dict[str, Any]:
    """Acknowledge an alarm.

    Args:
        alarm: Its number.
    """
    acknowledged.append(alarm)
    return {"alarm": alarm}


@pytest.fixture(autouse=True)
def _two_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.toml").write_text(PAGE, encoding="utf-8")
    monkeypatch.setenv("TURNSTREAM_COMPONENTS", str(COMPONENTS))
    monkeypatch.setenv("TURNSTREAM_PAGE", str(tmp_path / "page.toml"))


@asynccontextmanager
async def served(endpoint: StrictEndpoint, folder: Path) -> AsyncIterator[Client]:
    own = endpoint_settings(folder / "t.db", endpoint)
    async with serving(own, Catalogue((acknowledge,), (render_ui_component,))) as client:
        yield client


@asynccontextmanager
async def desk(
    endpoint: StrictEndpoint,
    visitors: Visitors,
    folder: Path,
    look: str = "desktop light",
) -> AsyncIterator[Visit]:
    """A visit to a server with the package."""
    async with served(endpoint, folder) as client:
        yield await (await visitors(client.url, look)).open()


@both_looks
async def test_a_prompt_of_the_package_shows_its_component_in_its_colours(
    endpoint: StrictEndpoint, visitors: Visitors, tmp_path: Path, look: str
) -> None:
    more = Pause(asyncio.Event())
    endpoint.script(
        reply(
            Call(0, "c1", RENDER, '{"component": "alarm_gauge", "props": {"title": "Load", "un'),
            more,
            Args(0, 'it": "kW", "value": 70, "alarm": 7, "readings": [10, 70]}}'),
        )
    )
    async with desk(endpoint, visitors, tmp_path, look) as visit:
        page, figure = visit.page, visit.reply.locator("figure")
        await expect(page).to_have_title("New thread · Grid desk")
        await expect(page.get_by_role("heading", name="What happens in the grid?")).to_be_visible()
        await visit.button("The load").click()
        await expect(visit.said).to_contain_text("Show the load of the night.")
        await expect(figure.locator(".skeleton.list")).to_be_visible()
        await expect(figure.get_by_role("heading")).to_have_text("Load")
        more.event.set()
        await visit.idle()
        await expect(figure.locator("meter")).to_have_attribute("value", "70")
        await page.reload()
        await expect(figure.locator("rect")).to_have_count(2)
        await expect(figure.locator("svg")).to_have_css("height", "40px")
        await visit.field.fill("Thanks")
        accent = ACCENTS[look.split()[1]]
        await expect(visit.button("Send")).to_have_css("background-color", accent)
        width = await page.evaluate("() => document.documentElement.scrollWidth")
        assert width == size_of(look)["width"]
        assert await axe(page, AXE) == []


async def test_the_component_is_copied_exported_and_printed_in_its_own_words(
    endpoint: StrictEndpoint, visitors: Visitors, tmp_path: Path
) -> None:
    async with desk(endpoint, visitors, tmp_path) as visit:
        await visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        figure = await show(visit, endpoint, "alarm_gauge", GAUGE)
        await visit.reply.get_by_role("button", name="Copy message").click()
        await expect(visit.reply.locator("[data-copy=copied]")).to_be_visible()
        assert await visit.page.evaluate("() => navigator.clipboard.readText()") == GAUGE_TEXT
        assert GAUGE_TEXT in (await saved(visit, "Markdown"))[1]
        await visit.page.emulate_media(media="print")
        await expect(figure.locator("strong")).to_be_visible()
        await expect(figure.get_by_role("button")).to_be_hidden()
        assert len(await visit.page.pdf()) > 1000


async def test_a_button_of_the_component_calls_its_tool_as_the_policy_allows(
    endpoint: StrictEndpoint, visitors: Visitors, tmp_path: Path
) -> None:
    acknowledged.clear()
    async with desk(endpoint, visitors, tmp_path) as visit:
        figure = await show(visit, endpoint, "alarm_gauge", GAUGE)
        await expect(figure.get_by_text("alarm: 7")).to_be_visible()
        await figure.get_by_role("button", name="Acknowledge").click()
        await expect(figure.get_by_role("status")).to_have_text("Acknowledge: done")
        assert acknowledged == [7]
        figure = await show(visit, endpoint, "alarm_gauge", {**GAUGE, "alarm": 101})
        await figure.last.get_by_role("button", name="Acknowledge").click()
        await expect(figure.last.get_by_role("status")).to_contain_text("approve")
        assert acknowledged == [7]


@pytest.fixture
def node_client() -> Iterator[Any]:
    """Begins real clients, by the names of their scripts."""
    require(CLIENTS)
    begun: list[ClientProcess] = []

    def begin(script: str) -> ClientProcess:
        begun.append(ClientProcess(script))
        return begun[-1]

    yield begin
    for client in begun:
        client.close()


async def test_ag_ui_and_use_chat_have_the_same_call(
    endpoint: StrictEndpoint, tmp_path: Path, node_client: Any
) -> None:
    async with served(endpoint, tmp_path) as client:
        endpoint.script(call_reply((RENDER, json.dumps(DRAWN)), ids=("c1",)))
        use_chat = node_client("use-chat.mjs")
        await use_chat.do("open", url=client.url, id="chat-1")
        await use_chat.do("send", text="Show the load")
        _, answer = (await use_chat.report())["messages"]
        assert parts_of_ui_message(answer) == [call(RENDER, DRAWN, DRAWN)]
        endpoint.script(call_reply((RENDER, json.dumps(DRAWN)), ids=("c2",)))
        agent = node_client("ag-ui.mjs")
        await agent.do("open", url=client.url, threadId="thread-1")
        await agent.do("send", text="Show the load")
        report = await agent.report()
        assert report["failures"] == report["warnings"] == []
        _, called, shown = report["messages"]
        assert json.loads(called["toolCalls"][0]["function"]["arguments"]) == DRAWN
        assert json.loads(shown["content"]) == DRAWN


DRAWS = "export const draw = (_, { html }) => html`<b>drawn</b>`;"
DRAW_THROWS = "export const draw = () => missing;"
TEMPLATE_THROWS = "export const draw = (_, { html }) => html`<b>${Symbol()}</b>`;"
TEXT_THROWS = "export const text = () => missing;"
TEXT_IS_NO_TEXT = "export const text = () => undefined;"
TEXT_CANNOT_BE_READ = "export const text ="


@pytest.mark.parametrize(
    ("draw", "text", "shown"),
    [
        (DRAWS, TEXT_THROWS, "drawn"),
        (DRAWS, TEXT_IS_NO_TEXT, "drawn"),
        (DRAWS, TEXT_CANNOT_BE_READ, "drawn"),
        (DRAW_THROWS, None, "This could not be drawn."),
        (TEMPLATE_THROWS, TEXT_THROWS, "This could not be drawn."),
    ],
)
async def test_a_component_that_fails_takes_nothing_else_away(
    endpoint: StrictEndpoint,
    visitors: Visitors,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    draw: str,
    text: str | None,
    shown: str,
) -> None:
    folder = tmp_path / "components" / "faulty"
    folder.mkdir(parents=True)
    (folder / "schema.json").write_text('{"type": "object", "properties": {}}')
    (folder / "draw.js").write_text(draw)
    if text:
        (folder / "text.js").write_text(text)
    monkeypatch.setenv("TURNSTREAM_COMPONENTS", str(folder.parent))
    async with desk(endpoint, visitors, tmp_path) as visit:
        await visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        figure = await show(visit, endpoint, "faulty", {"title": "Load", "n": 7})
        await expect(figure.locator("div").first).to_contain_text(shown)
        await expect(figure.get_by_role("heading")).to_have_text("Load")
        await visit.reply.get_by_role("button", name="Copy message").click()
        await expect(visit.reply.locator("[data-copy=copied]")).to_be_visible()
        copied = await visit.page.evaluate("() => navigator.clipboard.readText()")
        assert copied == "**Load**\n\n- n: 7"
    assert visitors.account.errors, "the console has what failed"
    visitors.account.errors.clear()


async def test_a_button_whose_answer_is_lost_is_not_struck_again(
    endpoint: StrictEndpoint, visitors: Visitors, tmp_path: Path
) -> None:
    async with desk(endpoint, visitors, tmp_path) as visit:
        figure = await show(visit, endpoint, "alarm_gauge", GAUGE)
        await visit.page.route("**/tools/acknowledge", lambda route: route.abort(), times=1)
        await figure.get_by_role("button", name="Acknowledge").click()
        await expect(figure.get_by_role("status")).to_contain_text("it may have been done")
        await expect(figure.get_by_role("button", name="Acknowledge")).to_be_disabled()


async def test_components_that_could_not_be_asked_for_are_asked_for_with_the_next_call(
    endpoint: StrictEndpoint, visitors: Visitors, tmp_path: Path
) -> None:
    async with desk(endpoint, visitors, tmp_path) as visit:
        await visit.page.route("**/components", lambda route: route.abort(), times=1)
        await show(visit, endpoint, "alarm_gauge", GAUGE)
        await expect(visit.cards).to_have_count(1)
        figure = await show(visit, endpoint, "alarm_gauge", GAUGE)
        await expect(figure.last.locator("meter")).to_be_visible()
