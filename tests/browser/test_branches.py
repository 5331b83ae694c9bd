"""Versions of messages on the page: looked at, gone on from, undone."""

import asyncio
import re
from typing import Any

import pytest
from playwright.async_api import Locator, Response, Route, expect

from tests.browser.conftest import Visitors, both_looks
from tests.browser.networks import hold
from tests.browser.site import Visit, axe
from tests.browser.test_accessibility import AXE
from tests.clients.scripted_turns import QUESTION
from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint, call_reply, text_reply
from tests.support.samples import repeat
from tests.support.serving import Client

LOOKS_AT = "You are looking at another version"


async def edit(visit: Visit, words: str, number: int = 0) -> None:
    message = visit.said.nth(number)
    await message.hover()
    await message.get_by_role("button", name="Edit message").click()
    await visit.page.get_by_role("textbox", name="Edit your message").fill(words)
    await visit.page.locator(".editor").get_by_role("button", name="Send").click()
    await expect(visit.said.nth(number)).to_contain_text(words)


async def regenerate(visit: Visit) -> None:
    await visit.reply.hover()
    await visit.button("Regenerate reply").click()


def versions(message: Locator) -> Locator:
    return message.get_by_role("group", name=re.compile("Versions of this"))


async def expect_version(message: Locator, shown: str) -> None:
    number, _, count = shown.partition("/")
    await expect(versions(message)).to_contain_text(f"Version {number} of {count}")


async def step(message: Locator, name: str) -> None:
    await versions(message).get_by_role("button", name=f"{name} version").click()


async def expect_words(visit: Visit, *words: str) -> None:
    """What the messages say, in order."""
    articles = visit.log.locator("article")
    await expect(articles).to_have_text([re.compile(re.escape(one)) for one in words])


async def shown(visit: Visit, loaded: Response) -> None:
    """The page has taken what was loaded, and shows it."""
    await loaded.finished()
    await visit.page.evaluate("() => new Promise(requestAnimationFrame)")


def said(thread: Any) -> list[str]:
    return ["".join(p.get("text", "") for p in m["parts"]) for m in thread["messages"]]


