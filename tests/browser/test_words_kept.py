"""Nobody loses a word: two tabs on a thread, links to none, networks that are away, reloads.

Slow networks of one tab, and servers that are killed, have modules of their own.
"""

import json
import re
from typing import Any

import pytest
from playwright.async_api import Route, expect

from tests.browser.conftest import LOOKS, Visitors
from tests.browser.site import Visit
from tests.support.endpoint import Call, StrictEndpoint, reply, text_reply
from tests.support.serving import Client

both_looks = pytest.mark.parametrize("look", LOOKS)
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


async def test_a_message_that_was_not_sent_is_taken_back(visit: Visit) -> None:
    await go_offline(visit)
    await visit.say("Never mind")
    await visit.button("Take back").click()
    await expect(visit.field).to_have_value("Never mind")
    await expect(visit.said).to_have_count(0)
    await go_online(visit)
    await visit.page.reload()
    await expect(visit.field).to_have_value("Never mind")


@both_looks
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


async def test_the_storage_holds_a_bounded_number_of_drafts_and_the_unsent_last(
    visit: Visit,
) -> None:
    await is_known(visit)
    await visit.page.evaluate(
        """() => {
          for (let n = 0; n < 200; n += 1) {
            const outbox = n === 0 ? [{ id: "m", text: "t", body: {}, key: "k" }] : [];
            localStorage.setItem(`words:t${n}`, JSON.stringify({ at: n, draft: "x", outbox }));
          }
        }"""
    )
    await visit.field.fill("Hello")
    await visit.field.fill("")
    await visit.field.fill("Hello again")
    kept = "() => Object.keys(localStorage).filter((key) => key.startsWith('words:')).length"
    assert await visit.page.evaluate(kept) <= 60
    assert await visit.page.evaluate("() => localStorage.getItem('words:t0') !== null")
