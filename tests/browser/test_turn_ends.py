"""What a turn says of its end, and of the thoughts before it; the same when it is loaded."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Visitors
from tests.browser.site import Visit
from tests.support.counting_tools import CountingTools
from tests.support.endpoint import Finish, Pause, Reply, Say, StrictEndpoint, call_reply, text_reply
from tests.support.scripted_model import ScriptedModel, finish, reasoning, text
from tests.support.serving import endpoint_settings, serving, settings


@pytest.mark.parametrize(
    ("reply", "limits", "note"),
    [
        (
            Reply((Say("On and "), Finish("length"))),
            {},
            "Cut off: the model reached its limit of words",
        ),
        (
            Reply((Say("On and "), Finish("content_filter"))),
            {},
            "Cut off by the model's content filter",
        ),
        (
            call_reply(("echo", '{"word": "tea"}')),
            {"max_steps": 1},
            "Stopped: max steps of 1 reached",
        ),
    ],
    ids=["length", "content filter", "limit"],
)
async def test_a_reply_that_was_cut_off_says_why(
    reply: Reply,
    limits: dict[str, Any],
    note: str,
    tmp_path: Path,
    endpoint: StrictEndpoint,
    visitors: Visitors,
    look: str,
) -> None:
    endpoint.script(reply)
    own = endpoint_settings(tmp_path / "t.db", endpoint, **limits)
    async with serving(own, CountingTools().catalogue) as client:
        visit = await (await visitors(client.url, look)).open()
        await visit.ask("Go on")
        await expect(visit.reply.locator(".mark")).to_have_text(note)
        await visit.page.reload()
        await expect(visit.reply.locator(".mark")).to_have_text(note)
        await visit.leave()


async def test_thoughts_are_open_while_they_stream_and_closed_behind_the_answer(
    tmp_path: Path, visitors: Visitors, look: str
) -> None:
    spoken = asyncio.Event()
    model = ScriptedModel.of([reasoning("The moon pulls."), spoken, text("Tides."), finish()])
    async with serving(settings(tmp_path / "t.db"), model=model) as client:
        visit = await (await visitors(client.url, look)).open()
        await visit.say("Why tides?")
        thoughts = visit.reply.locator("details.reasoning")
        await expect(thoughts.locator("summary")).to_have_text("Thinking")
        await expect(thoughts.get_by_text("The moon pulls.")).to_be_visible()
        spoken.set()
        await visit.idle()
        await expect(thoughts.locator("summary")).to_have_text("Thought")
        await expect(thoughts.get_by_text("The moon pulls.")).to_be_hidden()
        await expect(visit.reply).to_contain_text("Tides.")
        await visit.page.reload()
        await expect(thoughts.locator("summary")).to_have_text("Thought")
        await thoughts.locator("summary").click()
        await expect(thoughts.get_by_text("The moon pulls.")).to_be_visible()
        await visit.leave()


async def test_who_has_a_reply_continued_writes_on(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    visit = scripted_visit
    endpoint.script(Reply((Say("One "), Pause(asyncio.Event()))), text_reply("and two."))
    await visit.say("Count")
    await expect(visit.reply).to_contain_text("One")
    await visit.button("Stop").click()
    await visit.idle()
    await visit.button("Continue").click()
    await expect(visit.reply).to_contain_text("and two.")
    await expect(visit.field).to_be_focused()


async def test_who_has_a_message_sent_again_writes_on(visit: Visit) -> None:
    await visit.page.route("**/chat", lambda route: route.abort(), times=1)
    await visit.say("Hello")
    await visit.retry.click()
    await expect(visit.replies).to_have_count(1)
    await expect(visit.field).to_be_focused()
