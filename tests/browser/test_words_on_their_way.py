"""Acts while a request is on its way: nothing is lost, nothing happens in another thread."""

import asyncio
import re

import pytest
from playwright.async_api import Route, expect

from tests.browser.networks import hold
from tests.browser.site import Visit
from tests.browser.test_branches import edit, step
from tests.browser.test_threads_page import begin_anew, show_list
from tests.clients.scripted_turns import QUESTION
from tests.support.endpoint import Pause, Say, StrictEndpoint, call_reply, reply, text_reply
from tests.support.samples import repeat
from tests.support.serving import Client


async def send(visit: Visit, words: str) -> None:
    await visit.field.fill(words)
    await visit.field.press("Control+Enter")
    await expect(visit.field).to_have_value("")


async def send_unanswered(visit: Visit, words: str) -> None:
    """The post of the message arrives nowhere, and gets no answer."""
    posted = asyncio.Event()
    await visit.page.route("**/chat", lambda _: posted.set(), times=1)
    await send(visit, words)
    await posted.wait()


async def test_a_message_sent_while_its_thread_is_loaded_stands_behind_what_was_said(
    scripted_visit: Visit, scripted: Client, endpoint: StrictEndpoint
) -> None:
    visit, pause = scripted_visit, Pause(asyncio.Event())
    endpoint.script(text_reply("Answer 1."), reply(pause, Say("Answer 2.")))
    thread_id, _ = await scripted.turn({"message": "Hello"})
    address = re.compile(rf"/threads/{thread_id}(\?|$)")
    loading = await hold(visit, address)
    await visit.open(thread_id)
    await loading.arrived.wait()
    await send(visit, "And?")
    await expect(visit.said).to_contain_text("And?")
    async with visit.page.expect_response(address):
        loading.go_on.set()
    await expect(visit.said).to_have_text([re.compile("Hello"), re.compile("And")])
    pause.event.set()
    await expect(visit.replies).to_have_text([re.compile("Answer 1"), re.compile("Answer 2")])
    await visit.idle()


