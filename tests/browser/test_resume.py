"""A turn that the page was not there for all of: reloads, drops, second tabs, restarts."""

import asyncio
import json
from pathlib import Path

import pytest
from playwright.async_api import Route, expect

from tests.browser.conftest import Visitors, both_looks
from tests.browser.site import Visit
from tests.support.backend import THREAD, backend, key_of, message
from tests.support.endpoint import Args, Call, Pause, Say, StrictEndpoint, reply, text_reply
from tests.support.serving import Client, serving, settings
from turnstream.graphs.offline import OfflineChatModel

TURN = "What is 17 * 23, and what time is it in Tokyo?"


async def text_of(visit: Visit) -> str:
    return await visit.reply.locator(".markdown").last.inner_text()


@both_looks
async def test_a_reload_in_mid_turn_loses_and_doubles_nothing(
    slow_visit: Visit, slow_client: Client
) -> None:
    await slow_visit.say("Write 60 words")
    thread_id = await slow_visit.thread_id()
    for word in ("lighthouse", "heron", "train"):
        await expect(slow_visit.reply).to_contain_text(word)
        await slow_visit.page.reload()
    await slow_visit.idle()
    stored = (await slow_client.thread(thread_id))["messages"][-1]["parts"]
    assert len(stored) == 1
    assert (await text_of(slow_visit)).split() == stored[0]["text"].split()
    await expect(slow_visit.reply.locator(".markdown")).to_have_count(1)


async def test_a_reload_while_arguments_stream_goes_on_with_the_same_cards(
    scripted_visit: Visit, scripted: Client, endpoint: StrictEndpoint
) -> None:
    pause = Pause(asyncio.Event())
    endpoint.script(
        reply(
            Say("Let me see."),
            Call(0, "call_1", "calculator", '{"expression": "17 '),
            pause,
            Args(0, '* 23"}'),
            Call(1, "call_2", "get_current_time", '{"timezone": "Asia/Tokyo"}'),
        ),
        text_reply("It is 391."),
    )
    await scripted_visit.say(TURN)
    await expect(scripted_visit.cards.first).to_contain_text("Writing arguments")
    await scripted_visit.page.reload()
    await expect(scripted_visit.cards.first).to_contain_text("Writing arguments")
    pause.event.set()
    await scripted_visit.idle()
    await expect(scripted_visit.cards).to_have_count(2)
    await expect(scripted_visit.cards.nth(0)).to_contain_text("expression: 17 * 23")
    await expect(scripted_visit.cards.nth(1)).to_contain_text("timezone: Asia/Tokyo")
    thread = await scripted.thread(await scripted_visit.thread_id())
    parts = thread["messages"][-1]["parts"]
    assert [part["type"] for part in parts] == ["text", "tool-call", "tool-call", "text"]
    assert (await text_of(scripted_visit)).split() == parts[-1]["text"].split()


async def test_a_continued_turn_that_is_reloaded_keeps_the_parts_of_both_runs(
    scripted_visit: Visit, scripted: Client, endpoint: StrictEndpoint
) -> None:
    question = {"kind": "single", "prompt": "Which?", "options": [{"value": "a"}]}
    pause = Pause(asyncio.Event())
    endpoint.script(
        reply(Say("Choose."), Call(0, "c1", "request_user_selection", json.dumps(question))),
        reply(Say("Thank "), pause, Say("you.")),
    )
    await scripted_visit.ask("Ask me")
    form = scripted_visit.page.locator("form.question")
    await form.get_by_role("radio").check()
    await form.get_by_role("button", name="Answer").click()
    texts = scripted_visit.reply.locator(".markdown")
    await expect(texts).to_have_text(["Choose.", "Thank"])
    await scripted_visit.page.reload()
    await expect(texts).to_have_text(["Choose.", "Thank"])
    await expect(scripted_visit.reply).to_have_attribute("aria-busy", "true")
    pause.event.set()
    await scripted_visit.idle()
    await expect(texts).to_have_text(["Choose.", "Thank you."])
    await expect(scripted_visit.page.locator(".answered")).to_have_count(1)
    hydrated = await scripted.thread(await scripted_visit.thread_id())
    parts = hydrated["messages"][-1]["parts"]
    assert [part["type"] for part in parts] == ["text", "tool-call", "text"]


