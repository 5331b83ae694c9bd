"""What makes the page easy to read and to touch: room, sizes, sources, what is heard."""

import asyncio

import pytest
from playwright.async_api import expect

from tests.browser.scripted_wire import THREAD, ScriptedWire, spoken
from tests.browser.site import Visit
from tests.support.endpoint import Pause, Say, StrictEndpoint, reply, text_reply

SMALL = """() => [...document.querySelectorAll("button, select, summary, input:not([type=file])")]
  .filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest(".visually-hidden"))
  .map((e) => [e.ariaLabel || e.textContent.trim(), e.getBoundingClientRect()])
  .filter(([, { width, height }]) => width && (width < 43.9 || height < 43.9))
  .map(([name, { width, height }]) => `${name}: ${width} x ${height}`)
"""


@pytest.mark.parametrize("look", ["phone light"])
async def test_on_a_phone_every_button_has_room_for_a_finger(visit: Visit) -> None:
    await visit.ask("What is 17 * 23?")
    assert await visit.page.evaluate(SMALL) == []
    await visit.button("Threads").click()
    await expect(visit.page.locator(".thread-list li")).to_have_count(1)
    assert await visit.page.evaluate(SMALL) == []


async def test_the_characters_that_are_left_are_counted_and_too_many_are_not_sent(
    visit: Visit,
) -> None:
    room = visit.page.locator("#room")
    await expect(visit.button("Attach images")).not_to_have_attribute("aria-disabled", "true")
    await visit.field.fill("a" * 30_000)
    await expect(room).to_be_hidden()
    await expect(visit.field).to_have_accessible_description("")
    await visit.field.fill("a" * 31_999)
    await expect(room).to_have_text("1 character left")
    await visit.field.fill("😀" * 32_002)
    await expect(room).to_have_text("2 characters too many")
    await expect(visit.button("Send")).to_be_disabled()
    await expect(visit.status).to_have_text("The message is too long: shorten it to send it.")
    await visit.field.fill("Hello")
    await expect(room).to_be_hidden()
    await expect(visit.button("Send")).to_be_enabled()


async def test_the_model_that_answered_is_named_below_its_answer(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Yes."))
    await scripted_visit.ask("Well?")
    figures = scripted_visit.page.locator(".message.assistant .figures")
    await expect(figures).to_contain_text("scripted ·")
    await scripted_visit.page.reload()
    await expect(figures).to_contain_text("scripted")


async def test_a_reply_is_heard_block_by_block_as_it_grows(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    held = asyncio.Event()
    endpoint.script(reply(Say("First **block**.\n\nSecond bl"), Pause(held), Say("ock.")))
    heard = scripted_visit.page.locator("#spoken")
    await scripted_visit.say("Go")
    await expect(heard).to_have_text("First block.")
    await expect(heard).to_have_attribute("aria-live", "polite")
    held.set()
    await scripted_visit.idle()
    await expect(heard.locator("p")).to_have_text(["First block.", "Second block."])
    await scripted_visit.button("New thread").click()
    await expect(heard).to_be_empty()


async def test_a_reply_is_heard_while_a_message_is_queued_behind_it(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    first, second = asyncio.Event(), asyncio.Event()
    held = reply(Say("One.\n\nTw"), Pause(first), Say("o.\n\nThr"), Pause(second), Say("ee."))
    endpoint.script(held, text_reply("Four."))
    heard = scripted_visit.page.locator("#spoken")
    await scripted_visit.say("Go")
    await expect(heard).to_have_text("One.")
    await scripted_visit.field.fill("Further")
    await scripted_visit.button("Queue").click()
    await expect(scripted_visit.page.get_by_role("article", name="Queued message")).to_be_visible()
    first.set()
    await expect(heard.locator("p")).to_have_text(["One.", "Two."])
    second.set()
    await scripted_visit.idle()


async def test_the_sources_of_an_answer_are_one_list_below_it(
    wire: ScriptedWire, wired: Visit
) -> None:
    def source(url: str, title: str = "") -> dict[str, str]:
        return {"type": "source", "sourceType": "url", "id": url, "url": url, "title": title}

    wire.hold(
        spoken(
            {"type": "text", "text": "So it is."},
            source("https://one.example/a", "One"),
            source("javascript:alert(1)", "Two"),
            {"type": "text", "text": "Indeed."},
            source("https://one.example/a", "One"),
        )
    )
    await wired.open(THREAD)
    sources = wired.reply.get_by_role("region", name="Sources")
    await expect(sources.get_by_role("listitem")).to_have_text(["One one.example", "Two"])
    await expect(sources.get_by_role("link")).to_have_count(1)
    texts = wired.reply.locator(":scope > .markdown, :scope > .sources")
    await expect(texts).to_have_text(["So it is.", "Indeed.", "Sources One one.example Two"])
