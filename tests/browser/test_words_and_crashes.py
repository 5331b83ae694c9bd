"""Nobody loses a word by a server that is killed: another comes in its place, on its address."""

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.browser.conftest import Visitors, both_looks
from tests.browser.networks import reconnect
from tests.browser.site import Visit
from tests.browser.test_branches import expect_version, expect_words, step
from tests.browser.test_threads_page import delete
from tests.browser.test_words_kept import begin_edit, send_edit, threads
from tests.support.endpoint import Pause, Say, StrictEndpoint, reply, text_reply
from tests.support.forked_server import ForkedServer, forked_server
from tests.support.serving import (
    Client,
    endpoint_environment,
    endpoint_settings,
    serving,
    settings,
)
from tests.support.waiting import until
from turnstream.server.extensions.built_in import ServerSettings as Settings


@pytest.fixture
def given(tmp_path: Path) -> Settings:
    return settings(tmp_path / "t.db")


@pytest_asyncio.fixture(loop_scope="session")
async def server(tmp_path: Path) -> AsyncIterator[ForkedServer]:
    async with forked_server(tmp_path / "t.db") as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def visit(server: ForkedServer, visitors: Visitors, look: str) -> Visit:
    return await (await visitors(server.url, look)).open()


@asynccontextmanager
async def next_after(server: ForkedServer, given: Settings) -> AsyncIterator[Client]:
    """The server is killed if it lives, and another has its address."""
    server.kill()
    await server.exit_status()
    async with serving(given, port=int(server.url.rpartition(":")[2])) as client:
        yield client


async def test_a_message_to_a_server_that_was_killed_is_sent_to_the_next_by_one_of_two_tabs(
    visit: Visit, visitors: Visitors, server: ForkedServer, given: Settings
) -> None:
    await visit.ask("Hello")
    other = await (await visitors.beside(visit)).open(await visit.thread_id())
    await expect(other.replies).to_have_count(1)
    server.kill()
    await visit.say("Still there?")
    for tab in (visit, other):
        await expect(tab.said.last).to_contain_text("Not sent yet")
    async with next_after(server, given) as client:
        await visit.page.reload()
        for tab in (visit, other):
            await expect(tab.replies).to_have_count(2)
            await tab.idle()
            await expect(tab.log).not_to_contain_text("Not sent yet")
            await expect(tab.said).to_have_text([re.compile("Hello"), re.compile("Still")])
        assert len((await client.thread(await visit.thread_id()))["messages"]) == 4


@both_looks
async def test_what_a_killed_server_had_said_stays_on_the_page_and_is_continued(
    visitors: Visitors, tmp_path: Path, look: str
) -> None:
    database = tmp_path / "t.db"

    def kept() -> list[str]:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as store:
            return [words for (words,) in store.execute("SELECT words FROM unfinished_answers")]

    async with forked_server(database, OFFLINE_WORD_SECONDS="0.1") as server:
        visit = await (await visitors(server.url, look)).open()
        await visit.say("Write 60 words")
        other = await (await visitors.beside(visit)).open(await visit.thread_id())
        await until(lambda: any("lighthouse" in words for words in kept()))
        for tab in (visit, other):
            await expect(tab.reply).to_contain_text("lighthouse")
        server.kill()
        for tab in (visit, other):
            await expect(tab.page.locator("#connection")).to_contain_text("Reconnecting, attempt")
            await expect(tab.status).to_contain_text("Reconnecting")
        async with next_after(server, settings(database)):
            for tab in (visit, other):
                await reconnect(tab)
                await expect(tab.alert).to_contain_text("interrupted", timeout=20_000)
                await expect(tab.reply).to_contain_text("lighthouse")
            await visit.page.reload()
            await expect(visit.reply).to_contain_text("lighthouse")
            await visit.button("Continue").click()
            for tab in (visit, other):
                await expect(tab.alert).to_have_count(0)
                await tab.idle()
                await expect(tab.reply).to_contain_text("lighthouse")


@pytest.mark.full
async def test_a_thread_deleted_before_the_server_was_killed_does_not_come_back(
    visit: Visit, visitors: Visitors, server: ForkedServer, given: Settings, look: str
) -> None:
    await visit.ask("Hello")
    elsewhere = await (await visitors(server.url, look)).open(await visit.thread_id())
    await delete(elsewhere, "Hello")
    server.kill()
    await visit.say("Are you there?")
    await expect(visit.said.last).to_contain_text("Not sent yet")
    async with next_after(server, given) as client:
        await reconnect(visit)
        await expect(visit.log).to_contain_text("This thread is gone")
        await expect(visit.field).to_have_value("Are you there?")
        await visit.button("Send").click()
        await expect(visit.field).to_have_value("Are you there?")
        assert await threads(client) == []


