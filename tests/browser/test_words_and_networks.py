"""Nobody loses a word in two tabs, of which one has a slow network or none."""

import re

from playwright.async_api import expect

from tests.browser.conftest import Visitors
from tests.browser.networks import network_of
from tests.browser.site import Visit
from tests.browser.test_threads_page import delete
from tests.browser.test_words_kept import (
    begin_edit,
    editor,
    go_offline,
    go_online,
    is_known,
    send_edit,
    threads,
)
from tests.support.endpoint import StrictEndpoint, text_reply
from tests.support.serving import Client


async def second_tab(visit: Visit, visitors: Visitors, replies: int) -> Visit:
    """The same thread in another tab."""
    other = await (await visitors.beside(visit)).open(await visit.thread_id())
    await expect(other.replies).to_have_count(replies)
    return other


async def test_words_for_no_thread_come_back_though_a_slow_network_says_so_late(
    visit: Visit, client: Client
) -> None:
    network = await network_of(visit)
    await network.slow()
    await visit.page.evaluate(
        """() => {
          history.pushState(null, "", "?thread=no-such-thread");
          dispatchEvent(new PopStateEvent("popstate"));
        }"""
    )
    await visit.field.fill("Do not lose me")
    await visit.field.press("Control+Enter")
    await expect(visit.log).to_contain_text("This thread is gone")
    await expect(visit.field).to_have_value("Do not lose me")
    await network.whole()
    assert await threads(client) == []


async def test_a_reply_is_not_made_anew_by_a_tab_that_was_cut_off_while_another_went_on(
    scripted_visit: Visit, visitors: Visitors, endpoint: StrictEndpoint
) -> None:
    endpoint.script(*(text_reply(f"{number}.") for number in ("One", "Two", "Three")))
    visit = scripted_visit
    await visit.ask("First")
    await visit.ask("Second")
    other = await second_tab(visit, visitors, 2)
    network = await network_of(visit)
    await network.cut()
    await visit.replies.first.hover()
    await visit.replies.first.get_by_role("button", name="Regenerate reply").click()
    await visit.page.get_by_role("dialog").get_by_role("button", name="Regenerate").click()
    await expect(visit.alert).to_contain_text("cannot be reached")
    await other.ask("Third")
    await network.whole()
    await expect(visit.replies).to_have_text([re.compile(one) for one in ("One", "Two", "Three")])
    await expect(visit.alert).to_have_count(0)


async def test_an_edit_of_a_tab_that_was_cut_off_is_kept_and_asks_before_it_drops_anything(
    scripted_visit: Visit, visitors: Visitors, scripted: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("One."), text_reply("Two."))
    visit = scripted_visit
    await visit.ask("First")
    other = await second_tab(visit, visitors, 1)
    field = await begin_edit(visit)
    await field.fill("In other words")
    network = await network_of(visit)
    await network.cut()
    await other.ask("Second")
    await send_edit(visit)
    await expect(visit.page.locator(".editor").get_by_role("alert")).to_contain_text(
        "cannot be reached"
    )
    await expect(field).to_have_value("In other words")
    await network.whole()
    await visit.page.reload()
    await expect(field).to_have_value("In other words")
    await send_edit(visit)
    await expect(visit.log.get_by_role("alert")).to_contain_text("gone on elsewhere")
    await expect(field).to_have_value("In other words")
    assert len((await scripted.thread(await visit.thread_id()))["messages"]) == 4


async def test_what_waits_for_the_network_is_shown_in_two_tabs_and_sent_by_one(
    visit: Visit, visitors: Visitors, client: Client
) -> None:
    await visit.ask("Hello")
    other = await second_tab(visit, visitors, 1)
    await go_offline(visit)
    await visit.say("Are you there?")
    for tab in (visit, other):
        await expect(tab.said.last).to_contain_text("Are you there?")
        await expect(tab.said.last).to_contain_text("Not sent yet")
    posts, posts_of_other = visit.posts(), other.posts()
    await go_online(visit)
    for tab in (visit, other):
        await expect(tab.replies).to_have_count(2)
        await tab.idle()
        await expect(tab.log).not_to_contain_text("Not sent yet")
        await expect(tab.said).to_have_text([re.compile("Hello"), re.compile("Are you there")])
    assert len(posts + posts_of_other) == 1
    assert len((await client.thread(await visit.thread_id()))["messages"]) == 4


async def test_messages_on_a_slow_network_outlive_a_reload_and_are_sent_once(
    visit: Visit, client: Client
) -> None:
    network = await network_of(visit)
    await is_known(visit)
    for count, words in enumerate(("Hello", "Are you there?"), start=1):
        await network.slow()
        await visit.say(words)
        await network.whole()
        await visit.page.reload()
        await expect(visit.replies).to_have_count(count)
        await visit.idle()
        await expect(visit.said.last).to_contain_text(words)
        await expect(visit.said).to_have_count(count)
        await expect(visit.field).to_have_value("")
    assert len((await client.thread(await visit.thread_id()))["messages"]) == 4


async def test_a_thread_deleted_in_one_tab_does_not_come_back_from_one_that_was_cut_off(
    visit: Visit, visitors: Visitors, client: Client
) -> None:
    await visit.ask("Hello")
    other = await second_tab(visit, visitors, 1)
    network = await network_of(visit)
    await network.cut()
    await visit.say("Are you there?")
    await expect(visit.said.last).to_contain_text("Not sent yet")
    await visit.field.fill("Or not?")
    await delete(other, "Hello")
    await network.whole()
    await expect(visit.log).to_contain_text("This thread is gone")
    await expect(visit.field).to_have_value("Are you there?\n\nOr not?")
    assert await threads(client) == []


async def test_tabs_of_one_thread_have_drafts_and_editors_of_their_own(
    visit: Visit, visitors: Visitors
) -> None:
    await visit.ask("Hello")
    other = await second_tab(visit, visitors, 1)
    await visit.field.fill("A draft of the first tab")
    await (await begin_edit(visit)).fill("Hello, in other words")
    await other.field.fill("A draft of the second")
    await go_offline(visit)
    await go_online(visit)
    for tab in (visit, other):
        await tab.page.reload()
    await expect(visit.field).to_have_value("A draft of the first tab")
    await expect(editor(visit)).to_have_value("Hello, in other words")
    await expect(other.field).to_have_value("A draft of the second")
    await expect(editor(other)).to_have_count(0)
