"""The list of threads and the way back: names, focus, places; what a reload shows; paper."""

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import Locator, Route, expect

from tests.browser.conftest import Visitors, both_looks, own_profile
from tests.browser.networks import hold
from tests.browser.site import Visit, axe
from tests.browser.test_accessibility import AXE
from tests.browser.test_threads_page import begin_anew, beside_threads, show_list
from tests.support.endpoint import Pause, Say, StrictEndpoint, reply, text_reply
from tests.support.serving import Client, endpoint_settings, serving


async def test_a_click_elsewhere_ends_renaming_and_keeps_the_title(visit: Visit) -> None:
    await visit.ask("Hello there")
    await show_list(visit)
    await visit.page.get_by_role("link", name="Hello there").hover()
    await visit.button("Rename Hello there").click()
    await visit.page.get_by_role("textbox", name="New title").fill("Greetings")
    await visit.page.locator(".brand").click()
    await expect(visit.page.get_by_role("textbox", name="New title")).to_have_count(0)
    await expect(visit.page.get_by_role("link", name="Greetings")).to_be_visible()
    await expect(visit.page.locator("#title")).to_have_text("Greetings")


@both_looks
async def test_renaming_and_deleting_leave_the_focus_in_the_list(
    visitors: Visitors, client: Client, look: str
) -> None:
    visit = await beside_threads(visitors, client, look, 3, opened=3)
    for key in ("Enter", "Escape"):
        await visit.page.get_by_role("link", name="Thread 2").hover()
        await visit.button("Rename Thread 2").click()
        await expect(visit.page.get_by_role("textbox", name="New title")).to_be_focused()
        await visit.page.keyboard.press(key)
        await expect(visit.page.get_by_role("link", name="Thread 2")).to_be_focused()
    for gone, next_ in (("Thread 2", "Thread 1"), ("Thread 1", "Thread 3")):
        await visit.page.get_by_role("link", name=gone).hover()
        await visit.button(f"Delete {gone}").click()
        await visit.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        await expect(visit.page.get_by_role("link", name=gone)).to_have_count(0)
        await expect(visit.page.get_by_role("link", name=next_)).to_be_focused()


async def test_a_list_that_was_asked_for_before_a_deletion_brings_no_row_back(
    visitors: Visitors, client: Client
) -> None:
    ids = [(await client.turn({"message": f"Thread {n}"}))[0] for n in (1, 2)]
    visit = await (await visitors(client.url)).open(ids[1])
    rows = visit.page.locator("#thread-list a")
    await expect(rows).to_have_count(2)
    await expect(visit.replies).to_have_count(1)
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def late(route: Route) -> None:
        answer = await route.fetch()
        asked.set()
        await go_on.wait()
        await route.fulfill(response=answer)

    await visit.page.route("**/threads?*", late, times=1)
    await visit.ask("And?")  # The list is asked for.
    await asked.wait()
    await visit.page.get_by_role("link", name="Thread 1").hover()
    await visit.button("Delete Thread 1").click()
    await visit.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(rows).to_have_count(1)
    await visit.page.evaluate(
        """() => {
          window.rows = [];
          const list = document.querySelector("#thread-list");
          new MutationObserver(() => rows.push(list.querySelectorAll("a").length))
            .observe(list, { childList: true, subtree: true });
        }"""
    )
    async with visit.page.expect_response("**/threads?*"):
        go_on.set()
    await visit.ask("And now?")
    await expect(rows).to_have_count(1)
    assert 2 not in await visit.page.evaluate("() => rows")


