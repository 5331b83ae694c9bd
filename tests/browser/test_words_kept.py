"""Nobody loses a word: two tabs on a thread, links to none, networks that are away, reloads.

Slow networks of one tab, and servers that are killed, have modules of their own.
"""

import asyncio
import json
import re
from typing import Any

import pytest
from playwright.async_api import Request, Route, expect

from tests.browser.conftest import Visitors, both_layouts, both_looks, own_profile
from tests.browser.networks import hold, reconnect
from tests.browser.site import Visit
from tests.browser.test_threads_page import begin_anew, show_list
from tests.support.endpoint import Call, StrictEndpoint, reply, text_reply
from tests.support.samples import repeat
from tests.support.serving import Client
from tests.support.waiting import until

WRONG = "no-such-thread"


async def begin_edit(visit: Visit, number: int = 0) -> Any:
    message = visit.said.nth(number)
    await message.hover()
    await message.get_by_role("button", name="Edit message").click()
    return editor(visit)


def editor(visit: Visit) -> Any:
    return visit.page.get_by_role("textbox", name="Edit your message")


async def send_edit(visit: Visit) -> None:
    """On a phone Enter breaks the line."""
    await visit.page.locator(".editor").get_by_role("button", name="Send").click()


async def threads(client: Client) -> list[Any]:
    listed: list[Any] = (await client.http.get("/threads")).json()["threads"]
    return listed


async def go_offline(visit: Visit) -> None:
    await visit.page.context.set_offline(True)


async def go_online(visit: Visit) -> None:
    await visit.page.context.set_offline(False)


async def is_known(visit: Visit) -> None:
    """Until the page knows who writes: words are kept from then on."""
    await visit.page.wait_for_function("() => localStorage.getItem('words-of') !== null")


# Links to no thread, and threads that are gone


@both_looks
async def test_a_link_to_no_thread_says_so_and_takes_the_words_into_a_new_one(
    visit: Visit, client: Client
) -> None:
    await visit.open(WRONG)
    await expect(visit.log).to_contain_text("This thread is gone")
    await visit.field.fill("Do not lose me")
    await visit.button("Send").click()
    await expect(visit.field).to_have_value("Do not lose me")
    assert await threads(client) == []
    await visit.log.get_by_role("button", name="New thread").click()
    await expect(visit.field).to_be_focused()
    await expect(visit.field).to_have_value("Do not lose me")
    await visit.button("Send").click()
    await expect(visit.said).to_have_text([re.compile("Do not lose me")])
    await visit.idle()
    assert [entry["id"] for entry in await threads(client)] == [await visit.thread_id()]


@both_looks
async def test_a_thread_that_was_deleted_in_another_tab_does_not_come_back(
    visit: Visit, client: Client
) -> None:
    await visit.ask("Hello")
    await client.http.delete(f"/threads/{await visit.thread_id()}")
    await visit.field.fill("Are you there?")
    await visit.button("Send").click()
    await expect(visit.log).to_contain_text("This thread is gone")
    await expect(visit.field).to_have_value("Are you there?")
    assert await threads(client) == []


# Edits and new answers of a thread that has gone on


@both_looks
async def test_an_edit_of_a_thread_that_has_gone_on_elsewhere_is_asked_about_first(
    scripted_visit: Visit, visitors: Visitors, endpoint: StrictEndpoint
) -> None:
    endpoint.script(*(text_reply(f"Answer {number}.") for number in (1, 2, 3)))
    await scripted_visit.ask("First")
    field = await begin_edit(scripted_visit)
    await field.fill("First, in other words")
    other = await visitors.beside(scripted_visit)
    await other.open(await scripted_visit.thread_id())
    await expect(other.replies).to_have_count(1)
    await other.ask("Second")

    await expect(scripted_visit.reply).to_contain_text("Answer 2.")
    await expect(scripted_visit.reply).to_have_attribute("aria-busy", "false")
    await expect(field).to_have_value("First, in other words")
    await send_edit(scripted_visit)
    problem = scripted_visit.log.get_by_role("alert")
    await expect(problem).to_contain_text("gone on elsewhere")
    await expect(field).to_have_value("First, in other words")
    await expect(scripted_visit.reply).to_contain_text("Answer 2.")
    await expect(scripted_visit.log.locator(".editor")).to_contain_text("3 messages that follow")

    await send_edit(scripted_visit)
    await expect(scripted_visit.reply).to_contain_text("Answer 3.")
    await expect(scripted_visit.said).to_have_text([re.compile("First, in other words")])


