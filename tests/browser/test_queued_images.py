"""Images of messages that are queued: kept, given back, and sent once, in one tab or two."""

import asyncio

from playwright.async_api import Locator, expect

from tests.browser.conftest import Visitors, own_profile
from tests.browser.site import Visit
from tests.browser.test_images import KEPT, attached, choose, payload
from tests.browser.test_queue import begin, gate, queue, waiting
from tests.support.endpoint import StrictEndpoint
from tests.support.pictures import png

__all__ = ["gate"]

LEAF = png(24, 16)
WORDS = "What is it?"


async def queue_leaf(visit: Visit, words: str = WORDS) -> Locator:
    """A message with an image, and the image as it waits."""
    await choose(visit, payload("leaf.png", LEAF))
    await queue(visit, words)
    return waiting(visit).locator("img")


def asked(endpoint: StrictEndpoint) -> list[str]:
    """The images that the model was shown last."""
    contents = [message["content"] for message in endpoint.requests[-1]["messages"]]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]


def shown(visit: Visit) -> Locator:
    """The image of the message that was sent."""
    return visit.said.last.get_by_role("img", name="leaf.png")


async def is_kept(visit: Visit, count: int) -> None:
    await visit.page.wait_for_function(f"({KEPT})().then((count) => count === {count})")


async def test_a_queued_image_is_kept_over_a_reload_given_back_and_sent(
    scripted_visit: Visit, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    await begin(visit, endpoint, gate, "A leaf.")
    await expect(await queue_leaf(visit)).to_have_count(1)
    await expect(attached(visit)).to_have_count(0)
    await is_kept(visit, 1)
    await visit.page.reload()
    await expect(waiting(visit).locator("img")).to_have_count(1)
    await waiting(visit).get_by_role("button", name="Edit").click()
    await expect(waiting(visit)).to_have_count(0)
    await expect(visit.field).to_have_value(WORDS)
    await expect(attached(visit).locator("input")).to_have_value("leaf.png")
    await visit.page.reload()
    await expect(attached(visit).locator("img")).to_have_count(1)
    await expect(visit.field).to_have_value(WORDS)
    await queue(visit, WORDS)
    gate.set()
    await expect(visit.reply).to_contain_text("A leaf.")
    await visit.idle()
    await expect(shown(visit)).to_be_visible()
    assert asked(endpoint) == [await shown(visit).get_attribute("src")]
    await is_kept(visit, 0)


async def test_a_queued_image_that_is_withdrawn_is_forgotten(
    scripted_visit: Visit, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    await begin(visit, endpoint, gate)
    await queue_leaf(visit)
    await is_kept(visit, 1)
    await waiting(visit).get_by_role("button", name="Withdraw").click()
    await expect(waiting(visit)).to_have_count(0)
    await is_kept(visit, 0)
    gate.set()
    await visit.idle()
    await expect(attached(visit)).to_have_count(0)
    await expect(visit.said).to_have_count(1)


async def test_a_queued_image_is_sent_once_by_whichever_tab_is_there(
    scripted_visit: Visit, visitors: Visitors, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    await begin(visit, endpoint, gate, "A leaf.", "And still.")
    other = await (await visitors.beside(visit)).open(await visit.thread_id())
    await expect(other.reply).to_contain_text("One")
    await queue_leaf(visit)
    await expect(waiting(other).locator("img")).to_have_count(1)
    third = await (await visitors.beside(visit)).open(await visit.thread_id())
    await expect(waiting(third).locator("img")).to_have_count(1)
    await visit.leave()
    gate.set()
    for tab in (other, third):
        await expect(tab.reply).to_contain_text("A leaf.")
        await tab.idle()
        await expect(shown(tab)).to_be_visible()
        await expect(waiting(tab)).to_have_count(0)
    assert len(endpoint.requests) == 2
    assert asked(endpoint) == [await shown(third).get_attribute("src")]


@own_profile
async def test_a_tab_without_the_image_of_a_queued_message_says_so_and_does_not_send_it(
    scripted_visit: Visit, visitors: Visitors, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    await begin(visit, endpoint, gate)
    other = await visitors.beside(visit)
    await other.page.add_init_script("indexedDB.open = () => { throw new Error('no room') }")
    await other.open(await visit.thread_id())
    await expect(other.reply).to_contain_text("One")
    await queue_leaf(visit)
    await expect(waiting(other)).to_contain_text(WORDS)
    await visit.leave()
    gate.set()
    await expect(waiting(other)).to_contain_text("its images are not in this tab")
    await waiting(other).get_by_role("button", name="Edit").click()
    await expect(other.page.locator("#connection")).to_contain_text("were not kept")
    await expect(other.field).to_have_value(WORDS)
    await expect(other.button("Send")).to_be_enabled()
    assert len(endpoint.requests) == 1


async def test_the_words_of_a_queued_message_whose_image_is_lost_are_in_the_field(
    scripted_visit: Visit, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    await begin(visit, endpoint, gate, "Two.")
    await queue_leaf(visit)
    await queue(visit, "Second")
    await is_kept(visit, 1)
    await visit.page.evaluate("() => { indexedDB.deleteDatabase('images-of-words'); }")
    await visit.page.reload()
    await expect(visit.page.locator("#connection")).to_contain_text("were not kept")
    await expect(visit.field).to_have_value(WORDS)
    await expect(waiting(visit)).to_have_count(1)
    gate.set()
    await expect(visit.reply).to_contain_text("Two.")
    await visit.idle()
    await expect(visit.said).to_have_count(2)
    await expect(visit.field).to_have_value(WORDS)
    assert asked(endpoint) == []