async def test_two_tabs_show_the_same_turn_as_it_streams(
    scripted_visit: Visit, visitors: Visitors, endpoint: StrictEndpoint
) -> None:
    pause = Pause(asyncio.Event())
    endpoint.script(text_reply("Hello."), reply(Say("The light"), pause, Say("house.")))
    await scripted_visit.ask("Hello")
    other = await (await visitors.beside(scripted_visit)).open(await scripted_visit.thread_id())
    await expect(other.replies).to_have_count(1)
    await scripted_visit.say("Go on")
    await expect(other.said).to_have_count(2)
    for visit in (scripted_visit, other):
        await expect(visit.reply).to_have_attribute("aria-busy", "true")
        await expect(visit.reply).to_contain_text("The light")
        await expect(visit.button("Stop")).to_be_visible()
    pause.event.set()
    for visit in (scripted_visit, other):
        await visit.idle()
        await expect(visit.reply).to_contain_text("The lighthouse.")


async def test_a_message_from_a_second_tab_waits_on_the_server_while_the_first_streams(
    scripted_visit: Visit, visitors: Visitors, endpoint: StrictEndpoint
) -> None:
    pause = Pause(asyncio.Event())
    begun = reply(Say("The light"), pause, Say("house."))
    endpoint.script(text_reply("Hello."), begun, text_reply("You too."))
    await scripted_visit.ask("Hello")
    other = await visitors(scripted_visit.url)
    await other.open(await scripted_visit.thread_id())
    await expect(other.replies).to_have_count(1)
    await scripted_visit.say("Go on")
    await expect(scripted_visit.reply).to_contain_text("The light")
    await other.field.fill("Me too")
    await other.field.press("Control+Enter")
    await expect(other.field).to_have_value("")
    await expect(other.page.locator(".queued")).to_contain_text("Me too")
    await expect(other.reply).to_contain_text("The light")
    pause.event.set()
    for visit in (scripted_visit, other):
        await expect(visit.replies.nth(1)).to_contain_text("The lighthouse.")
        await expect(visit.reply).to_contain_text("You too.")


async def test_a_dropped_connection_is_taken_up_after_the_last_event(
    slow_visit: Visit, slow_client: Client
) -> None:
    refused = 0

    async def refuse_twice(route: Route) -> None:
        nonlocal refused
        refused += 1
        if refused > 2:
            await route.continue_()
        else:
            await route.abort()

    await slow_visit.page.route("**/stream", refuse_twice)
    await slow_visit.say("Write 80 words")
    await expect(slow_visit.reply).to_contain_text("lighthouse")
    await slow_visit.page.reload()
    await expect(slow_visit.page.locator("#connection")).to_contain_text("Reconnecting, attempt")
    await slow_visit.idle()
    parts = (await slow_client.thread(await slow_visit.thread_id()))["messages"][-1]["parts"]
    assert (await text_of(slow_visit)).split() == parts[0]["text"].split()
    assert refused > 2


@pytest.mark.full
async def test_a_thread_of_500_messages_shows_at_its_end_and_scrolls(
    visitors: Visitors, tmp_path: Path
) -> None:
    path = tmp_path / "t.db"
    async with backend(path, OfflineChatModel(word_seconds=0)) as inside:
        await inside.turn(message("Show me some markdown"))
        first = (await inside.state()).messages
        later = [
            each.model_copy(update={"id": f"{each.id}-{number}"})
            for number in range(249)
            for each in first
        ]
        await inside.checkpoints.add(key_of(), later)
    async with serving(settings(path)) as client:
        visit = await visitors(client.url)
        await visit.open(THREAD)
        await expect(visit.replies).to_have_count(25)
        await expect(visit.said.last).to_be_in_viewport()
        await visit.page.locator("#scroller").hover()
        await visit.page.mouse.wheel(0, -3000)
        await expect(visit.said.last).not_to_be_in_viewport()
        await visit.button("Latest").click()
        await expect(visit.said.last).to_be_in_viewport()
        await visit.ask("Hello")
        await visit.leave()