@both_looks
async def test_equal_titles_are_told_apart(visitors: Visitors, client: Client, look: str) -> None:
    for message in ("Hello", "Hello again", "Goodbye"):
        thread_id, _ = await client.turn({"message": message})
        if message == "Hello again":
            await client.http.patch(f"/threads/{thread_id}", json={"title": "Hello"})
    visit = await (await visitors(client.url, look)).open()
    await show_list(visit)
    links = visit.page.locator("#thread-list a")
    await expect(links).to_have_count(3)
    texts = [" ".join(text.split()) for text in await links.all_inner_texts()]
    assert len(set(texts)) == 3
    assert [text.startswith("Hello ") for text in texts] == [False, True, True]
    assert texts[0].startswith("Goodbye")
    assert await axe(visit.page, AXE) == []


@both_looks
async def test_a_link_to_an_old_thread_marks_it_in_the_list(
    visitors: Visitors, client: Client, look: str
) -> None:
    oldest, _ = await client.turn({"message": "The oldest"})
    for number in range(31):
        await client.turn({"message": f"Thread {number}"})
    visit = await (await visitors(client.url, look)).open(oldest)
    await show_list(visit)
    link = visit.page.get_by_role("link", name="The oldest")
    await expect(link).to_have_attribute("aria-current", "page")
    await expect(link).to_be_in_viewport()
    await visit.button("Show older threads").click()
    await expect(link).to_have_count(1)
    await expect(link).to_have_attribute("aria-current", "page")


async def top_of(message: Locator) -> float:
    box = await message.bounding_box()
    assert box
    return box["y"]


async def reading(visitors: Visitors, client: Client, look: str) -> tuple[Visit, Locator]:
    """Somebody who has scrolled up in a long thread, to its fourth message."""
    for number in range(8):
        await client.turn({"thread_id": "long", "message": f"Message {number}. Write 60 words"})
    visit = await (await visitors(client.url, look)).open("long")
    fourth = visit.said.nth(3)
    await expect(fourth).to_contain_text("Message 3")
    await visit.page.locator("#scroller").focus()
    await visit.page.keyboard.press("Home")
    await expect(visit.page.locator("#scroller")).to_have_js_property("scrollTop", 0)
    await fourth.evaluate("(element) => element.scrollIntoView()")
    return visit, fourth


async def reads_on(visit: Visit, message: Locator, top: float) -> None:
    await expect(visit.button("Latest")).to_be_visible()
    await expect(message).to_be_in_viewport()
    assert abs(await top_of(message) - top) < 2


@both_looks
async def test_back_returns_to_what_was_being_read(
    visitors: Visitors, client: Client, look: str
) -> None:
    await client.turn({"message": "Another"})
    visit, fourth = await reading(visitors, client, look)
    top = await top_of(fourth)
    await show_list(visit)
    await visit.page.get_by_role("link", name="Another").click()
    await expect(visit.said).to_have_count(1)
    await visit.page.go_back()
    await reads_on(visit, fourth, top)


@both_looks
async def test_a_reload_returns_to_what_was_being_read(
    visitors: Visitors, client: Client, look: str
) -> None:
    visit, fourth = await reading(visitors, client, look)
    top = await top_of(fourth)
    await visit.page.reload()
    await reads_on(visit, fourth, top)
    await visit.button("Latest").click()
    await visit.page.reload()
    await expect(visit.reply).to_be_in_viewport()
    await expect(visit.button("Latest")).to_be_hidden()


@pytest.mark.full
async def test_a_second_reload_before_the_thread_is_there_returns_to_what_was_being_read(
    visitors: Visitors, client: Client, look: str
) -> None:
    visit, fourth = await reading(visitors, client, look)
    top = await top_of(fourth)
    held = await hold(visit, re.compile(r"/threads/[^/?]+[?]"))
    await visit.page.reload()
    await held.arrived.wait()
    await visit.page.reload()
    held.go_on.set()
    await reads_on(visit, fourth, top)


RECORD = """
addEventListener("DOMContentLoaded", () => {
  window.notes = [];
  new MutationObserver(() => window.notes.push(document.getElementById("connection").innerText))
    .observe(document.getElementById("connection"), { childList: true, subtree: true });
});
"""


