"""A tool call's card, through every state that it can have."""

import asyncio
import re
from pathlib import Path

from playwright.async_api import expect

from tests.browser.conftest import Visitors, both_looks
from tests.browser.site import Visit
from tests.support.counting_tools import CountingTools
from tests.support.endpoint import Args, Call, Pause, StrictEndpoint, call_reply, reply, text_reply
from tests.support.serving import Client, endpoint_settings, serving


@both_looks
async def test_a_card_goes_from_writing_to_running_to_complete(
    counting_visit: Visit, endpoint: StrictEndpoint, counting_tools: CountingTools
) -> None:
    pause = Pause(asyncio.Event())
    endpoint.script(
        reply(Call(0, "c1", "hold", '{"wor'), pause, Args(0, 'd": "tea"}')), text_reply("Done.")
    )
    await counting_visit.say("Hold it")
    card = counting_visit.cards
    await expect(card).to_contain_text("Writing arguments")
    await expect(card).to_contain_text("hold")
    pause.event.set()
    await expect(card).to_contain_text("Running")
    await expect(card).to_contain_text("word: tea")
    counting_tools.release.set()
    await expect(card).to_contain_text("Complete")
    await counting_visit.idle()
    await expect(counting_visit.reply).to_contain_text("Done.")


async def test_a_card_opens_to_arguments_and_result_as_json(
    counting_visit: Visit, endpoint: StrictEndpoint
) -> None:
    endpoint.script(call_reply(("echo", '{"word": "tea"}')), text_reply("Done."))
    await counting_visit.ask("Say tea")
    body = counting_visit.cards.locator(".tool-body")
    await expect(body).to_be_hidden()
    await counting_visit.cards.locator("summary").click()
    await expect(body).to_be_visible()
    await expect(body.get_by_role("group", name="Arguments")).to_have_text(
        re.compile(r'\{\s*"word": "tea"\s*\}')
    )
    await expect(body.get_by_role("group", name="Result")).to_contain_text('"tea"')
    await expect(body.locator(".hljs-attr").first).to_have_text('"word"')
    await expect(counting_visit.cards.locator(".tool-ms")).to_have_text(re.compile(r"\d+ (ms|s)"))


async def test_the_time_of_a_card_is_that_of_its_tool_also_after_a_reload(
    counting_visit: Visit, counting_client: Client, endpoint: StrictEndpoint
) -> None:
    pause = Pause(asyncio.Event())
    endpoint.script(
        reply(Call(0, "c1", "echo", '{"wor'), pause, Args(0, 'd": "tea"}')), text_reply("Done.")
    )
    await counting_visit.say("Say tea")
    await expect(counting_visit.cards).to_contain_text("Writing arguments")
    await expect(counting_visit.cards.locator(".tool-ms")).to_have_count(0)
    pause.event.set()
    await counting_visit.idle()
    thread = await counting_client.thread(await counting_visit.thread_id())
    measured = thread["messages"][-1]["timing"]["toolMs"]["c1"]
    for _ in range(2):
        await expect(counting_visit.cards.locator(".tool-ms")).to_have_text(f"{measured} ms")
        await counting_visit.page.reload()


async def test_a_card_shows_how_far_its_tool_is(
    counting_visit: Visit, endpoint: StrictEndpoint, counting_tools: CountingTools
) -> None:
    endpoint.script(call_reply(("report", '{"word": "tea"}')), text_reply("Done."))
    await counting_visit.say("Report")
    await expect(counting_visit.cards).to_contain_text("Running")
    await counting_visit.cards.locator("summary").click()
    progress = counting_visit.cards.get_by_role("group", name="Progress")
    await expect(progress).to_contain_text('"half of tea"')
    counting_tools.release.set()
    await counting_visit.idle()
    await expect(counting_visit.cards.get_by_role("group", name="Result")).to_contain_text('"tea"')


async def test_a_failed_call_shows_its_error_and_not_its_cause(
    counting_visit: Visit, endpoint: StrictEndpoint
) -> None:
    endpoint.script(call_reply(("broken", '{"word": "tea"}')), text_reply("It failed."))
    await counting_visit.ask("Break it")
    await expect(counting_visit.cards).to_contain_text("Error")
    await expect(counting_visit.page.locator(".tool-error")).to_contain_text(
        "The tool failed unexpectedly."
    )


async def test_broken_arguments_show_as_they_came(
    counting_visit: Visit, endpoint: StrictEndpoint
) -> None:
    endpoint.script(call_reply(("echo", '{"word": "te')), text_reply("It failed."))
    await counting_visit.ask("Break it")
    await counting_visit.cards.locator("summary").click()
    await expect(counting_visit.cards.get_by_role("group", name="Arguments")).to_have_text(
        '{"word": "te'
    )
    await expect(counting_visit.cards).to_contain_text("Error")


async def test_a_call_that_takes_too_long_is_timed_out(
    endpoint: StrictEndpoint, counting_tools: CountingTools, visitors: Visitors, tmp_path: Path
) -> None:
    endpoint.script(call_reply(("hold", '{"word": "tea"}')), text_reply("Too slow."))
    hasty = endpoint_settings(tmp_path / "t.db", endpoint, tool_timeout_seconds=0.5)
    async with serving(hasty, counting_tools.catalogue) as client:
        visit = await (await visitors(client.url)).open()
        await visit.ask("Hold it")
        await expect(visit.cards).to_contain_text("Timed out")


async def test_a_stopped_call_is_cancelled(
    counting_visit: Visit, endpoint: StrictEndpoint, counting_tools: CountingTools
) -> None:
    endpoint.script(call_reply(("hold", '{"word": "tea"}')))
    await counting_visit.say("Hold it")
    await counting_tools.begun("tea")
    await expect(counting_visit.cards).to_contain_text("Running")
    await counting_visit.button("Stop").click()
    await counting_visit.idle()
    await expect(counting_visit.cards).to_contain_text("Cancelled")


async def test_parallel_calls_have_a_card_each(
    counting_visit: Visit, endpoint: StrictEndpoint, counting_tools: CountingTools
) -> None:
    endpoint.script(
        call_reply(("echo", '{"word": "one"}'), ("hold", '{"word": "two"}')), text_reply("Done.")
    )
    await counting_visit.say("Both")
    await counting_tools.begun("two")
    await expect(counting_visit.cards).to_have_count(2)
    await expect(counting_visit.cards.nth(0)).to_contain_text("Complete")
    await expect(counting_visit.cards.nth(1)).to_contain_text("Running")
    counting_tools.release.set()
    await counting_visit.idle()
    await expect(counting_visit.cards.nth(1)).to_contain_text("Complete")


async def test_the_cards_of_a_loaded_thread_are_those_that_streamed(
    counting_visit: Visit, endpoint: StrictEndpoint
) -> None:
    endpoint.script(
        call_reply(("echo", '{"word": "one"}'), ("broken", '{"word": "two"}')), text_reply("Done.")
    )
    await counting_visit.ask("Both")
    await counting_visit.page.reload()
    await expect(counting_visit.cards.nth(0)).to_contain_text("Complete")
    await expect(counting_visit.cards.nth(1)).to_contain_text("Error")
