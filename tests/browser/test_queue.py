"""Messages written while a reply streams: they wait on the server, for every tab and device."""

import asyncio
import json
import re

import pytest
from playwright.async_api import Locator, Route, expect

from tests.browser.conftest import LOOKS, Visitors, both_looks, own_profile
from tests.browser.networks import reconnect
from tests.browser.site import Visit, axe
from tests.browser.test_accessibility import AXE
from tests.browser.test_charts import lines_of
from tests.browser.test_threads_page import show_list
from tests.support.endpoint import Break, Call, Pause, Say, StrictEndpoint, reply, text_reply
from tests.support.samples import repeat
from tests.support.serving import Client
from tests.support.waiting import WAIT_SECONDS, eventually
from turnstream.server.runs.run_starts import RunStarts
from turnstream.server.turns.requests import InvalidRequest

on_desktop = pytest.mark.parametrize("look", LOOKS[:1])

ASK = json.dumps({"kind": "single", "prompt": "Which?", "options": [{"value": "red"}]})


@pytest.fixture
def gate() -> asyncio.Event:
    """Lets the first reply end."""
    return asyncio.Event()


def waiting(visit: Visit) -> Locator:
    return visit.page.get_by_role("article", name="Queued message")


async def begin(visit: Visit, endpoint: StrictEndpoint, gate: asyncio.Event, *rest: str) -> None:
    """A first reply that waits for its gate, and those that follow it."""
    held = reply(Say("One"), Pause(gate), Say(" and done."))
    endpoint.script(held, *(text_reply(text) for text in rest))
    await visit.say("First")
    await expect(visit.reply).to_contain_text("One")


async def press_queue(visit: Visit, words: str) -> Locator:
    """By the button: it is there on every screen. The message waits; the server may not have it."""
    await visit.field.fill(words)
    await visit.button("Queue").click()
    await expect(visit.field).to_have_value("")
    message = waiting(visit).filter(has_text=words)
    await expect(message).to_have_count(1)
    return message


async def queue(visit: Visit, words: str) -> None:
    """The server has the message."""
    await expect(await press_queue(visit, words)).to_contain_text("Queued")