@own_profile
async def test_a_reload_in_mid_turn_does_not_say_that_it_reconnects(slow_visit: Visit) -> None:
    await slow_visit.page.add_init_script(RECORD)
    await slow_visit.say("Write 60 words")
    await expect(slow_visit.reply).to_contain_text("lighthouse")
    await slow_visit.page.reload()
    await slow_visit.idle()
    notes = await slow_visit.page.evaluate("() => window.notes")
    assert not [note for note in notes if "Reconnecting" in note]


@both_looks
async def test_a_thread_is_printed_whole_and_alone(visit: Visit) -> None:
    for number in range(3):
        await visit.ask(f"Message {number}. Write 150 words")
    await visit.ask("Draw a line chart of 1, 4, 9, 16")
    printed = await visit.page.pdf(format="A5")
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", printed)) > 1
    await visit.page.emulate_media(media="print")
    for hidden in ("#threads", "#composer", "#bar", ".actions"):
        await expect(visit.page.locator(hidden).first).to_be_hidden()
    for shown in (visit.said.first, visit.reply.locator("figure"), visit.page.locator("#title")):
        await expect(shown).to_be_visible()
    sizes = await visit.page.evaluate(
        "() => [document.documentElement.scrollHeight, document.getElementById('log').scrollHeight]"
    )
    assert sizes[0] >= sizes[1]
    body = "() => getComputedStyle(document.body).backgroundColor"
    assert await visit.page.evaluate(body) == "rgb(251, 250, 248)"


@both_looks
async def test_threads_that_begin_alike_have_titles_of_their_own(visit: Visit) -> None:
    for title in ("Hello", "Hello (2)"):
        await visit.open()
        await visit.ask("Hello")
        await expect(visit.page.locator("#title")).to_have_text(title)
    await show_list(visit)
    titles = visit.page.locator("#thread-list .thread-title")
    await expect(titles).to_have_text(["Hello (2)", "Hello"])


async def test_titles_that_look_alike_in_the_list_have_their_times_below(
    client: Client, visitors: Visitors, look: str
) -> None:
    for _ in range(2):
        await client.turn({"message": "What is 6 * 7, and draw a bar chart"})
    visit = await (await visitors(client.url, look)).open()
    await show_list(visit)
    times = visit.page.locator("#thread-list .thread-told")
    await expect(times).to_have_count(2)
    assert len(set(await times.all_inner_texts())) == 2


COUNT_FORMATS = """
const { get } = Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, "format");
window.formatted = 0;
Object.defineProperty(Intl.DateTimeFormat.prototype, "format", {
  get() {
    const format = get.call(this);
    return (date) => {
      window.formatted += 1;
      return format(date);
    };
  },
});
"""


@own_profile
async def test_a_long_list_of_like_titles_formats_each_time_only_so_often(wired: Visit) -> None:
    at = "2026-01-01T12:00:00.000+00:00"
    threads = [
        {"id": f"thread_{number}", "title": "Hello", "run_state": "finished", "updated_at": at}
        for number in range(200)
    ]
    listing = re.compile(r"/threads\?.*archived=false")
    await wired.page.route(listing, lambda route: route.fulfill(json={"threads": threads}))
    await wired.page.add_init_script(COUNT_FORMATS)
    await wired.open()
    told = wired.page.locator("#thread-list .thread-told")
    await expect(told).to_have_count(len(threads))
    assert len(set(await told.all_text_contents())) == len(threads)
    assert 0 < await wired.page.evaluate("() => formatted") < len(threads) ** 2


@pytest.mark.parametrize("look", ["desktop light"])
async def test_the_open_thread_has_its_buttons_only_where_somebody_points(visit: Visit) -> None:
    await visit.ask("Hello")
    button = visit.button("Delete Hello")
    await expect(visit.page.locator("#thread-list time")).to_be_visible()
    await expect(button).to_be_hidden()
    await visit.page.get_by_role("link", name="Hello").hover()
    await expect(button).to_be_visible()
    await visit.log.hover()
    await expect(button).to_be_hidden()
    await visit.page.get_by_role("link", name="Hello").focus()
    await expect(button).to_be_visible()


