"""The page over plain HTTP from another host: no secure context, as in a first try on a LAN."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.browser.conftest import LOOKS, Visitors
from tests.browser.site import PLAIN_HOST, Visit
from tests.browser.test_queue import queue, waiting
from tests.support.endpoint import Pause, Say, StrictEndpoint, reply, text_reply
from tests.support.serving import Client, endpoint_settings, serving

pytestmark = pytest.mark.parametrize("look", LOOKS[:1])


@pytest_asyncio.fixture(loop_scope="session")
async def lan_client(tmp_path: Path, endpoint: StrictEndpoint) -> AsyncIterator[Client]:
    """A server that serves the other host too."""
    hosts = f"127.0.0.1,{PLAIN_HOST}"
    async with serving(
        endpoint_settings(tmp_path / "t.db", endpoint, allowed_hosts=hosts)
    ) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def lan_visit(lan_client: Client, visitors: Visitors, look: str) -> Visit:
    visit = await visitors(lan_client.url.replace("127.0.0.1", PLAIN_HOST), look)
    await visit.open()
    assert await visit.page.evaluate("() => isSecureContext") is False
    return visit


async def test_a_message_is_sent_and_its_reply_is_there_after_a_reload(
    lan_visit: Visit, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Hello over the LAN."), text_reply("And again."))
    await expect(await lan_visit.ask("Hello")).to_have_text(re.compile("Hello over the LAN."))
    await lan_visit.page.reload()
    await expect(lan_visit.reply).to_contain_text("Hello over the LAN.")
    await expect(await lan_visit.ask("Again")).to_contain_text("And again.")
    await expect(lan_visit.said).to_have_count(2)


async def test_a_reply_and_its_code_are_copied(lan_visit: Visit, endpoint: StrictEndpoint) -> None:
    endpoint.script(text_reply("Use this:\n\n```js\nconst a = 1;\n```\n"))
    reply_ = await lan_visit.ask("How?")
    for name, copied in (("Copy code", "const a = 1;"), ("Copy message", "Use this:\n\n```js")):
        await reply_.hover()
        await reply_.get_by_role("button", name=name).click()
        await expect(lan_visit.status).to_have_text("Copied")
        await expect(reply_.get_by_role("button", name=name)).to_be_focused()
        await lan_visit.field.fill("")
        await lan_visit.field.press("Control+V")
        await expect(lan_visit.field).to_have_value(re.compile(f"^{re.escape(copied)}"))
    await expect(lan_visit.page.locator(".copied-text")).to_have_count(0)


async def test_what_cannot_be_copied_is_said(lan_visit: Visit, endpoint: StrictEndpoint) -> None:
    endpoint.script(text_reply("Words."))
    reply_ = await lan_visit.ask("Hello")
    await lan_visit.page.evaluate("() => { document.execCommand = () => false; }")
    await reply_.hover()
    await reply_.get_by_role("button", name="Copy message").click()
    await expect(lan_visit.page.locator("#connection")).to_contain_text("Select the text")
    lan_visit.worn = True


async def test_messages_queued_in_mid_reply_are_sent_one_by_one(
    lan_visit: Visit, endpoint: StrictEndpoint
) -> None:
    gate = asyncio.Event()
    endpoint.script(reply(Say("One"), Pause(gate), Say(" and done.")), text_reply("Two."))
    await lan_visit.say("First")
    await expect(lan_visit.reply).to_contain_text("One")
    await queue(lan_visit, "Second")
    gate.set()
    await expect(lan_visit.reply).to_contain_text("Two.")
    await expect(waiting(lan_visit)).to_have_count(0)
    await expect(lan_visit.said).to_have_count(2)


async def test_what_waits_for_a_new_thread_is_one_tabs_until_that_is_closed(
    lan_visit: Visit, visitors: Visitors, endpoint: StrictEndpoint
) -> None:
    first, context = lan_visit, lan_visit.page.context
    await context.route("**/chat", lambda route: route.abort())
    await first.field.fill("Hello")
    await first.field.press("Enter")
    await expect(first.page.locator(".unsent")).to_contain_text("Hello")
    second = await visitors.beside(first)
    await second.open()
    await expect(second.page.locator(".example").first).to_be_visible()
    third = await visitors.beside(first)
    await third.open()
    await expect(third.page.locator(".unsent")).to_have_count(0)
    await third.page.close()
    await first.page.close()
    await expect(second.page.locator(".unsent")).to_contain_text("Hello")
    endpoint.script(text_reply("Hello over the LAN."))
    await context.unroute("**/chat")
    await second.page.reload()
    await expect(second.reply).to_contain_text("Hello over the LAN.")


async def test_a_host_that_is_not_served_is_told_the_setting(
    visitors: Visitors, page_server: Client, look: str
) -> None:
    visit = await visitors(page_server.url.replace("127.0.0.1", PLAIN_HOST), look)
    answer = await visit.page.goto(visit.url)
    assert answer
    assert answer.status == 403
    await expect(visit.page.locator("body")).to_contain_text(
        "Add its name to TURNSTREAM_ALLOWED_HOSTS."
    )
    visit.worn = True


async def test_an_origin_that_is_not_allowed_is_told_the_setting(lan_visit: Visit) -> None:
    refusal = {
        "status": 403,
        "code": "origin_not_allowed",
        "detail": "Pages of 'http://lan' may not call this server. "
        "Add the origin to TURNSTREAM_ALLOWED_ORIGINS.",
    }
    await lan_visit.page.route("**/chat", lambda route: route.fulfill(status=403, json=refusal))
    await lan_visit.field.fill("Hello")
    await lan_visit.field.press("Enter")
    await expect(lan_visit.alert).to_contain_text("TURNSTREAM_ALLOWED_ORIGINS")
