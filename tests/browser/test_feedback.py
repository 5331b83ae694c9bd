"""Thumbs below replies."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import expect

from tests.browser.conftest import Visitors, both_looks
from tests.browser.site import Visit
from tests.support.endpoint import StrictEndpoint, text_reply
from tests.support.serving import Client, endpoint_settings, serving


@pytest_asyncio.fixture(loop_scope="session")
async def server(tmp_path: Path, endpoint: StrictEndpoint) -> AsyncIterator[Client]:
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint, feedback=True)) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def visit(server: Client, visitors: Visitors, look: str) -> Visit:
    return await (await visitors(server.url, look)).open()


async def given(server: Client) -> list[tuple[str, str]]:
    (thread,) = (await server.http.get("/threads")).json()["threads"]
    found = (await server.http.get(f"/threads/{thread['id']}/feedback")).json()["feedback"]
    return [(each["value"], each["reason"]) for each in found]


REFUSED = {"code": "too_much_feedback", "detail": "Take some of it back."}


@both_looks
async def test_a_thumb_is_sent_with_a_reason_and_is_there_after_a_reload(
    visit: Visit, server: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("6 * 7 is 43."))
    reply = await visit.ask("What is 6 * 7?")
    bad = reply.get_by_role("button", name="Bad reply")
    await bad.click()
    await expect(visit.page.get_by_text("Feedback sent")).to_be_attached()
    await reply.get_by_label("Reason").fill("It is 42.")
    await reply.get_by_label("Reason").press("Enter")
    await expect(reply.get_by_label("Reason")).to_have_count(0)
    await visit.page.reload()
    await expect(bad).to_have_attribute("aria-pressed", "true")
    assert await given(server) == [("down", "It is 42.")]


async def test_a_thumb_that_is_pressed_again_is_taken_back(
    visit: Visit, server: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("42"))
    reply = await visit.ask("What is 6 * 7?")
    good = reply.get_by_role("button", name="Good reply")
    await good.click()
    await expect(visit.page.get_by_text("Feedback sent")).to_be_attached()
    await good.click()
    await expect(visit.page.get_by_text("Feedback taken back")).to_be_attached()
    await expect(good).to_have_attribute("aria-pressed", "false")
    assert await given(server) == []


async def test_feedback_that_was_refused_is_not_shown_as_given(
    visit: Visit, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("42"))
    reply = await visit.ask("What is 6 * 7?")
    await visit.page.route("**/feedback", lambda route: route.fulfill(status=409, json=REFUSED))
    good = reply.get_by_role("button", name="Good reply")
    await good.click()
    await expect(visit.page.locator("#connection")).to_contain_text("Take some of it back.")
    await expect(good).to_have_attribute("aria-pressed", "false")


async def test_there_are_no_thumbs_where_the_server_takes_none(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("42"))
    reply = await scripted_visit.ask("What is 6 * 7?")
    await expect(reply.get_by_role("button", name="Regenerate reply")).to_be_visible()
    await expect(reply.get_by_role("button", name="Good reply")).to_have_count(0)