@pytest.mark.parametrize("look", ["phone dark"])
async def test_where_nothing_points_the_open_thread_always_has_its_buttons(visit: Visit) -> None:
    """A tablet is as wide as a desktop and has no pointer."""
    await visit.page.set_viewport_size({"width": 1024, "height": 768})
    await visit.ask("Hello")
    await expect(visit.button("Delete Hello")).to_be_visible()


async def test_a_title_that_a_model_makes_comes_after_the_answer_in_every_tab(
    visitors: Visitors, endpoint: StrictEndpoint, tmp_path: Path, look: str
) -> None:
    gate = asyncio.Event()
    endpoint.script(text_reply("391."), reply(Pause(gate), Say("Times tables")))
    titled = endpoint_settings(tmp_path / "t.db", endpoint, title_model="titles")
    async with serving(titled) as client:
        visit = await (await visitors(client.url, look)).open()
        other = await (await visitors.beside(visit)).open()
        await visit.ask("What is 17 * 23?")
        await expect(visit.page.locator("#title")).to_have_text("What is 17 * 23?")
        gate.set()
        await expect(visit.page.locator("#title")).to_have_text("Times tables")
        for tab in (visit, other):
            await show_list(tab)
            await expect(tab.page.get_by_role("link", name="Times tables")).to_be_visible()
            await tab.leave()


@pytest.mark.full
async def test_a_title_that_a_model_makes_comes_where_the_thread_was_left_before_its_reply_ended(
    visitors: Visitors, endpoint: StrictEndpoint, tmp_path: Path, look: str
) -> None:
    said, titled = asyncio.Event(), asyncio.Event()
    endpoint.script(
        reply(Say("39"), Pause(said), Say("1.")), reply(Pause(titled), Say("Times tables"))
    )
    with_titles = endpoint_settings(tmp_path / "t.db", endpoint, title_model="titles")
    async with serving(with_titles) as client:
        visit = await (await visitors(client.url, look)).open()
        await visit.say("What is 17 * 23?")
        await expect(visit.reply).to_contain_text("39")
        await begin_anew(visit)
        await show_list(visit)
        live = visit.page.get_by_role("img", name="Generating")
        await expect(live).to_be_visible()
        said.set()
        await expect(live).to_have_count(0)
        titled.set()
        await expect(visit.page.get_by_role("link", name="Times tables")).to_be_visible()
        await visit.leave()


@pytest.mark.full
@own_profile
async def test_a_title_that_a_model_makes_comes_where_the_first_reply_was_stopped_and_continued(
    visitors: Visitors, endpoint: StrictEndpoint, tmp_path: Path, look: str
) -> None:
    titled = asyncio.Event()
    endpoint.script(
        reply(Say("The light"), Pause(asyncio.Event())),
        text_reply("house."),
        reply(Pause(titled), Say("A lighthouse")),
    )
    with_titles = endpoint_settings(tmp_path / "t.db", endpoint, title_model="titles")
    async with serving(with_titles) as client:
        visit = await (await visitors(client.url, look)).open()
        await visit.page.clock.install()
        await visit.say("Tell me a story")
        await expect(visit.reply).to_contain_text("The light")
        await visit.button("Stop").click()
        await visit.idle()
        for milliseconds in (1500, 3000, 6000, 12_000):
            async with visit.page.expect_response("**/threads?*"):
                await visit.page.clock.run_for(milliseconds)
        await visit.button("Continue").click()
        await expect(visit.reply).to_contain_text("house.")
        await visit.idle()
        titled.set()
        await expect(visit.page.locator("#title")).to_have_text("A lighthouse")
        await visit.leave()