@both_looks
async def test_an_edit_keeps_what_it_replaces_and_the_thread_can_go_on_from_there(
    scripted_visit: Visit, scripted: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(*(text_reply(f"Answer {number}.") for number in range(1, 5)))
    visit = scripted_visit
    await visit.ask("First")
    await visit.ask("Second")
    await expect(versions(visit.log)).to_have_count(0)
    await edit(visit, "In other words")
    await expect_words(visit, "In other words", "Answer 3.")
    await expect_version(visit.said, "2/2")
    await visit.idle()

    await step(visit.said, "Previous")
    await expect_words(visit, "First", "Answer 1.", "Second", "Answer 2.")
    await expect_version(visit.said.first, "1/2")
    await expect(visit.log.get_by_role("note")).to_contain_text(LOOKS_AT)
    assert await axe(visit.page, AXE) == []
    thread_id = (await visit.thread_id()).partition("&")[0]
    assert said(await scripted.thread(thread_id)) == ["In other words", "Answer 3."]
    await visit.page.reload()
    await expect_words(visit, "First", "Answer 1.", "Second", "Answer 2.")
    await expect(visit.log.get_by_role("note")).to_contain_text(LOOKS_AT)

    await visit.ask("Third")
    await expect_words(visit, "First", "Answer 1.", "Second", "Answer 2.", "Third", "Answer 4.")
    await expect(visit.log.get_by_role("note")).to_have_count(0)
    await expect_version(visit.said.first, "1/2")
    assert await visit.thread_id() == thread_id
    assert said(await scripted.thread(thread_id))[-2:] == ["Third", "Answer 4."]


async def test_a_reply_made_anew_is_undone_with_the_keyboard_alone(
    scripted_visit: Visit, scripted: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("One."), text_reply("Two."), text_reply("Three."))
    visit = scripted_visit
    await visit.ask("First")
    await regenerate(visit)
    await expect(visit.reply).to_contain_text("Two.")
    await expect_version(visit.reply, "2/2")
    await visit.idle()

    previous = visit.reply.get_by_role("button", name="Previous version")
    await previous.focus()
    await visit.page.keyboard.press("Enter")
    await expect(visit.reply).to_contain_text("One.")
    await expect(previous).to_be_focused()
    await expect(previous).to_have_attribute("aria-disabled", "true")
    await expect(visit.status).to_have_text("Version 1 of 2")
    await visit.page.keyboard.press("Enter")
    await expect(visit.reply).to_contain_text("One.")
    await visit.page.keyboard.press("Tab")
    await visit.page.keyboard.press("Enter")
    await expect(visit.reply).to_contain_text("Two.")
    await expect(visit.log.get_by_role("note")).to_have_count(0)
    await expect(visit.status).to_have_text("Version 2 of 2")
    await expect(visit.reply.get_by_role("button", name="Next version")).to_be_focused()
    await visit.page.keyboard.press("Shift+Tab")
    await expect(previous).to_be_focused()
    await visit.page.keyboard.press("Enter")
    await expect(visit.reply).to_contain_text("One.")
    await visit.ask("Second")
    assert said(await scripted.thread(await visit.thread_id())) == [
        *("First", "One.", "Second", "Three.")
    ]


async def test_the_thread_is_come_back_to_from_a_version(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("One."), text_reply("Two."))
    visit = scripted_visit
    await visit.ask("First")
    await edit(visit, "Zwei")
    await expect_version(visit.said.first, "2/2")
    await visit.idle()
    await step(visit.said, "Previous")
    await expect_words(visit, "First", "One.")
    await visit.button("Back to the thread").click()
    await expect_words(visit, "Zwei", "Two.")
    assert "version" not in visit.page.url


@both_looks
async def test_a_version_is_looked_at_while_a_reply_is_written(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    gate = asyncio.Event()
    endpoint.script(text_reply("One."), text_reply("Two."))
    endpoint.script(Reply((Say("Three "), Pause(gate), Say("and more."))))
    visit = scripted_visit
    await visit.ask("First")
    await edit(visit, "Zwei")
    await expect_version(visit.said.first, "2/2")
    await visit.idle()
    await visit.say("Drei")
    await expect(visit.reply).to_contain_text("Three")

    await step(visit.said.first, "Previous")
    await expect_words(visit, "First", "One.")
    await visit.field.fill("Not now")
    await visit.button("Send").click()
    await expect(visit.alert).to_contain_text("live run")
    await expect(visit.field).to_have_value("Not now")
    await expect_words(visit, "First", "One.")
    await visit.button("Back to the thread").click()
    await expect_words(visit, "Zwei", "Two.", "Drei", "Three")
    gate.set()
    await expect(visit.reply).to_contain_text("Three and more.")
    await visit.idle()


async def test_the_versions_of_a_reply_are_known_while_it_is_written(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    gate = asyncio.Event()
    endpoint.script(text_reply("One."), Reply((Say("Two "), Pause(gate), Say("and more."))))
    visit = scripted_visit
    await visit.ask("First")
    await regenerate(visit)
    await expect(visit.reply).to_contain_text("Two")
    await expect_version(visit.reply, "2/2")
    await step(visit.reply, "Previous")
    await expect(visit.reply).to_contain_text("One.")
    await step(visit.reply, "Next")
    await expect(visit.reply).to_contain_text("Two")
    gate.set()
    await expect(visit.reply).to_contain_text("Two and more.")
    await expect_version(visit.reply, "2/2")


async def test_who_comes_back_from_a_version_writes_on(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("One."), text_reply("Two."))
    visit = scripted_visit
    await visit.ask("First")
    await regenerate(visit)
    await expect_version(visit.reply, "2/2")
    await visit.idle()
    await step(visit.reply, "Previous")
    await expect_words(visit, "First", "One.")
    await visit.button("Back to the thread").click()
    await expect_words(visit, "First", "Two.")
    await expect(visit.field).to_be_focused()


async def test_a_thread_that_has_gone_on_elsewhere_is_not_left_for_a_version(
    scripted_visit: Visit, scripted: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(
        text_reply("One."), text_reply("Two."), text_reply("Three."), text_reply("Four.")
    )
    visit = scripted_visit
    await visit.ask("First")
    await regenerate(visit)
    await expect_version(visit.reply, "2/2")
    await visit.idle()
    await step(visit.reply, "Previous")
    await expect(visit.log.get_by_role("note")).to_contain_text(LOOKS_AT)
    await expect_words(visit, "First", "One.")
    thread_id = (await visit.thread_id()).partition("&")[0]
    await scripted.turn({"thread_id": thread_id, "message": "Elsewhere"})
    await visit.field.fill("Second")
    async with visit.page.expect_response("**/threads/*version=*") as loaded:
        await visit.button("Send").click()
    await shown(visit, await loaded.value)
    await expect(visit.alert).to_contain_text("gone on elsewhere")
    await expect(visit.field).to_have_value("Second")
    await visit.button("Send").click()
    await expect_words(visit, "First", "One.", "Second", "Four.")


async def test_a_question_of_a_version_is_answered_there(
    scripted_visit: Visit, scripted: Client, endpoint: StrictEndpoint
) -> None:
    ask = call_reply(("request_user_selection", QUESTION), ids=("call_1",))
    endpoint.script(ask, text_reply("Two."), text_reply("Friday it is."))
    visit = scripted_visit
    await visit.ask("When?")
    await edit(visit, "Never mind")
    await expect_version(visit.said.first, "2/2")
    await visit.idle()
    await step(visit.said, "Previous")
    await visit.log.get_by_role("radio").first.check()
    await visit.log.get_by_role("button", name="Answer").click()
    await expect(visit.reply).to_contain_text("Friday it is.")
    await visit.idle()
    assert said(await scripted.thread(await visit.thread_id())) == ["When?", "Friday it is."]


async def test_what_is_sent_while_a_version_is_loaded_stands_behind_that_version(
    scripted_visit: Visit, scripted: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("One."), text_reply("Two."), text_reply("Three."))
    visit = scripted_visit
    await visit.ask("First")
    await edit(visit, "Zwei")
    await expect_version(visit.said.first, "2/2")
    await visit.idle()
    loading = await hold(visit, "**/threads/*version=*")
    await step(visit.said, "Previous")
    await loading.arrived.wait()
    await visit.say("Second")
    await expect_words(visit, "Zwei", "Two.", "Second")
    loading.go_on.set()
    await expect_words(visit, "First", "One.", "Second", "Three.")
    await visit.idle()
    thread = await scripted.thread(await visit.thread_id())
    assert said(thread) == ["First", "One.", "Second", "Three."]


@pytest.mark.parametrize("is_refused", [repeat(False, "taken"), pytest.param(True, id="refused")])
async def test_who_acts_while_a_version_is_loaded_can_write_on(
    scripted_visit: Visit, endpoint: StrictEndpoint, is_refused: bool
) -> None:
    endpoint.script(*(text_reply(text) for text in ("One.", "Two.", "Three.", "Four.")))
    visit, arrived, gate = scripted_visit, asyncio.Event(), asyncio.Event()
    await visit.ask("First")
    await regenerate(visit)
    await expect(visit.reply).to_contain_text("Two.")
    await visit.idle()

    async def late(route: Route) -> None:
        arrived.set()
        await gate.wait()
        await route.continue_()

    await visit.page.route("**/threads/*version=*", late)
    await step(visit.reply, "Previous")
    await arrived.wait()
    posted = await hold(visit, "**/chat", fails=is_refused)
    await regenerate(visit)
    await posted.arrived.wait()
    async with visit.page.expect_response("**/threads/*version=*") as loaded:
        gate.set()
    await shown(visit, await loaded.value)
    posted.go_on.set()
    await expect(visit.reply).to_contain_text("One." if is_refused else "Three.")
    await visit.say("Second")
    await expect(visit.replies).to_have_count(2)
    await visit.idle()
    await expect(visit.log).not_to_contain_text("Not sent yet")


async def test_a_link_to_a_version_that_is_gone_shows_the_thread(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("One."))
    visit = scripted_visit
    await visit.ask("First")
    await visit.open(f"{await visit.thread_id()}&version=v9")
    await expect_words(visit, "First", "One.")
    await expect(visit.page.locator("#connection")).to_contain_text("is gone")
    await expect(visit.page).not_to_have_url(re.compile("version"))


@pytest.mark.full
async def test_another_tab_shows_the_version_that_the_thread_went_on_from(
    scripted_visit: Visit, visitors: Visitors, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("One."), text_reply("Two."), text_reply("Three."))
    visit = scripted_visit
    await visit.ask("First")
    await edit(visit, "Zwei")
    await expect_version(visit.said.first, "2/2")
    await visit.idle()
    other = await visitors.beside(visit)
    await other.open(await visit.thread_id())
    await expect_words(other, "Zwei", "Two.")
    await step(visit.said, "Previous")
    await visit.ask("Second")
    await expect_words(other, "First", "One.", "Second", "Three.")


async def test_what_is_ticked_in_the_thread_is_there_after_a_look_at_another_version(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    visit = scripted_visit
    question = QUESTION.replace("single", "multiple")
    endpoint.script(text_reply("Answer."), call_reply(("request_user_selection", question)))
    await visit.ask("First")
    await edit(visit, "Ask me")
    await expect_version(visit.said.first, "2/2")
    await visit.idle()
    box = visit.page.get_by_role("checkbox", name="sat")
    await box.check()
    await step(visit.said, "Previous")
    await expect(box).to_have_count(0)
    await visit.button("Back to the thread").click()
    await expect(box).to_be_checked()
    await visit.page.reload()
    await expect(box).to_be_checked()


@both_looks
async def test_the_buttons_of_versions_are_not_printed(visit: Visit) -> None:
    await visit.ask("First")
    await edit(visit, "Another first")
    await expect_version(visit.said.first, "2/2")
    await visit.idle()
    await expect(versions(visit.said.first)).to_be_visible()
    await visit.page.emulate_media(media="print")
    await expect(visit.said.first).to_be_visible()
    await expect(visit.page.locator(".versions")).to_be_hidden()
