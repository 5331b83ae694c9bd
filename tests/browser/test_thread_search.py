"""The search in the list of threads; what is pinned, archived, deleted and brought back; days."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import Route, expect

from tests.browser.conftest import Visitors, all_looks, both_layouts, both_looks
from tests.browser.site import axe
from tests.browser.test_accessibility import AXE
from tests.browser.test_threads_page import beside_threads, show_list
from tests.support.serving import Client, serving, settings


@pytest_asyncio.fixture(loop_scope="session")
async def undoing(tmp_path: Path) -> AsyncIterator[Client]:
    """A server whose deletions can be undone."""
    async with serving(settings(tmp_path / "undo.db", undo_seconds=60)) as client:
        yield client


@all_looks
async def test_words_are_found_in_titles_and_texts_and_marked(
    visitors: Visitors, client: Client, look: str
) -> None:
    for message in ("What is 17 * 23?", "Write 60 words", "Hello <b>there</b>"):
        await client.turn({"message": message})
    visit = await (await visitors(client.url, look)).open()
    await show_list(visit)
    field = visit.page.get_by_role("searchbox", name="Search threads")
    await field.fill("lightho")
    found = visit.page.locator("#thread-list .found")
    await expect(found).to_have_count(1)
    await expect(found.locator(".thread-title")).to_have_text("Write 60 words")
    await expect(found.locator(".thread-excerpt mark").first).to_have_text("lighthouse")
    await expect(visit.status).to_have_text("1 thread found")
    assert await axe(visit.page, AXE) == []
    await field.fill("<b>there")
    await expect(found.locator(".thread-title")).to_have_text("Hello <b>there</b>")
    await expect(found.locator(".thread-title mark")).to_have_text(["b", "there", "b"])
    await field.fill("...")
    await expect(visit.page.locator(".threads-note")).to_contain_text("letters or digits")
    await field.fill("zebra")
    await expect(visit.page.locator(".threads-note")).to_have_text("No thread has these words.")
    await expect(visit.status).to_have_text("No thread found")


async def test_without_a_search_the_list_has_no_field(visitors: Visitors, tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "off.db", search=False)) as client:
        await client.turn({"message": "Hello"})
        visit = await (await visitors(client.url, "desktop light")).open()
        await expect(visit.page.locator("#thread-list a")).to_have_count(1)
        await expect(visit.page.get_by_role("searchbox", name="Search threads")).to_have_count(0)
        await visit.page.keyboard.press("Control+Shift+F")
        await expect(visit.page.locator("#thread-list a")).to_be_focused()


async def test_the_search_is_used_with_keys_alone(visitors: Visitors, client: Client) -> None:
    for message in ("Hello one", "Hello two", "Another"):
        await client.turn({"message": message})
    visit = await (await visitors(client.url, "desktop light")).open()
    field = visit.page.get_by_role("searchbox", name="Search threads")
    links = visit.page.locator("#thread-list a")
    await field.focus()
    await visit.page.keyboard.type("hello")
    await expect(links).to_have_count(2)
    await visit.page.keyboard.press("ArrowDown")
    await expect(links.first).to_be_focused()
    await visit.page.keyboard.press("Escape")
    await expect(field).to_be_focused()
    await expect(field).to_have_value("")
    await expect(links).to_have_count(3)
    await visit.page.keyboard.type("two")
    await expect(links).to_have_count(1)
    await visit.page.keyboard.press("Enter")
    await expect(links.first).to_be_focused()
    await visit.page.keyboard.press("Enter")
    await expect(visit.said).to_have_text("Hello two")
    await expect(visit.said.locator("time")).to_have_attribute("data-shown", re.compile(r"\d:\d\d"))
    await field.focus()
    await visit.page.keyboard.press("Escape")
    await expect(links).to_have_count(3)
    await visit.page.keyboard.press("Escape")
    await expect(visit.field).to_be_focused()


@both_looks
async def test_a_deleted_thread_is_brought_back(
    visitors: Visitors, undoing: Client, look: str
) -> None:
    ids = [(await undoing.turn({"message": f"Thread {n}"}))[0] for n in (1, 2)]
    visit = await (await visitors(undoing.url, look)).open(ids[0])
    other = await (await visitors.beside(visit)).open(ids[0])
    for tab in (visit, other):
        await expect(tab.said).to_have_text("Thread 1")
    await visit.field.fill("And then?")
    await show_list(visit)
    link = visit.page.get_by_role("link", name="Thread 1")
    await link.hover()
    await visit.button("Delete Thread 1").click()
    await expect(link).to_have_count(0)
    await expect(visit.page.locator("#title")).to_have_text("New thread")
    await expect(visit.page.locator("#undo")).to_contain_text("Deleted “Thread 1”.")
    await expect(visit.status).to_contain_text("can be undone")
    await expect(other.log).to_contain_text("This thread is gone")
    assert await axe(visit.page, AXE) == []
    await visit.button("Undo").click()
    await expect(visit.page.locator("#undo")).to_be_hidden()
    for tab in (visit, other):
        await expect(tab.said).to_have_text("Thread 1")
    await expect(visit.field).to_have_value("And then?")
    await show_list(visit)
    await expect(link).to_be_visible()


@both_looks
async def test_a_deletion_that_takes_long_leaves_the_thread_that_was_opened_meanwhile(
    visitors: Visitors, undoing: Client, look: str
) -> None:
    ids = [(await undoing.turn({"message": f"Thread {n}"}))[0] for n in (1, 2)]
    visit = await (await visitors(undoing.url, look)).open(ids[0])
    await expect(visit.said).to_have_text("Thread 1")
    go_on = asyncio.Event()

    async def late(route: Route) -> None:
        await go_on.wait()
        await route.continue_()

    await visit.page.route(f"**/threads/{ids[0]}", late)
    await show_list(visit)
    await visit.page.get_by_role("link", name="Thread 1").hover()
    async with visit.page.expect_request(f"**/threads/{ids[0]}"):
        await visit.button("Delete Thread 1").click()
    await visit.page.get_by_role("link", name="Thread 2").click()
    await expect(visit.said).to_have_text("Thread 2")
    await visit.field.fill("And then?")
    go_on.set()
    await expect(visit.page.locator("#undo")).to_contain_text("Deleted “Thread 1”.")
    await expect(visit.said).to_have_text("Thread 2")
    await expect(visit.field).to_have_value("And then?")
    assert await visit.thread_id() == ids[1]


async def test_a_thread_that_was_found_is_deleted_by_its_own_name(
    visitors: Visitors, undoing: Client
) -> None:
    await undoing.turn({"message": "Needle"})
    for number in range(31):
        await undoing.turn({"message": f"Thread {number}"})
    visit = await (await visitors(undoing.url)).open()
    await visit.page.get_by_role("searchbox", name="Search threads").fill("needle")
    found = visit.page.locator("#thread-list .found a")
    await expect(found).to_have_count(1)
    await found.press("F2")
    await found.press("Delete")
    await expect(visit.page.locator("#undo")).to_contain_text("Deleted “Needle”.")
    await expect(visit.page.locator(".threads-note")).to_have_text("No thread has these words.")
    await expect(visit.button("New thread")).to_be_focused()


@both_looks
async def test_a_pinned_thread_comes_first_and_an_archived_one_goes_elsewhere(
    visitors: Visitors, client: Client, look: str
) -> None:
    for number in range(3):
        await client.turn({"message": f"Thread {number}"})
    visit = await (await visitors(client.url, look)).open()
    await show_list(visit)
    titles = visit.page.locator("#thread-list .thread-title")
    headings = visit.page.locator("#thread-list h3")
    await visit.page.get_by_role("link", name="Thread 0").hover()
    await visit.button("Pin Thread 0").click()
    await expect(titles).to_have_text(["Thread 0", "Thread 2", "Thread 1"])
    await expect(headings).to_have_text(["Pinned", "Today"])
    await expect(visit.page.get_by_role("link", name="Thread 0")).to_be_focused()
    await visit.page.get_by_role("link", name="Thread 2").hover()
    await visit.button("Archive Thread 2").click()
    await expect(titles).to_have_text(["Thread 0", "Thread 1"])
    await visit.button("Undo").click()
    await expect(titles).to_have_text(["Thread 0", "Thread 2", "Thread 1"])
    await visit.page.get_by_role("link", name="Thread 2").hover()
    await visit.button("Archive Thread 2").click()
    await visit.button("Archived threads").click()
    await expect(titles).to_have_text(["Thread 2"])
    assert await axe(visit.page, AXE) == []
    await visit.page.get_by_role("link", name="Thread 2").hover()
    await visit.button("Unarchive Thread 2").click()
    await expect(visit.page.locator(".threads-note")).to_have_text("Nothing is archived.")
    await visit.button("Back to all threads").click()
    await expect(titles).to_have_text(["Thread 0", "Thread 2", "Thread 1"])


@both_layouts
async def test_each_thread_has_the_time_of_its_last_turn(
    visitors: Visitors, client: Client, look: str
) -> None:
    visit = await beside_threads(visitors, client, look, 3, opened=2)
    if "phone" in look:
        await visit.page.set_viewport_size({"width": 360, "height": 800})
    times = visit.page.locator("#thread-list .thread-time")
    await expect(times).to_have_text([re.compile(r"^\d\d:\d\d$")] * 3)
    for time in await times.all():
        await expect(time).to_be_visible()
