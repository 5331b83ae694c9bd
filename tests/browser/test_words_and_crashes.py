"""Nobody loses a word by a server that is killed: another comes in its place, on its address."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import expect

from tests.browser.conftest import Visitors
from tests.browser.site import Visit
from tests.browser.test_branches import expect_version, step
from tests.browser.test_threads_page import delete
from tests.browser.test_words_kept import begin_edit, send_edit, threads
from tests.support.forked_server import ForkedServer, forked_server
from tests.support.serving import Client, serving, settings


@asynccontextmanager
async def next_after(server: ForkedServer, database: Path) -> AsyncIterator[Client]:
    """The server is killed if it lives, and another has its database and its address."""
    server.kill()
    await server.exit_status()
    port = int(server.url.rpartition(":")[2])
    async with serving(settings(database), port=port) as client:
        yield client


async def reconnect(visit: Visit) -> None:
    """At once: a tab tries again when its browser is online."""
    await visit.page.evaluate("() => { dispatchEvent(new Event('online')) }")


async def test_a_thread_deleted_before_the_server_was_killed_does_not_come_back(
    visitors: Visitors, tmp_path: Path, look: str
) -> None:
    database = tmp_path / "t.db"
    async with forked_server(database) as server:
        visit = await (await visitors(server.url, look)).open()
        await visit.ask("Hello")
        elsewhere = await (await visitors(server.url, look)).open(await visit.thread_id())
        await delete(elsewhere, "Hello")
        server.kill()
        await visit.say("Are you there?")
        await expect(visit.said.last).to_contain_text("Not sent yet")
        async with next_after(server, database) as client:
            await visit.button("Retry").click()
            await expect(visit.log).to_contain_text("This thread is gone")
            await expect(visit.field).to_have_value("Are you there?")
            await visit.button("Send").click()
            await expect(visit.field).to_have_value("Are you there?")
            assert await threads(client) == []


async def test_what_a_reply_made_anew_has_replaced_is_there_after_a_kill(
    visitors: Visitors, tmp_path: Path, look: str
) -> None:
    database = tmp_path / "t.db"
    async with forked_server(database, OFFLINE_WORD_SECONDS="0.04") as server:
        visit = await (await visitors(server.url, look)).open()
        await visit.ask("Write 20 words")
        await visit.ask("What is 6 * 7?")
        other = await (await visitors.beside(visit)).open(await visit.thread_id())
        await expect(other.replies).to_have_count(2)
        await visit.replies.first.hover()
        await visit.replies.first.get_by_role("button", name="Regenerate reply").click()
        await visit.page.get_by_role("dialog").get_by_role("button", name="Regenerate").click()
        for tab in (visit, other):
            await expect(tab.replies).to_have_count(1)
            await expect(tab.reply).to_have_attribute("aria-busy", "true")
        async with next_after(server, database):
            for tab in (visit, other):
                await reconnect(tab)
                await expect(tab.alert).to_contain_text("interrupted", timeout=20_000)
            await visit.button("Continue").click()
            for tab in (visit, other):
                await expect(tab.reply).to_have_attribute("aria-busy", "false")
                await expect_version(tab.reply, "2/2")
                await step(tab.reply, "Previous")
                await expect(tab.replies).to_have_text([re.compile("lighthouse"), re.compile("42")])


async def test_what_is_edited_and_drafted_outlives_the_server_and_asks_before_it_drops_anything(
    visitors: Visitors, tmp_path: Path, look: str
) -> None:
    database = tmp_path / "t.db"
    async with forked_server(database) as server:
        visit = await (await visitors(server.url, look)).open()
        await visit.ask("Hello")
        thread_id = await visit.thread_id()
        field = await begin_edit(visit)
        await field.fill("Hello, in other words")
        server.kill()
        await send_edit(visit)
        problem = visit.page.locator(".editor").get_by_role("alert")
        await expect(problem).to_contain_text("cannot be reached")
        await visit.field.fill("A draft")
        async with next_after(server, database) as client:
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


async def test_what_is_ticked_outlives_the_server(
    visitors: Visitors, tmp_path: Path, look: str
) -> None:
    database = tmp_path / "t.db"
    async with forked_server(database) as server:
        visit = await (await visitors(server.url, look)).open()
        await visit.ask("Let me choose between red, green and blue")
        green = visit.page.get_by_role("radio", name="green")
        await green.check()
        server.kill()
        await visit.button("Answer").click()
        await expect(visit.log).to_contain_text("Your answer was not sent.")
        async with next_after(server, database):
            await visit.page.reload()
            await expect(green).to_be_checked()
            await visit.button("Answer").click()
            await expect(visit.page.locator(".answered")).to_contain_text("green")
            await visit.idle()