@both_looks
async def test_messages_queued_in_mid_reply_are_sent_one_by_one_when_it_is_complete(
    scripted_visit: Visit, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    await begin(visit, endpoint, gate, "Two.", "Three.")
    await expect(visit.button("Queue")).to_be_hidden()
    await queue(visit, "Second")
    await queue(visit, "Third")
    await expect(waiting(visit).first).to_contain_text("Sent when the reply is complete")
    await expect(visit.status).to_contain_text("2 messages are queued")
    assert await axe(visit.page, AXE) == []
    gate.set()
    await expect(visit.replies).to_have_text([re.compile(text) for text in ("One", "Two", "Three")])
    await visit.idle()
    await expect(visit.said).to_have_text([re.compile(t) for t in ("First", "Second", "Third")])
    await expect(waiting(visit)).to_have_count(0)
    await visit.page.reload()
    await expect(visit.said).to_have_count(3)
    await expect(waiting(visit)).to_have_count(0)


@on_desktop
async def test_enter_queues_and_with_control_it_stops_the_reply_and_sends(
    scripted_visit: Visit, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    await begin(visit, endpoint, gate, "At once.", "Later.")
    await visit.field.fill("For later")
    await visit.field.press("Enter")
    await expect(waiting(visit)).to_contain_text("For later")
    await visit.field.fill("Now")
    await visit.field.press("Control+Enter")
    await expect(visit.replies).to_have_count(3)
    await visit.idle()
    await expect(visit.replies.first).to_contain_text("Stopped")
    await expect(visit.said).to_have_text([re.compile(t) for t in ("First", "Now", "For later")])
    await expect(visit.reply).to_contain_text("Later.")


@both_looks
async def test_a_queued_message_is_sent_at_once_by_its_button(
    scripted_visit: Visit, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    await begin(visit, endpoint, gate, "At once.", "Later.")
    await queue(visit, "For later")
    await queue(visit, "Now")
    await waiting(visit).last.get_by_role("button", name="Stop and send").click()
    await expect(visit.said).to_have_text([re.compile(t) for t in ("First", "Now", "For later")])
    await expect(visit.reply).to_contain_text("Later.")
    await expect(visit.replies.first).to_contain_text("Stopped")


@both_looks
async def test_a_queued_message_is_edited_in_its_place_or_withdrawn(
    scripted_visit: Visit, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    await begin(visit, endpoint, gate, "Two.", "Three.")
    await queue(visit, "Secnd")
    await queue(visit, "Third")
    await queue(visit, "Never mind")
    await waiting(visit).last.get_by_role("button", name="Withdraw").click()
    await expect(waiting(visit)).to_have_count(2)
    await expect(visit.field).to_be_focused()
    await waiting(visit).first.get_by_role("button", name="Edit").click()
    editor = visit.page.get_by_role("textbox", name="Edit your message")
    await expect(editor).to_have_value("Secnd")
    await editor.fill("Second")
    assert await axe(visit.page, AXE) == []
    await visit.button("Save").click()
    await expect(waiting(visit)).to_have_text([re.compile("Second"), re.compile("Third")])
    await expect(visit.field).to_be_focused()
    await visit.field.press("ArrowUp")
    await expect(editor).to_have_value("Third")
    await editor.press("Escape")
    await visit.page.reload()
    await expect(waiting(visit)).to_have_text([re.compile("Second"), re.compile("Third")])
    gate.set()
    await expect(visit.reply).to_contain_text("Three.")
    await expect(visit.said).to_have_text([re.compile(t) for t in ("First", "Second", "Third")])


async def test_what_is_typed_in_a_queued_message_that_begins_meanwhile_stays_in_its_editor(
    scripted_visit: Visit, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    await begin(visit, endpoint, gate, "Two.", "Better.")
    await queue(visit, "Second")
    await waiting(visit).get_by_role("button", name="Edit").click()
    editor = visit.page.get_by_role("textbox", name="Edit your message")
    await editor.fill("Second, but better")
    gate.set()
    await expect(visit.reply).to_contain_text("Two.")
    await expect(visit.reply).to_have_attribute("aria-busy", "false")
    await expect(editor).to_have_value("Second, but better")
    await editor.press("Control+Enter")
    await expect(visit.reply).to_contain_text("Better.")
    await expect(visit.said.last).to_contain_text("Second, but better")


@both_looks
async def test_what_is_queued_outlives_a_reload_and_begins_when_the_reply_is_stopped(
    scripted_visit: Visit, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    await begin(visit, endpoint, gate, "Two.", "Three.")
    await queue(visit, "Second")
    await queue(visit, "Third")
    await visit.page.reload()
    await expect(waiting(visit)).to_have_text([re.compile("Second"), re.compile("Third")])
    await visit.button("Stop").click()
    await expect(visit.replies.first).to_contain_text("Stopped")
    await expect(visit.reply).to_contain_text("Three.")
    await expect(visit.said).to_have_text([re.compile(t) for t in ("First", "Second", "Third")])
    await expect(waiting(visit)).to_have_count(0)


async def test_what_is_queued_begins_when_the_reply_has_failed(
    scripted_visit: Visit, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    endpoint.script(reply(Say("One"), Pause(gate), Break()), text_reply("Two."))
    await visit.say("First")
    await expect(visit.reply).to_contain_text("One")
    await queue(visit, "Second")
    gate.set()
    await expect(visit.reply).to_contain_text("Two.")
    await expect(visit.replies.first).to_contain_text("Failed")
    await expect(waiting(visit)).to_have_count(0)


async def test_a_queued_message_that_cannot_begin_says_why_and_is_tried_again(
    scripted_visit: Visit,
    endpoint: StrictEndpoint,
    gate: asyncio.Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    visit = scripted_visit

    def refuse(*_: object) -> None:
        raise InvalidRequest("unknown_model", "The model is gone.")

    await begin(visit, endpoint, gate, "Two.")
    await queue(visit, "Second")
    with monkeypatch.context() as broken:
        broken.setattr(RunStarts, "make", refuse)
        gate.set()
        await expect(waiting(visit)).to_contain_text("The model is gone.")
    await waiting(visit).get_by_role("button", name="Try again").click()
    await expect(visit.reply).to_contain_text("Two.")
    await expect(waiting(visit)).to_have_count(0)


async def test_what_a_full_queue_does_not_take_is_in_the_field_again(
    scripted_visit: Visit, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    await begin(visit, endpoint, gate)
    refusal = {"code": "queue_full", "detail": "20 messages wait already.", "status": 409}
    await visit.page.route("**/chat*", lambda route: route.fulfill(status=409, json=refusal))
    await visit.field.fill("One too many")
    await visit.button("Queue").click()
    await expect(visit.field).to_have_value("One too many")
    await expect(visit.page.locator("#connection")).to_contain_text("20 messages wait already.")
    await expect(waiting(visit)).to_have_count(0)
    gate.set()
    await visit.idle()


async def test_what_is_written_while_the_network_is_away_is_queued_when_it_is_back(
    scripted_visit: Visit, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    await begin(visit, endpoint, gate, "Two.", "Three.")
    await visit.page.route("**/chat*", lambda route: route.abort())
    for words in ("Second", "Third"):
        await visit.field.fill(words)
        await visit.button("Queue").click()
    await expect(visit.said).to_have_count(3)
    await expect(visit.said.last).to_contain_text("Not sent yet")
    await visit.page.unroute("**/chat*")
    await reconnect(visit)
    await expect(waiting(visit)).to_have_text([re.compile("Second"), re.compile("Third")])
    gate.set()
    await expect(visit.reply).to_contain_text("Three.")
    await expect(visit.said).to_have_text([re.compile(t) for t in ("First", "Second", "Third")])


async def test_a_question_to_the_user_comes_before_what_is_queued(
    scripted_visit: Visit, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    question = reply(Say("Let me ask."), Pause(gate), Call(0, "c1", "request_user_selection", ASK))
    endpoint.script(question, text_reply("Red it is."), text_reply("Two."))
    await visit.say("First")
    await expect(visit.reply).to_contain_text("Let me ask.")
    await queue(visit, "Second")
    gate.set()
    await expect(waiting(visit)).to_contain_text("Waits: your answer comes first")
    await visit.page.reload()
    await expect(waiting(visit)).to_contain_text("Waits: your answer comes first")
    await visit.button("Answer").click()
    await expect(visit.replies.first).to_contain_text("Red it is.")
    await expect(visit.reply).to_contain_text("Two.")


async def test_a_question_that_comes_before_the_server_has_the_message_is_not_closed_by_it(
    scripted_visit: Visit, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    question = reply(Say("Let me ask."), Pause(gate), Call(0, "c1", "request_user_selection", ASK))
    endpoint.script(question, text_reply("Red it is."), text_reply("Two."))
    await visit.say("First")
    await expect(visit.reply).to_contain_text("Let me ask.")
    arrives = asyncio.Event()

    async def hold(route: Route) -> None:
        await arrives.wait()
        await route.continue_()

    await visit.page.route("**/chat?*", hold)
    async with visit.page.expect_request("**/chat?*"):
        await press_queue(visit, "Second")
    gate.set()
    await expect(visit.button("Answer")).to_be_visible()
    arrives.set()
    await expect(waiting(visit)).to_contain_text("Waits: your answer comes first")
    await visit.button("Answer").click()
    await expect(visit.replies.first).to_contain_text("Red it is.")
    await expect(visit.reply).to_contain_text("Two.")


async def test_what_is_queued_before_a_new_thread_has_its_name_goes_into_it(
    scripted_visit: Visit, scripted: Client, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    endpoint.script(text_reply("One."), text_reply("Two."))

    async def hold(route: Route) -> None:
        await gate.wait()
        await route.continue_()

    await visit.page.route("**/chat*", hold)
    await visit.say("First")
    await press_queue(visit, "Second")
    gate.set()
    await expect(visit.replies).to_have_count(2)
    await visit.idle()
    await expect(visit.said).to_have_text([re.compile("First"), re.compile("Second")])
    assert len((await scripted.http.get("/threads")).json()["threads"]) == 1


async def test_two_tabs_show_one_queue_and_what_begins_of_it(
    scripted_visit: Visit, visitors: Visitors, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    await begin(visit, endpoint, gate, "Two.")
    other = await (await visitors.beside(visit)).open(await visit.thread_id())
    await expect(other.reply).to_contain_text("One")
    await queue(visit, "Second")
    await expect(waiting(other)).to_contain_text("Second")
    await queue(other, "Never mind")
    await expect(waiting(visit)).to_contain_text(["Second", "Never mind"])
    unwanted = waiting(visit).filter(has_text="Never mind")
    await unwanted.get_by_role("button", name="Withdraw").click()
    await expect(waiting(other)).to_have_text([re.compile("Second")])
    gate.set()
    for tab in (visit, other):
        await expect(tab.reply).to_contain_text("Two.")
        await expect(tab.said).to_have_text([re.compile("First"), re.compile("Second")])
        await expect(waiting(tab)).to_have_count(0)
        await tab.idle()
    assert len(endpoint.requests) == 2


async def test_another_device_shows_what_is_queued_and_what_begins_of_it(
    scripted_visit: Visit,
    scripted: Client,
    visitors: Visitors,
    endpoint: StrictEndpoint,
    gate: asyncio.Event,
) -> None:
    visit, ends = scripted_visit, asyncio.Event()
    held = reply(Say("One"), Pause(gate), Say(" and done."))
    endpoint.script(held, reply(Say("Two"), Pause(ends)), text_reply("Three."))
    await visit.say("First")
    await expect(visit.reply).to_contain_text("One")
    thread_id = await visit.thread_id()
    # Nobody has told the page of these: its own run is what it reads.
    for words in ("Second", "Third"):
        body = {"thread_id": thread_id, "message": words, "on_busy": "queue"}
        headers = {"Prefer": "respond-async"}
        assert (await scripted.http.post("/chat", json=body, headers=headers)).status_code == 202
    device = await (await visitors(visit.url, "desktop dark")).open(thread_id)
    await expect(waiting(device)).to_have_text([re.compile("Second"), re.compile("Third")])
    gate.set()
    for one in (visit, device):
        await expect(one.reply).to_contain_text("Two")
        await expect(waiting(one)).to_have_text([re.compile("Third")])
    ends.set()
    for one in (visit, device):
        await expect(one.reply).to_contain_text("Three.")
        await expect(waiting(one)).to_have_count(0)


async def test_what_is_queued_begins_while_no_page_is_open_and_in_its_place(
    scripted_visit: Visit, scripted: Client, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    await begin(visit, endpoint, gate, "Two.", "Another's.")
    await queue(visit, "Second")
    thread_id = await visit.thread_id()
    await visit.page.goto("about:blank")
    body = {"thread_id": thread_id, "message": "By another device", "on_busy": "queue"}
    gate.set()
    await scripted.turn(body)
    await visit.open(thread_id)
    await expect(visit.said).to_have_text(
        [re.compile(t) for t in ("First", "Second", "By another device")]
    )
    await expect(visit.reply).to_contain_text("Another's.")
    await expect(waiting(visit)).to_have_count(0)


@own_profile
@pytest.mark.parametrize("comes_back", ["online again", repeat("by Retry")])
async def test_what_is_queued_is_sent_when_a_reply_ended_in_an_outage_that_reconnecting_gave_up(
    scripted_visit: Visit,
    scripted: Client,
    endpoint: StrictEndpoint,
    gate: asyncio.Event,
    comes_back: str,
) -> None:
    visit = scripted_visit
    await begin(visit, endpoint, gate, "Two.")
    await queue(visit, "Second")
    thread_id = await visit.thread_id()
    await visit.page.clock.install()
    await visit.page.route("**/stream", lambda route: route.abort())
    await visit.page.reload()
    async with asyncio.timeout(WAIT_SECONDS):
        while not await visit.alert.is_visible():
            await visit.page.clock.run_for(1_000)
    await expect(visit.alert).to_contain_text("The connection to the server was lost")
    gate.set()
    await eventually(lambda: is_over(scripted, thread_id))
    await visit.page.unroute("**/stream")
    if comes_back == "by Retry":
        await visit.retry.click()
    else:
        await reconnect(visit)
    await expect(visit.reply).to_contain_text("Two.")
    await visit.idle()
    await expect(waiting(visit)).to_have_count(0)
    await expect(visit.said).to_have_text([re.compile("First"), re.compile("Second")])


async def is_over(client: Client, thread_id: str) -> bool:
    return (await client.thread(thread_id))["run"] is None


async def test_a_queue_does_not_follow_into_another_thread(
    scripted_visit: Visit, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    await begin(visit, endpoint, gate, "Elsewhere.", "Two.")
    await queue(visit, "Second")
    thread_id = await visit.thread_id()
    await show_list(visit)
    await visit.button("New thread").click()
    await expect(waiting(visit)).to_have_count(0)
    await visit.ask("Another")
    gate.set()
    await visit.open(thread_id)
    await expect(visit.reply).to_contain_text("Two.")


async def test_a_message_that_waits_breaks_no_date(
    scripted_visit: Visit, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    visit = scripted_visit
    await visit.page.set_viewport_size({"width": 340, "height": 800})
    await begin(visit, endpoint, gate, "Two.")
    await queue(visit, "From 2024-03-31T01:00 to 2024-04-01 and 2024-04-02 again. " * 3)
    dates = waiting(visit).locator(".iso")
    await expect(dates).to_have_count(9)
    assert set(await lines_of(dates)) == {1}
    gate.set()
    await expect(visit.reply).to_contain_text("Two.")