@both_looks
async def test_an_edit_of_a_message_that_another_tab_has_replaced_goes_to_the_field(
    scripted_visit: Visit, visitors: Visitors, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("One."), text_reply("Two."))
    await scripted_visit.ask("First")
    other = await visitors.beside(scripted_visit)
    await other.open(await scripted_visit.thread_id())
    field = await begin_edit(scripted_visit)
    await field.fill("My own words")
    theirs = await begin_edit(other)
    await theirs.fill("Their words")
    await send_edit(other)
    await expect(scripted_visit.reply).to_contain_text("Two.")
    await expect(editor(scripted_visit)).to_have_count(0)
    await expect(scripted_visit.field).to_have_value("My own words")


@both_looks
async def test_to_make_an_old_reply_anew_is_asked_about_with_what_is_dropped(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("One."), text_reply("Two."), text_reply("Three."))
    await scripted_visit.ask("First")
    await scripted_visit.ask("Second")
    first = scripted_visit.replies.first
    await first.hover()
    await first.get_by_role("button", name="Regenerate reply").click()
    question = scripted_visit.page.get_by_role("dialog")
    await expect(question).to_contain_text("The 2 messages after it, from “Second” on,")
    await question.get_by_role("button", name="Cancel").click()
    await expect(scripted_visit.replies).to_have_count(2)
    await first.hover()
    await first.get_by_role("button", name="Regenerate reply").click()
    await question.get_by_role("button", name="Regenerate").click()
    await expect(scripted_visit.reply).to_contain_text("Three.")
    await expect(scripted_visit.said).to_have_count(1)


async def test_the_last_reply_is_made_anew_only_if_it_is_still_the_last(
    scripted_visit: Visit, scripted: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("One."), text_reply("Two."))
    await scripted_visit.ask("First")
    thread_id = await scripted_visit.thread_id()
    await scripted.turn({"thread_id": thread_id, "message": "Second"})
    await scripted_visit.button("Regenerate reply").click()
    await expect(scripted_visit.said).to_have_count(2)
    await expect(scripted_visit.reply).to_contain_text("Two.")
    assert len((await scripted.thread(thread_id))["messages"]) == 4


async def test_a_reply_is_made_anew_only_on_what_the_question_has_said(
    scripted_visit: Visit, visitors: Visitors, scripted: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("One."), text_reply("Two."), text_reply("Three."))
    await scripted_visit.ask("First")
    await scripted_visit.ask("Second")
    thread_id = await scripted_visit.thread_id()
    first = scripted_visit.replies.first
    await first.hover()
    await first.get_by_role("button", name="Regenerate reply").click()
    question = scripted_visit.page.get_by_role("dialog")
    await expect(question).to_contain_text("The 2 messages after it")
    other = await (await visitors.beside(scripted_visit)).open(thread_id)
    await expect(other.replies).to_have_count(2)
    await other.ask("Third")
    await expect(scripted_visit.reply).to_contain_text("Three.")
    await question.get_by_role("button", name="Regenerate").click()
    await expect(scripted_visit.log.get_by_role("alert")).to_contain_text("gone on elsewhere")
    assert len((await scripted.thread(thread_id))["messages"]) == 6