async def test_what_a_reply_made_anew_has_replaced_is_there_after_a_kill(
    visitors: Visitors, endpoint: StrictEndpoint, tmp_path: Path, look: str
) -> None:
    endpoint.script(text_reply("One."), text_reply("Two."))
    endpoint.script(reply(Say("Three"), Pause(asyncio.Event())), text_reply("Four."))
    given = endpoint_settings(tmp_path / "t.db", endpoint)
    async with forked_server(tmp_path / "t.db", **endpoint_environment(endpoint)) as server:
        visit = await (await visitors(server.url, look)).open()
        await visit.ask("First")
        await visit.ask("Second")
        other = await (await visitors.beside(visit)).open(await visit.thread_id())
        await expect(other.replies).to_have_count(2)
        await visit.replies.first.hover()
        await visit.replies.first.get_by_role("button", name="Regenerate reply").click()
        await visit.page.get_by_role("dialog").get_by_role("button", name="Regenerate").click()
        for tab in (visit, other):
            await expect(tab.replies).to_have_text([re.compile("Three")])
        async with next_after(server, given):
            for tab in (visit, other):
                await reconnect(tab)
                await expect(tab.alert).to_contain_text("interrupted", timeout=20_000)
            await visit.button("Continue").click()
            for tab in (visit, other):
                await expect(tab.reply).to_contain_text("Four.")
                await expect(tab.reply).to_have_attribute("aria-busy", "false")
                await expect_version(tab.reply, "2/2")
                await step(tab.reply, "Previous")
                await expect_words(tab, "First", "One.", "Second", "Two.")


@pytest.mark.full
async def test_what_a_reply_made_anew_replaces_is_there_after_a_kill_before_its_first_word(
    visitors: Visitors, endpoint: StrictEndpoint, tmp_path: Path, look: str
) -> None:
    endpoint.script(text_reply("One."), reply(Pause(asyncio.Event())), text_reply("Two."))
    given = endpoint_settings(tmp_path / "t.db", endpoint)
    async with forked_server(tmp_path / "t.db", **endpoint_environment(endpoint)) as server:
        visit = await (await visitors(server.url, look)).open()
        await visit.ask("First")
        await visit.reply.hover()
        await visit.button("Regenerate reply").click()
        await until(lambda: len(endpoint.requests) == 2)
        async with next_after(server, given):
            await reconnect(visit)
            await expect(visit.alert).to_contain_text("interrupted", timeout=20_000)
            await expect_version(visit.reply, "2/2")
            await step(visit.reply, "Previous")
            await expect_words(visit, "First", "One.")
            await step(visit.reply, "Next")
            await expect(visit.alert).to_contain_text("interrupted")
            await visit.button("Continue").click()
            await expect_words(visit, "First", "Two.")
            await expect_version(visit.reply, "2/2")


async def test_what_is_edited_and_drafted_outlives_the_server_and_asks_before_it_drops_anything(
    visit: Visit, server: ForkedServer, given: Settings
) -> None:
    await visit.ask("Hello")
    thread_id = await visit.thread_id()
    field = await begin_edit(visit)
    await field.fill("Hello, in other words")
    server.kill()
    await send_edit(visit)
    problem = visit.page.locator(".editor").get_by_role("alert")
    await expect(problem).to_contain_text("cannot be reached")
    await visit.field.fill("A draft")
    async with next_after(server, given) as client:
        await client.turn({"thread_id": thread_id, "message": "From elsewhere"})
        await visit.page.reload()
        await expect(visit.replies).to_have_count(2)
        await expect(visit.field).to_have_value("A draft")
        await expect(field).to_have_value("Hello, in other words")
        await send_edit(visit)
        await expect(problem).to_contain_text("gone on elsewhere")
        await send_edit(visit)
        await expect(visit.said).to_have_text([re.compile("Hello, in other words")])
        await expect(visit.field).to_have_value("A draft")


@pytest.mark.full
async def test_what_is_ticked_outlives_the_server(
    visit: Visit, server: ForkedServer, given: Settings
) -> None:
    await visit.ask("Let me choose between red, green and blue")
    green = visit.page.get_by_role("radio", name="green")
    await green.check()
    server.kill()
    await visit.button("Answer").click()
    await expect(visit.log).to_contain_text("Your answer was not sent.")
    async with next_after(server, given):
        await visit.page.reload()
        await expect(green).to_be_checked()
        await visit.button("Answer").click()
        await expect(visit.page.locator(".answered")).to_contain_text("green")
        await visit.idle()
