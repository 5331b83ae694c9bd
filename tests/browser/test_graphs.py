"""Graphs of one's own: which one a thread belongs to, and no greeting by the demo."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import Locator, Route, expect

from tests.browser.conftest import Visitors, both_layouts, both_looks
from tests.browser.site import Visit
from tests.browser.test_threads_page import begin_anew
from tests.http.test_several_graphs import NAMES, served
from tests.support.serving import Client


@pytest_asyncio.fixture(loop_scope="session")
async def several(tmp_path: Path) -> AsyncIterator[Client]:
    """A server of three graphs, each of which says its name and how many messages came before."""
    async with served(tmp_path, *NAMES) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def choosing(several: Client, visitors: Visitors, look: str) -> Visit:
    return await (await visitors(several.url, look)).open()


def picker(visit: Visit) -> Locator:
    return visit.page.get_by_role("combobox", name="Graph")


def shown(visit: Visit) -> Locator:
    """The graph of a thread that has begun, or the model."""
    return visit.page.locator(".bar span.badge")


async def test_a_graph_of_ones_own_is_greeted_by_its_description_alone(
    visitors: Visitors, tmp_path: Path
) -> None:
    async with served(tmp_path, "writer") as client:
        visit = await (await visitors(client.url)).open()
        await visit.ask("Hello")
        await begin_anew(visit)
        await expect(visit.log).to_contain_text("The last one.")
        await expect(visit.page.locator(".example")).to_have_count(0)
        await expect(visit.page.locator(".badge")).to_have_count(0)


@both_layouts
async def test_a_thread_belongs_to_the_graph_that_was_chosen_for_it(choosing: Visit) -> None:
    await expect(picker(choosing)).to_have_value("writer")
    await picker(choosing).select_option("critic")
    await expect(choosing.log).to_contain_text("The last one.")
    await expect(await choosing.ask("Hello")).to_contain_text("critic 1")
    for _ in range(2):
        await expect(shown(choosing)).to_have_text("Graph: critic")
        await expect(picker(choosing)).to_have_count(0)
        await choosing.page.reload()
    await expect(choosing.replies).to_have_count(1)
    await expect(await choosing.ask("Again")).to_contain_text("critic 3")
    await choosing.reply.get_by_role("button", name="Regenerate reply").click()
    await choosing.idle()
    await expect(choosing.reply).to_contain_text("critic 3")
    await choosing.said.first.hover()
    await choosing.said.first.get_by_role("button", name="Edit message").click()
    await choosing.page.get_by_role("textbox", name="Edit your message").fill("Hello again")
    await choosing.page.locator(".editor").get_by_role("button", name="Send").click()
    await expect(choosing.replies).to_have_count(1)
    await choosing.idle()
    await expect(choosing.reply).to_contain_text("critic 1")


async def test_a_new_thread_begins_with_the_last_choice_and_others_keep_theirs(
    choosing: Visit,
) -> None:
    await picker(choosing).select_option("critic")
    await choosing.ask("Hello")
    await begin_anew(choosing)
    await expect(picker(choosing)).to_have_value("critic")
    await picker(choosing).select_option("planner")
    await choosing.page.reload()
    await expect(picker(choosing)).to_have_value("planner")
    await choosing.page.go_back()
    await expect(shown(choosing)).to_have_text("Graph: critic")
    await expect(choosing.replies).to_have_count(1)
    await expect(await choosing.ask("Again")).to_contain_text("critic 3")


async def test_a_graph_is_chosen_with_the_keyboard(choosing: Visit) -> None:
    await picker(choosing).focus()
    await choosing.page.keyboard.press("ArrowDown")
    await expect(picker(choosing)).to_have_value("planner")
    await expect(picker(choosing)).to_be_focused()
    await expect(await choosing.ask("Hello")).to_contain_text("planner 1")


@both_looks
async def test_messages_that_wait_for_a_new_thread_go_to_the_graph_that_was_chosen_then(
    choosing: Visit,
) -> None:
    async def away(route: Route) -> None:
        await route.abort()

    await picker(choosing).select_option("planner")
    await choosing.page.route("**/chat", away)
    await choosing.say("First")
    await expect(choosing.said.last).to_contain_text("Not sent yet")
    await choosing.page.evaluate("sessionStorage.setItem('graph', 'critic')")
    await choosing.page.reload()
    await expect(shown(choosing)).to_have_text("Graph: planner")
    await choosing.say("Second")
    await expect(choosing.said).to_have_count(2)
    await choosing.page.unroute("**/chat")
    await choosing.page.evaluate("() => { dispatchEvent(new Event('online')) }")
    await expect(choosing.replies).to_have_count(2)
    await choosing.idle()
    words = [re.compile("planner 1"), re.compile("planner 3")]
    await expect(choosing.replies).to_have_text(words)