@both_looks
async def test_turns_of_another_device_are_shown_after_the_next_turn_and_dropped_by_no_edit_unseen(
    scripted_visit: Visit, scripted: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(*(text_reply(f"Answer {number}.") for number in (1, 2, 3)))
    await scripted_visit.ask("First")
    thread_id = await scripted_visit.thread_id()
    field = await begin_edit(scripted_visit)
    await field.fill("First, in other words")
    await scripted.turn({"thread_id": thread_id, "message": "From elsewhere"})
    await scripted_visit.say("Mine")
    await expect(scripted_visit.reply).to_contain_text("Answer 3.")
    await expect(scripted_visit.log).to_contain_text("From elsewhere")
    await send_edit(scripted_visit)
    await expect(scripted_visit.log.get_by_role("alert")).to_contain_text("gone on elsewhere")
    await expect(field).to_have_value("First, in other words")
    assert len((await scripted.thread(thread_id))["messages"]) == 6


@both_looks
async def test_what_is_typed_in_an_editor_comes_along_from_a_thread_that_is_gone(
    visit: Visit, client: Client
) -> None:
    await visit.ask("Hello")
    field = await begin_edit(visit)
    await field.fill("Hello, in other words")
    await client.http.delete(f"/threads/{await visit.thread_id()}")
    await visit.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await expect(visit.log).to_contain_text("This thread is gone")
    await expect(visit.field).to_have_value("Hello, in other words")
    await visit.log.get_by_role("button", name="New thread").click()
    await expect(visit.field).to_have_value("Hello, in other words")


async def test_an_edit_whose_answer_was_lost_in_a_reload_is_said_to_be_gone_by_nobody(
    visit: Visit, client: Client
) -> None:
    await visit.ask("Hello")
    thread_id = await visit.thread_id()
    came = asyncio.Event()

    async def lose(route: Route) -> None:
        await client.turn(json.loads(route.request.post_data or ""))
        came.set()

    await visit.page.route("**/chat", lose, times=1)
    await (await begin_edit(visit)).fill("Good day")
    await send_edit(visit)
    await came.wait()
    await visit.page.reload()
    await expect(visit.said).to_have_text([re.compile("Good day")])
    await expect(visit.replies).to_have_count(1)
    await is_known(visit)
    await expect(editor(visit)).to_have_count(0)
    await expect(visit.field).to_have_value("")
    await expect(visit.status).not_to_contain_text("gone")
    assert len((await client.thread(thread_id))["messages"]) == 2


@both_looks
async def test_an_edit_that_is_refused_keeps_its_words_in_the_editor(visit: Visit) -> None:
    await visit.ask("Hello")
    words = "x" * 40_000
    field = await begin_edit(visit)
    await field.fill(words)
    await visit.page.locator(".editor").get_by_role("button", name="Send").click()
    problem = visit.page.locator(".editor").get_by_role("alert")
    await expect(problem).to_contain_text("The message has 40000 characters: send at most 32000.")
    await expect(field).to_have_value(words)
    await expect(visit.replies).to_have_count(1)


# What is kept until it is sent


@both_looks
async def test_a_message_sent_offline_outlives_a_reload_and_is_sent_when_the_network_is_back(
    visit: Visit, client: Client
) -> None:
    await visit.ask("Hello")
    await go_offline(visit)
    await visit.say("Are you there?")
    await expect(visit.said.last).to_contain_text("Not sent yet")
    await expect(visit.alert).to_contain_text("cannot be reached")

    async def away(route: Route) -> None:
        await route.abort()

    await visit.page.route("**/chat", away)
    await go_online(visit)
    await visit.page.reload()
    await expect(visit.said.last).to_contain_text("Are you there?")
    await expect(visit.said.last).to_contain_text("Not sent yet")
    await visit.page.unroute("**/chat")
    await go_offline(visit)
    await go_online(visit)

    await expect(visit.replies).to_have_count(2)
    await visit.idle()
    await expect(visit.log).not_to_contain_text("Not sent yet")
    await visit.page.reload()
    await expect(visit.said).to_have_text([re.compile("Hello"), re.compile("Are you there")])
    assert len((await client.thread(await visit.thread_id()))["messages"]) == 4


async def test_a_new_thread_and_all_that_was_said_to_it_offline_is_begun_when_back(
    visit: Visit, client: Client
) -> None:
    await go_offline(visit)
    await visit.say("First")
    await visit.say("Second")
    await expect(visit.said).to_have_count(2)
    await go_online(visit)
    await expect(visit.replies).to_have_count(2)
    await visit.idle()
    await expect(visit.said).to_have_text([re.compile("First"), re.compile("Second")])
    (thread,) = await threads(client)
    assert len((await client.thread(thread["id"]))["messages"]) == 4
    await visit.page.reload()
    await expect(visit.field).to_have_value("")
    await expect(visit.said).to_have_count(2)


async def test_a_message_that_fails_just_after_the_network_is_back_is_soon_sent_again(
    visit: Visit,
) -> None:
    await go_offline(visit)
    await visit.say("Hello")
    await expect(visit.alert).to_contain_text("cannot be reached")
    held = await hold(visit, "**/chat", fails=True)
    await visit.retry.click()
    await held.arrived.wait()
    await go_online(visit)
    held.go_on.set()
    await expect(visit.page).to_have_url(re.compile("thread="))
    await expect(visit.replies).to_have_count(1)


async def test_a_thread_whose_load_fails_just_after_the_network_is_back_is_soon_loaded(
    visit: Visit,
) -> None:
    await visit.ask("Hello")
    await begin_anew(visit)
    await go_offline(visit)
    held = await hold(visit, "**/threads/*", fails=True)
    await visit.page.go_back()
    await held.arrived.wait()
    await go_online(visit)
    held.go_on.set()
    await expect(visit.replies).to_have_count(1)


@both_looks
async def test_the_list_says_in_which_threads_messages_wait_to_be_sent(visit: Visit) -> None:
    await visit.ask("First")
    thread_id = await visit.thread_id()
    await visit.page.route("**/chat", lambda route: route.abort())
    await visit.say("Second")
    await expect(visit.said.last).to_contain_text("Not sent yet")
    await begin_anew(visit)
    await expect(visit.said).to_have_count(0)
    await show_list(visit)
    mark = visit.page.get_by_role("img", name="Messages are not sent yet")
    await expect(mark).to_have_count(1)
    await visit.page.reload()
    await show_list(visit)
    await visit.page.unroute("**/chat")
    row = visit.page.locator(f"a[data-thread={thread_id}]")
    await expect(row.get_by_role("img", name="Messages are not sent yet")).to_be_visible()
    await row.click()
    await expect(visit.replies).to_have_count(2)
    await visit.idle()
    await expect(mark).to_have_count(0)


@own_profile
@pytest.mark.parametrize("status", [502, repeat(504)])
async def test_a_message_is_sent_again_by_itself_when_a_gateway_has_no_server_for_a_while(
    visit: Visit, client: Client, status: int
) -> None:
    async def away(route: Route) -> None:
        await route.fulfill(status=status, content_type="text/html", body="<h1>Away</h1>")

    await visit.page.clock.install()
    await visit.page.route("**/chat", away)
    await visit.say("Hello")
    await expect(visit.said).to_contain_text("Not sent yet")
    await expect(visit.retry).to_be_visible()
    await visit.page.unroute("**/chat")
    await visit.page.clock.run_for(10_000)
    await expect(visit.replies).to_have_count(1)
    await visit.page.clock.resume()
    await visit.idle()
    assert [thread["title"] for thread in await threads(client)] == ["Hello"]


@own_profile
def is_post(request: Request) -> bool:
    return request.url.endswith("/chat")


async def test_a_message_is_tried_again_ever_more_seldom_but_every_minute(visit: Visit) -> None:
    page, tries, answers = visit.page, list[Request](), list[Request]()
    await page.clock.install()
    await page.route("**/chat", lambda route: route.fulfill(status=502))
    page.on("request", lambda asked: tries.append(asked) if is_post(asked) else None)
    page.on("requestfinished", lambda asked: answers.append(asked) if is_post(asked) else None)
    await visit.say("Hello")
    await expect(visit.said).to_contain_text("Not sent yet")
    for about in (10, 20, 40, 60, 60):
        before, seconds = len(tries), 0
        while len(tries) == before:
            async with asyncio.timeout(20):
                await page.clock.run_for(1000)
            seconds += 1
            # The page hears of an answer between two seconds.
            await page.evaluate("() => document.title")
            await until(lambda: len(answers) == len(tries))
            await page.evaluate("() => document.title")
        assert about - 1 <= seconds <= about + 5
    await page.clock.resume()


@own_profile
async def test_a_message_is_sent_by_itself_though_its_thread_was_opened_while_the_server_was_away(
    visit: Visit, client: Client
) -> None:
    await client.turn({"message": "Another thread"})
    await visit.ask("Hello")
    thread_id = await visit.thread_id()
    await visit.page.clock.install()
    away = re.compile(r"/chat$|/threads/")
    await visit.page.route(away, lambda route: route.abort())
    await visit.say("Are you there?")
    await expect(visit.said.last).to_contain_text("Not sent yet")
    await show_list(visit)
    await visit.page.get_by_role("link", name="Another thread").click()
    await expect(visit.said).to_have_count(0)
    await visit.page.go_back()
    await expect(visit.said).to_contain_text("Not sent yet")
    await expect(visit.alert).to_contain_text("cannot be reached")
    await visit.page.unroute(away)
    await visit.page.clock.run_for(60_000)
    await expect(visit.said).to_have_text([re.compile("Hello"), re.compile("Are you there")])
    await expect(visit.replies).to_have_count(2)
    await visit.idle()
    assert len((await client.thread(thread_id))["messages"]) == 4


BEHIND = """() => {
  const { getItem, setItem, removeItem } = Storage.prototype;
  const seen = new Map(Object.entries(localStorage));
  Storage.prototype.getItem = function (key) {
    return this === localStorage ? (seen.get(key) ?? null) : getItem.call(this, key);
  };
  Storage.prototype.setItem = function (key, text) {
    if (this === localStorage) seen.set(key, text);
    setItem.call(this, key, text);
  };
  Storage.prototype.removeItem = function (key) {
    if (this === localStorage) seen.delete(key);
    removeItem.call(this, key);
  };
}"""
"""A tab sees the storage as it is now, and as it changes it itself: tabs may be processes, and hear
of each other's changes later."""


async def test_a_new_thread_of_one_tab_leaves_the_message_that_waits_in_another(
    visit: Visit, visitors: Visitors, client: Client
) -> None:
    other = await visitors.beside(visit)
    async with other.page.expect_response("**/models"):  # it is asked for by a tab that knows
        await other.open()
    await go_offline(visit)
    for tab, words in ((visit, "Here"), (other, "There")):
        await tab.say(words)
        await expect(tab.said).to_contain_text("Not sent yet")
    await other.page.evaluate(BEHIND)
    await other.page.route("**/chat", lambda route: route.abort())
    posted = await hold(other, "**/chat", fails=True)
    await go_online(visit)
    await expect(visit.replies).to_have_count(1)
    await visit.idle()
    await posted.arrived.wait()
    posted.go_on.set()
    await expect(other.retry).to_be_visible()
    await expect(other.said).to_contain_text("Not sent yet")
    await other.page.reload()
    await expect(other.said).to_contain_text("Not sent yet")
    await other.page.unroute("**/chat")
    await reconnect(other)
    await expect(other.replies).to_have_count(1)
    await other.idle()
    assert sorted(thread["title"] for thread in await threads(client)) == ["Here", "There"]


async def test_what_waits_for_a_new_thread_is_sent_by_another_tab_when_its_own_is_closed(
    visit: Visit, visitors: Visitors, client: Client
) -> None:
    await visit.page.context.route("**/chat", lambda route: route.abort())
    await visit.say("First")
    await expect(visit.said).to_contain_text("Not sent yet")
    other = await (await visitors.beside(visit)).open()
    await other.say("Second")
    await expect(other.said).to_have_text(re.compile("Second"))
    await visit.leave()
    await expect(other.said).to_have_text([re.compile("Second"), re.compile("First")])
    await other.page.context.unroute("**/chat")
    await reconnect(other)
    await expect(other.replies).to_have_count(1)
    await other.idle()
    await begin_anew(other)
    await expect(other.said).to_have_text(re.compile("First"))
    await expect(other.replies).to_have_count(1)
    await other.idle()
    assert sorted(thread["title"] for thread in await threads(client)) == ["First", "Second"]


@pytest.mark.full
async def test_a_message_of_a_new_thread_stays_with_a_tab_that_is_reloaded_beside_another(
    visit: Visit, visitors: Visitors
) -> None:
    await visit.ask("Another thread")
    thread_id = await visit.thread_id()
    await begin_anew(visit)
    await visit.page.context.route("**/chat", lambda route: route.abort())
    await visit.say("First")
    await expect(visit.said).to_contain_text("Not sent yet")
    other = await visitors.beside(visit)
    async with other.page.expect_response("**/models"):
        await other.open()
    await show_list(other)
    await other.page.locator(f"a[data-thread={thread_id}]").click()
    await expect(other.replies).to_have_count(1)
    await visit.page.reload()
    await expect(visit.said).to_contain_text("First")
    await expect(visit.said).to_contain_text("Not sent yet")


async def test_a_message_of_a_new_thread_waits_no_more_when_another_tab_sees_it_in_the_thread(
    visit: Visit, visitors: Visitors, client: Client
) -> None:
    async def lost(route: Route) -> None:
        await route.fetch()
        await route.abort()

    await visit.page.route("**/chat", lost)
    await visit.say("First")
    await expect(visit.said).to_contain_text("Not sent yet")
    (thread,) = await threads(client)
    other = await (await visitors.beside(visit)).open(thread["id"])
    await expect(other.said).to_have_text(re.compile("First"))
    await other.idle()
    await expect(visit.said).to_have_count(0)
    await visit.page.unroute("**/chat")
    await visit.ask("Second")
    assert len(await threads(client)) == 2


async def test_an_open_edit_is_not_replaced_by_another(visit: Visit) -> None:
    for words in ("Hello", "Hello again"):
        await visit.ask(words)
    await (await begin_edit(visit)).fill("In other words")
    await visit.said.first.hover()
    await visit.said.first.get_by_role("button", name="Edit message").click()
    await expect(visit.status).to_have_text(re.compile("Another message is being edited"))
    await expect(editor(visit)).to_have_value("In other words")
    await expect(editor(visit)).to_be_focused()
    await visit.field.press("ArrowUp")
    await expect(editor(visit)).to_have_value("In other words")
    await visit.page.reload()
    await expect(editor(visit)).to_have_value("In other words")


async def test_the_last_message_that_is_edited_already_keeps_what_was_typed(visit: Visit) -> None:
    await visit.ask("Hello")
    await (await begin_edit(visit)).fill("In other words")
    await visit.field.press("ArrowUp")
    await expect(editor(visit)).to_be_focused()
    await visit.page.reload()
    await expect(editor(visit)).to_have_value("In other words")


async def test_a_message_whose_answer_alone_was_lost_is_in_the_thread_once(
    visit: Visit, client: Client
) -> None:
    await visit.ask("Hello")
    thread_id = await visit.thread_id()

    async def lose(route: Route) -> None:
        body = json.loads(route.request.post_data or "")
        key = route.request.headers["idempotency-key"]
        await client.turn(body, headers={"Idempotency-Key": key})
        await route.abort()

    await visit.page.route("**/chat", lose)
    await visit.say("Once")
    await expect(visit.said.last).to_contain_text("Not sent yet")
    await visit.page.unroute("**/chat")
    await visit.page.reload()
    await expect(visit.log).not_to_contain_text("Not sent yet")
    await expect(visit.said).to_have_text([re.compile("Hello"), re.compile("Once")])
    assert len((await client.thread(thread_id))["messages"]) == 4


@own_profile
async def test_a_reload_in_the_moment_in_which_a_thread_begins_opens_it(
    visit: Visit, client: Client
) -> None:
    # The browser goes to the address that it had when the reload was asked for.
    await visit.page.add_init_script("history.pushState = () => {}")
    await visit.page.reload()
    await visit.ask("Hello")
    assert "thread=" not in visit.page.url
    await visit.page.reload()
    await expect(visit.replies).to_have_count(1)
    (entry,) = await threads(client)
    assert visit.page.url == f"{visit.url}/?thread={entry['id']}"
    await visit.page.goto(visit.url)
    await expect(visit.page.locator("#thread-list")).to_contain_text("Hello")
    await expect(visit.replies).to_have_count(0)


async def test_a_message_that_was_not_sent_is_taken_back(visit: Visit) -> None:
    await go_offline(visit)
    await visit.say("Never mind")
    await visit.button("Take back").click()
    await expect(visit.field).to_have_value("Never mind")
    await expect(visit.said).to_have_count(0)
    await go_online(visit)
    await visit.page.reload()
    await expect(visit.field).to_have_value("Never mind")


async def test_what_is_written_before_it_is_known_who_writes_outlives_reloads(visit: Visit) -> None:
    await is_known(visit)
    await visit.field.fill("An older draft")
    known = asyncio.Event()

    async def hold(route: Route) -> None:
        await known.wait()
        await route.continue_()

    await visit.page.route("**/me", hold)
    await visit.page.route("**/chat", lambda route: route.abort())
    await visit.page.reload()
    await expect(visit.field).to_have_value("")
    await visit.say("Sent early")
    await expect(visit.said.last).to_contain_text("Not sent yet")
    await visit.field.fill("Typed early")
    await visit.page.reload()
    await expect(visit.field).to_have_value("Typed early")
    await visit.page.unroute("**/chat")
    await expect(visit.said).to_have_count(0)
    known.set()
    await expect(visit.said).to_have_text([re.compile("Sent early")])
    await visit.idle()
    await expect(visit.field).to_have_value("An older draft\n\nTyped early")
    await visit.page.reload()
    await expect(visit.field).to_have_value("An older draft\n\nTyped early")


@own_profile
@pytest.mark.parametrize("comes_back", ["after a while", repeat("online again")])
async def test_words_of_an_earlier_visit_come_back_with_a_server_that_was_away(
    visit: Visit, client: Client, comes_back: str
) -> None:
    await visit.ask("Hello")
    await visit.page.route("**/chat", lambda route: route.abort())
    await visit.say("Are you there?")
    await expect(visit.said.last).to_contain_text("Not sent yet")
    await visit.field.fill("An older draft")
    away = re.compile(r"/(me$|threads/)")
    await visit.page.route(away, lambda route: route.abort())
    await visit.page.clock.install()
    async with visit.page.expect_event("requestfailed", lambda sent: sent.url.endswith("/me")):
        await visit.page.reload()
    await expect(visit.alert).to_contain_text("cannot be reached")
    await expect(visit.field).to_have_value("")
    await visit.page.unroute("**/chat")
    await visit.page.unroute(away)
    if comes_back == "after a while":
        await visit.page.clock.run_for(10_000)
    else:
        await reconnect(visit)
    await expect(visit.field).to_have_value("An older draft")
    await expect(visit.replies).to_have_count(2)
    await visit.idle()
    await expect(visit.said).to_have_text([re.compile("Hello"), re.compile("Are you there")])
    await expect(visit.log).not_to_contain_text("Not sent yet")
    assert len((await client.thread(await visit.thread_id()))["messages"]) == 4


@both_layouts
async def test_a_draft_stays_in_its_thread(visit: Visit, look: str) -> None:
    async def go_to(name: str) -> None:
        if "phone" in look:
            await visit.button("Threads").click()
        await visit.page.get_by_role("link", name=name).click()

    await visit.ask("First thread")
    await visit.field.fill("A draft of the first")
    if "phone" in look:
        await visit.button("Threads").click()
    await visit.button("New thread").click()
    await expect(visit.replies).to_have_count(0)
    await expect(visit.field).to_have_value("")
    await visit.ask("Second thread")
    await go_to("First thread")
    await expect(visit.field).to_have_value("A draft of the first")
    await go_to("Second thread")
    await expect(visit.field).to_have_value("")
    await visit.page.go_back()
    await visit.page.reload()
    await expect(visit.field).to_have_value("A draft of the first")


@both_looks
async def test_an_open_edit_outlives_a_reload_and_another_thread(visit: Visit) -> None:
    await visit.ask("Hello")
    first = await visit.thread_id()
    field = await begin_edit(visit)
    await field.fill("Hello, in other words")
    await visit.page.reload()
    await expect(field).to_have_value("Hello, in other words")
    await visit.open()
    await expect(visit.field).to_have_value("")
    await visit.page.go_back()
    await expect(field).to_have_value("Hello, in other words")
    await send_edit(visit)
    await expect(visit.said).to_have_text([re.compile("Hello, in other words")])
    await visit.idle()
    await visit.open(first)
    await expect(visit.said).to_have_count(1)
    await expect(field).to_have_count(0)


async def test_a_message_that_is_sent_leaves_an_open_edit_open(visit: Visit) -> None:
    await visit.ask("Hello")
    field = await begin_edit(visit)
    await field.fill("Other words")
    await visit.say("Something else")
    await expect(visit.replies).to_have_count(2)
    await expect(visit.reply).to_have_attribute("aria-busy", "false")
    await expect(field).to_have_value("Other words")


QUESTION = {
    "kind": "multiple",
    "prompt": "Which?",
    "options": [{"value": "red"}, {"value": "green"}, {"value": "blue"}],
}


@both_looks
async def test_ticked_choices_outlive_a_reload_and_are_sent(
    scripted_visit: Visit, scripted: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(
        reply(Call(0, "c1", "request_user_selection", json.dumps(QUESTION))), text_reply("Good.")
    )
    await scripted_visit.ask("Ask me")
    for name in ("red", "blue"):
        await scripted_visit.page.get_by_role("checkbox", name=name).check()
    await scripted_visit.page.reload()
    await expect(scripted_visit.page.get_by_role("checkbox", name="red")).to_be_checked()
    await expect(scripted_visit.page.get_by_role("checkbox", name="green")).not_to_be_checked()
    await scripted_visit.button("Answer").click()
    await expect(scripted_visit.reply).to_contain_text("Good.")
    thread = await scripted.thread(await scripted_visit.thread_id())
    assert thread["messages"][-1]["parts"][0]["result"] == {"values": ["red", "blue"]}
    kept = "() => Object.keys(sessionStorage).filter((key) => key.startsWith('words:'))"
    await scripted_visit.idle()
    assert await scripted_visit.page.evaluate(kept) == []