async def test_a_message_on_its_way_is_sent_after_a_look_at_another_version(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    visit = scripted_visit
    endpoint.script(*(text_reply(f"Answer {number}.") for number in (1, 2, 3)))
    await visit.ask("First")
    await edit(visit, "In other words")
    await visit.idle()
    await send_unanswered(visit, "And?")
    await step(visit.said.first, "Previous")
    await expect(visit.replies).to_have_text([re.compile("Answer 1")])
    await visit.button("Back to the thread").click()
    await expect(visit.replies).to_have_text([re.compile("Answer 2"), re.compile("Answer 3")])
    await expect(visit.said).to_have_text([re.compile("In other words"), re.compile("And")])


@pytest.mark.parametrize("came_through", [True, False], ids=["came through", "did not"])
@pytest.mark.parametrize("is_new", [repeat(True, "new thread"), pytest.param(False, id="thread")])
async def test_a_message_on_its_way_is_in_the_thread_once_after_a_look_at_another(
    scripted_visit: Visit,
    scripted: Client,
    endpoint: StrictEndpoint,
    came_through: bool,
    is_new: bool,
) -> None:
    visit = scripted_visit
    endpoint.script(*(text_reply(f"Answer {number}.") for number in range(3)))
    await scripted.turn({"message": "Another thread"})
    await visit.open()
    if not is_new:
        await visit.ask("First")
    posted = asyncio.Event()

    async def unanswered(route: Route) -> None:
        if came_through:
            await route.fetch()
        posted.set()

    await visit.page.route("**/chat", unanswered, times=1)
    await send(visit, "And?")
    await posted.wait()
    await show_list(visit)
    await visit.page.get_by_role("link", name="Another thread").click()
    await expect(visit.reply).to_contain_text("Answer 0.")
    await expect(visit.said).to_have_text(re.compile("Another thread"))
    await visit.page.go_back()
    before = [] if is_new else [re.compile("First")]
    await expect(visit.said).to_have_text([*before, re.compile("And")])
    await visit.idle()
    await expect(visit.field).to_have_value("")
    await expect(visit.log).not_to_contain_text("Not sent yet")
    await expect(visit.log).to_contain_text(f"Answer {1 if is_new else 2}.")
    assert len(endpoint.requests) == (2 if is_new else 3)


class Answered:
    """A request that the server answers, and the page when the test lets it."""

    def __init__(self) -> None:
        self.came, self.go_on = asyncio.Event(), asyncio.Event()

    async def __call__(self, route: Route) -> None:
        answer = await route.fetch()
        self.came.set()
        await self.go_on.wait()
        await route.fulfill(response=answer)


async def leave_for_another_thread(visit: Visit) -> None:
    await show_list(visit)
    await visit.page.get_by_role("link", name="Another thread").click()
    await expect(visit.reply).to_contain_text("Answer 0.")


async def test_a_message_that_comes_through_when_its_new_thread_was_left_waits_no_more(
    scripted_visit: Visit, scripted: Client, endpoint: StrictEndpoint
) -> None:
    visit, answered = scripted_visit, Answered()
    endpoint.script(text_reply("Answer 0."), text_reply("Answer 1."))
    await scripted.turn({"message": "Another thread"})
    await visit.open()
    await visit.page.route("**/chat", answered, times=1)
    await send(visit, "Hello")
    await answered.came.wait()
    await leave_for_another_thread(visit)
    mark = visit.page.get_by_role("img", name="Messages are not sent yet")
    answered.go_on.set()
    await show_list(visit)
    await expect(visit.page.get_by_role("link", name=re.compile("^Hello"))).to_be_visible()
    await expect(mark).to_have_count(0)
    await begin_anew(visit)
    await expect(visit.log).to_contain_text("What is 17")
    await expect(visit.said).to_have_count(0)
    assert len(endpoint.requests) == 2


async def test_a_stop_before_the_server_has_answered_holds_when_the_thread_is_left(
    scripted_visit: Visit, scripted: Client, endpoint: StrictEndpoint
) -> None:
    visit = scripted_visit
    endpoint.script(text_reply("Answer 0."), reply(Say("One "), Pause(asyncio.Event())))
    await scripted.turn({"message": "Another thread"})
    await visit.open()
    posted = await hold(visit, "**/chat")
    await send(visit, "Count")
    await visit.button("Stop").click()
    await posted.arrived.wait()
    await leave_for_another_thread(visit)
    posted.go_on.set()
    await show_list(visit)
    await visit.page.get_by_role("link", name=re.compile("^Count")).click()
    await expect(visit.reply).to_contain_text("Stopped")
    await visit.idle()


async def test_a_message_on_its_way_is_sent_though_new_is_pressed_again_and_again(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    visit = scripted_visit
    endpoint.script(text_reply("Answer 0."))
    posted = asyncio.Semaphore(0)

    async def never(_: Route) -> None:
        posted.release()

    await visit.page.route("**/chat", never, times=3)
    await send(visit, "Hello")
    for _ in range(3):
        await posted.acquire()
        await begin_anew(visit)
    await expect(visit.reply).to_contain_text("Answer 0.")
    await expect(visit.said).to_have_text(re.compile("Hello"))
    await visit.idle()


async def test_a_message_on_its_way_that_is_taken_back_does_not_come_through(
    scripted_visit: Visit, scripted: Client, endpoint: StrictEndpoint
) -> None:
    visit = scripted_visit
    endpoint.script(*(text_reply(f"Answer {number}.") for number in range(3)))
    await scripted.turn({"message": "Another thread"})
    await visit.open()
    await visit.ask("First")
    posted = await hold(visit, "**/chat")
    await send(visit, "Second")
    await posted.arrived.wait()
    await leave_for_another_thread(visit)
    loading = await hold(visit, re.compile(r"/threads/thread_"))
    await visit.page.go_back()
    await loading.arrived.wait()
    async with visit.page.expect_event("requestfailed"):
        await visit.button("Take back").click()
    await expect(visit.field).to_have_value("Second")
    loading.go_on.set()
    await expect(visit.said).to_have_text(re.compile("First"))
    await expect(visit.reply).to_contain_text("Answer 1.")
    await expect(visit.said).to_have_count(1)


@pytest.mark.full
async def test_messages_on_their_way_and_behind_it_keep_their_order_when_the_thread_is_left(
    scripted_visit: Visit, scripted: Client, endpoint: StrictEndpoint
) -> None:
    visit = scripted_visit
    endpoint.script(*(text_reply(f"Answer {number}.") for number in range(3)))
    await scripted.turn({"message": "Another thread"})
    await visit.open()
    await send_unanswered(visit, "First")
    await send(visit, "Second")  # stops the first
    await leave_for_another_thread(visit)
    await visit.page.go_back()
    await expect(visit.replies).to_have_text([re.compile("Answer 1"), re.compile("Answer 2")])
    await expect(visit.said).to_have_text([re.compile("First"), re.compile("Second")])
    await visit.idle()


async def test_a_stop_before_the_server_has_answered_stops_the_run(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    visit = scripted_visit
    endpoint.script(reply(Say("One "), Pause(asyncio.Event())))
    posted = await hold(visit, "**/chat")
    await send(visit, "Count")
    await posted.arrived.wait()
    await visit.button("Stop").click()
    posted.go_on.set()
    await expect(visit.reply).to_contain_text("Stopped")
    await visit.idle()


async def test_continue_goes_on_in_no_other_thread(
    scripted_visit: Visit, scripted: Client, endpoint: StrictEndpoint
) -> None:
    visit = scripted_visit
    endpoint.script(text_reply("Other."), reply(Say("One "), Pause(asyncio.Event())))
    await scripted.turn({"message": "Another thread"})
    await visit.say("Count")
    await expect(visit.reply).to_contain_text("One")
    await visit.button("Stop").click()
    await visit.idle()
    posts = visit.posts()
    address = re.compile(rf"/threads/{await visit.thread_id()}(\?|$)")
    loading = await hold(visit, address)
    await visit.button("Continue").click()
    await loading.arrived.wait()
    await show_list(visit)
    await visit.page.get_by_role("link", name="Another thread").click()
    await expect(visit.reply).to_contain_text("Other.")
    async with visit.page.expect_response(address):
        loading.go_on.set()
    await visit.page.evaluate("() => new Promise(requestAnimationFrame)")
    assert posts == []


async def test_a_question_takes_nobody_away_from_the_search(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    visit, pause = scripted_visit, Pause(asyncio.Event())
    ask = call_reply(("request_user_selection", QUESTION))
    endpoint.script(reply(pause, *ask.steps))
    await visit.say("Ask me")
    await show_list(visit)
    field = visit.page.get_by_role("searchbox", name="Search threads")
    await field.press_sequentially("fr")
    pause.event.set()
    await expect(visit.page.get_by_role("radio", name="fri")).to_be_enabled()
    await visit.idle()
    await visit.page.keyboard.type("iday")
    await expect(field).to_have_value("friday")


async def test_a_trouble_is_over_when_the_thread_is_loaded_again(visit: Visit) -> None:
    reply = await visit.ask("Hello")
    await visit.page.route("**/chat", lambda route: route.abort(), times=1)
    await reply.hover()
    await visit.button("Regenerate reply").click()
    await expect(visit.alert).to_contain_text("cannot be reached")
    await visit.page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
    await expect(visit.alert).to_have_count(0)
    await expect(visit.reply).to_contain_text("Hello!")
    await visit.ask("And?")


async def test_the_skip_link_opens_no_thread_anew(visit: Visit) -> None:
    await visit.ask("Hello")
    asked: list[str] = []
    visit.note_requests(lambda request: asked.append(request.url))
    link = visit.page.get_by_role("link", name="Skip to the message field")
    await link.focus()
    await link.press("Enter")
    await expect(visit.field).to_be_focused()
    await visit.page.evaluate("() => new Promise(requestAnimationFrame)")
    assert asked == []
