"""Images of messages that wait, on the server or to be sent: kept, given back, and sent once."""

import asyncio

from playwright.async_api import Locator, expect

from tests.browser.conftest import Visitors, own_profile
from tests.browser.networks import reconnect
from tests.browser.site import Visit
from tests.browser.test_images import KEPT, attached, choose, payload
from tests.browser.test_queue import begin, gate, queue, waiting
from tests.support.endpoint import StrictEndpoint, text_reply
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


async def test_a_queued_image_is_on_the_server_and_stays_with_an_edited_message(
    scripted_visit: Visit, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    await begin(visit, endpoint, gate, "A leaf.")
    await expect(await queue_leaf(visit)).to_have_count(1)
    await expect(attached(visit)).to_have_count(0)
    await is_kept(visit, 0)
    await visit.page.reload()
    await expect(waiting(visit).locator("img")).to_have_count(1)
    await waiting(visit).get_by_role("button", name="Edit").click()
    editor = visit.page.get_by_role("textbox", name="Edit your message")
    await expect(editor).to_have_value(WORDS)
    await editor.fill("What leaf is it?")
    await visit.button("Save").click()
    await expect(waiting(visit)).to_contain_text("What leaf is it?")
    await expect(waiting(visit).locator("img")).to_have_count(1)
    gate.set()
    await expect(visit.reply).to_contain_text("A leaf.")
    await visit.idle()
    await expect(shown(visit)).to_be_visible()
    await expect(visit.said.last).to_contain_text("What leaf is it?")
    assert asked(endpoint) == [await shown(visit).get_attribute("src")]


async def test_a_queued_image_begins_once_though_its_tab_is_closed(
    scripted_visit: Visit, visitors: Visitors, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    await begin(visit, endpoint, gate, "A leaf.", "And still.")
    other = await (await visitors.beside(visit)).open(await visit.thread_id())
    await expect(other.reply).to_contain_text("One")
    await queue_leaf(visit)
    await expect(waiting(other).locator("img")).to_have_count(1)
    await visit.leave()
    gate.set()
    await expect(other.reply).to_contain_text("A leaf.")
    await other.idle()
    await expect(shown(other)).to_be_visible()
    await expect(waiting(other)).to_have_count(0)
    assert len(endpoint.requests) == 2
    assert asked(endpoint) == [await shown(other).get_attribute("src")]


async def send_offline(visit: Visit) -> None:
    """The first message of the thread, with an image, while the server is away."""
    await visit.page.context.route("**/chat*", lambda route: route.abort())
    await choose(visit, payload("leaf.png", LEAF))
    await visit.say(WORDS)
    await expect(visit.said.last).to_contain_text("Not sent yet")
    await is_kept(visit, 1)


@own_profile
async def test_a_tab_without_the_image_of_a_message_that_waits_says_so_and_does_not_send_it(
    scripted_visit: Visit, visitors: Visitors, endpoint: StrictEndpoint
) -> None:
    visit = scripted_visit
    endpoint.script(text_reply("One."))
    await visit.ask("First")
    other = await visitors.beside(visit)
    await other.page.add_init_script("indexedDB.open = () => { throw new Error('no room') }")
    await other.open(await visit.thread_id())
    await expect(other.reply).to_contain_text("One.")
    await send_offline(visit)
    await expect(other.said.last).to_contain_text("its images are not in this tab")
    await visit.leave()
    await other.page.context.unroute("**/chat*")
    await reconnect(other)
    await other.said.last.get_by_role("button", name="Take back").click()
    await expect(other.page.locator("#connection")).to_contain_text("were not kept")
    await expect(other.field).to_have_value(WORDS)
    await expect(other.button("Send")).to_be_enabled()
    assert len(endpoint.requests) == 1


async def test_the_words_of_a_message_whose_image_is_lost_are_in_the_field(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    visit = scripted_visit
    endpoint.script(text_reply("One."))
    await visit.ask("First")
    await send_offline(visit)
    await visit.page.evaluate("() => { indexedDB.deleteDatabase('images-of-words'); }")
    await visit.page.reload()
    await expect(visit.page.locator("#connection")).to_contain_text("were not kept")
    await expect(visit.field).to_have_value(WORDS)
    await expect(visit.said).to_have_count(1)
    assert len(endpoint.requests) == 1
