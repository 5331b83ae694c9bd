"""A long thread: the newest messages first, earlier ones when somebody reads upwards."""

from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Route, expect

from tests.browser.conftest import Visitors
from tests.browser.site import Visit, axe
from tests.browser.test_branches import edit
from tests.browser.test_words_kept import begin_edit, editor
from tests.support.backend import key_of
from tests.support.long_threads import history
from tests.support.serving import Client

TURNS = 90
AXE = Path(__file__).parent / "vendor" / "axe.min.js"


@pytest_asyncio.fixture(loop_scope="session")
async def visit(visitors: Visitors, client: Client) -> Visit:
    """A look at the end of a thread of 181 messages."""
    assert client.state is not None
    await client.state["graphs"].checkpoints(None).add(key_of("long"), history(TURNS))
    await client.turn({"thread_id": "long", "message": "And the last?"})
    visit = await (await visitors(str(client.http.base_url))).open("long")
    await expect(visit.said).to_have_count(25)
    return visit


async def shown_at(visit: Visit, words: str) -> float:
    """How far below the scroller's top edge a question stands."""
    box = await visit.said.filter(has_text=words).last.bounding_box()
    assert box is not None
    return box["y"]


async def scroll_up(visit: Visit, pixels: int) -> None:
    await visit.page.locator("#scroller").hover()
    await visit.page.mouse.wheel(0, -pixels)


async def test_only_the_newest_messages_are_loaded_at_first(visit: Visit) -> None:
    await expect(visit.said.last).to_contain_text("And the last?")
    await expect(visit.said.first).to_contain_text("Number 66")
    await expect(visit.button("Earlier messages")).to_be_attached()


async def test_who_scrolls_up_reads_on_to_the_beginning(visit: Visit) -> None:
    for count in (50, 75, TURNS + 1):
        await scroll_up(visit, 100_000)
        await expect(visit.said).to_have_count(count)
    await expect(visit.said.first).to_contain_text("Number 0")
    await expect(visit.button("Earlier messages")).to_have_count(0)
    numbers = [int(words.split()[-1]) for words in (await visit.said.all_inner_texts())[:-1]]
    assert numbers == [*range(TURNS)]


async def test_what_is_read_stays_where_it_is_when_earlier_messages_come(visit: Visit) -> None:
    held: list[Route] = []

    async def hold(route: Route) -> None:
        held.append(route)

    await visit.page.route("**/threads/long?*before=*", hold)
    await scroll_up(visit, 100_000)
    await expect(visit.button("Loading earlier messages…")).to_be_visible()
    first = visit.said.filter(has_text="Number 66").last
    await expect(first).to_be_in_viewport()
    before = await shown_at(visit, "Number 66")
    await held[0].continue_()
    await expect(visit.said).to_have_count(50)
    assert abs(await shown_at(visit, "Number 66") - before) <= 1
    await expect(first).to_be_in_viewport()


PRINTED = """() => {
  window.printed = [];
  window.print = () => window.printed.push(document.querySelectorAll('.said').length);
}"""


async def test_what_is_printed_is_the_whole_thread(visit: Visit) -> None:
    await visit.page.evaluate(PRINTED)
    await visit.button("Export thread").click()
    await visit.button("Print").click()
    await expect(visit.said).to_have_count(TURNS + 1)
    await visit.page.wait_for_function("window.printed.length")
    assert await visit.page.evaluate("window.printed") == [TURNS + 1]


async def test_a_thread_that_cannot_be_loaded_whole_is_not_printed_in_part(visit: Visit) -> None:
    await visit.page.evaluate(PRINTED)
    await visit.page.route("**/threads/long?*before=*", lambda route: route.abort())
    await visit.button("Export thread").click()
    await visit.button("Print").click()
    await expect(visit.page.locator("#status")).to_contain_text("server")
    assert await visit.page.evaluate("window.printed") == []


async def test_the_keyboard_loads_earlier_messages(visit: Visit) -> None:
    await visit.button("Earlier messages").focus()
    await visit.page.keyboard.press("Enter")
    await expect(visit.said).to_have_count(50)
    await expect(visit.said.first).to_contain_text("Number 41")


async def test_a_new_turn_and_a_reload_keep_what_was_read(visit: Visit, client: Client) -> None:
    await visit.button("Earlier messages").click()
    await expect(visit.said).to_have_count(50)
    await visit.ask("Hello again")
    await expect(visit.said).to_have_count(51)
    await client.turn({"thread_id": "long", "message": "From elsewhere"})
    await visit.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await expect(visit.said).to_have_count(52)
    await expect(visit.said.first).to_contain_text("Number 41")
    await expect(visit.said.last).to_contain_text("From elsewhere")


async def test_earlier_messages_that_cannot_be_loaded_can_be_asked_for_again(visit: Visit) -> None:
    async def refuse(route: Route) -> None:
        await route.fulfill(status=503, json={"code": "storage_busy", "detail": "Try again."})

    await visit.page.route("**/threads/long?*before=*", refuse)
    await visit.button("Earlier messages").click()
    await expect(visit.page.locator("#connection")).to_contain_text("Try again.")
    await visit.page.unroute("**/threads/long?*before=*")
    await visit.button("Earlier messages").click()
    await expect(visit.said).to_have_count(50)


async def test_a_thread_that_was_edited_meanwhile_is_loaded_anew(
    visit: Visit, client: Client
) -> None:
    edit = {"message_id": "u3", "message": "Let us begin again"}
    await client.turn({"thread_id": "long", "edit": edit})
    await visit.button("Earlier messages").click()
    await expect(visit.said.last).to_contain_text("Let us begin again")


async def test_an_edit_of_a_message_that_is_gone_from_a_long_thread_goes_to_the_field(
    visit: Visit, visitors: Visitors
) -> None:
    field = await begin_edit(visit, 24)
    await field.fill("My own words")
    other = await (await visitors.beside(visit)).open("long")
    await edit(other, "And the first?", 24)
    await expect(visit.said.last).to_contain_text("And the first?")
    await expect(editor(visit)).to_have_count(0)
    await expect(visit.field).to_have_value("My own words")
    await expect(visit.button("Earlier messages")).to_be_attached()


@pytest.mark.full
async def test_the_button_breaks_no_rule_of_accessibility(visit: Visit) -> None:
    await visit.button("Earlier messages").scroll_into_view_if_needed()
    assert await axe(visit.page, AXE.read_text(encoding="utf-8")) == []
