"""A thread that was found by words of a message opens at that message."""

import re

import pytest
import pytest_asyncio
from playwright.async_api import Locator, expect

from tests.browser.conftest import Visitors, both_looks
from tests.browser.site import Visit, axe
from tests.browser.test_accessibility import AXE
from tests.browser.test_threads_page import show_list
from tests.support.backend import key_of
from tests.support.long_threads import history
from tests.support.serving import Client

MARKED = re.compile("is-found")


@pytest_asyncio.fixture(loop_scope="session")
async def long(client: Client) -> Client:
    """A server with a thread of 181 messages; its last reply, made anew, has had all indexed."""
    assert client.state is not None
    await client.state["graphs"].checkpoints(None).add(key_of("long"), history(90))
    await client.turn({"thread_id": "long", "message": "And the last?"})
    last = (await client.thread("long"))["messages"][-1]["id"]
    await client.turn({"thread_id": "long", "regenerate": last})
    return client


async def search(visit: Visit, words: str) -> Locator:
    """The only row that is found."""
    await show_list(visit)
    await visit.page.get_by_role("searchbox", name="Search threads").fill(words)
    found = visit.page.locator("#thread-list .found a")
    await expect(found).to_have_count(1)
    await expect(visit.status).to_have_text("1 thread found")
    return found


async def expect_at(visit: Visit, message: Locator) -> None:
    """Its beginning is what is read."""
    await expect(message).to_be_in_viewport()
    top = await visit.page.locator("#scroller").bounding_box()
    box = await message.bounding_box()
    assert top is not None
    assert box is not None
    assert 0 <= box["y"] - top["y"] < 40


@both_looks
async def test_a_found_thread_opens_at_the_message_that_has_the_words(
    visitors: Visitors, long: Client, look: str
) -> None:
    other, _ = await long.turn({"message": "Hello"})
    visit = await (await visitors(long.url, look)).open(other)
    await expect(visit.said).to_have_text("Hello")
    await (await search(visit, "number 12")).click()
    message = visit.replies.filter(has_text="answer to Number 12 is")
    await expect(message).to_have_class(MARKED)
    await expect(message).to_be_focused()
    await expect_at(visit, message)
    await expect(visit.status).to_contain_text("Found in a reply: The answer to Number 12")
    await visit.page.reload()
    await expect_at(visit, message)
    await expect(message).not_to_have_class(MARKED)
    await visit.page.go_back()
    await expect(visit.page).to_have_url(re.compile(f"thread={other}$"))
    await expect(visit.said).to_have_text(["Hello"])  # one; until then there are many
    await visit.page.go_forward()
    await expect(visit.said.first).to_contain_text("Number")
    await expect_at(visit, message)
    await expect(visit.page.locator(".is-found")).to_have_count(0)


@pytest.mark.full
@both_looks
async def test_axe_finds_nothing_at_a_found_message(
    visitors: Visitors, long: Client, look: str
) -> None:
    visit = await (await visitors(long.url, look)).open()
    await (await search(visit, "number 12")).click()
    await expect(visit.replies.filter(has_text="answer to Number 12 is")).to_have_class(MARKED)
    assert await axe(visit.page, AXE) == []


async def test_a_found_message_is_opened_with_keys_and_marked_until_somebody_goes_on(
    visitors: Visitors, long: Client
) -> None:
    visit = await (await visitors(long.url)).open()
    row = await search(visit, "number 70")
    await visit.page.keyboard.press("ArrowDown")
    await expect(row).to_be_focused()
    await visit.page.keyboard.press("Enter")
    message = visit.replies.filter(has_text="answer to Number 70 is")
    await expect(message).to_be_focused()
    await expect(message).to_have_class(MARKED)
    marks = "CSS.highlights.get('found')?.size ?? 0"
    assert await visit.page.evaluate(f"() => {marks}") > 10
    await visit.page.keyboard.press("m")
    await expect(visit.field).to_be_focused()
    await expect(message).not_to_have_class(MARKED)
    assert await visit.page.evaluate(f"() => {marks}") == 0


@pytest.mark.full
async def test_a_thread_that_was_found_by_its_title_opens_at_its_end(
    visitors: Visitors, long: Client
) -> None:
    renamed = await long.http.patch("/threads/long", json={"title": "Zebras"})
    assert renamed.status_code == 200
    visit = await (await visitors(long.url)).open()
    await (await search(visit, "zebras")).click()
    await expect(visit.reply).to_be_in_viewport()
    await expect(visit.field).to_be_focused()
    await expect(visit.page.locator(".is-found")).to_have_count(0)


async def test_a_message_that_was_left_meanwhile_is_shown_in_its_version(
    visitors: Visitors, client: Client
) -> None:
    thread_id, _ = await client.turn({"message": "Write 60 words"})
    said = (await client.thread(thread_id))["messages"][0]["id"]
    visit = await (await visitors(client.url)).open()
    row = await search(visit, "write")
    await client.turn(
        {"thread_id": thread_id, "edit": {"message_id": said, "message": "Hello there"}}
    )
    await row.click()
    await expect(visit.said).to_have_class(MARKED)
    await expect(visit.said).to_contain_text("Write 60 words")
    await expect(visit.log.get_by_role("note")).to_contain_text("looking at another version")
    assert "version=" in visit.page.url


async def test_a_link_to_a_message_opens_it_once_and_says_if_it_is_gone(
    visitors: Visitors, long: Client
) -> None:
    visit = await (await visitors(long.url)).open()
    link = await (await search(visit, "number 12")).get_attribute("href")
    tab = await visitors.beside(visit)
    await tab.page.goto(f"{visit.url}{link}")
    message = tab.replies.filter(has_text="answer to Number 12 is")
    await expect(message).to_have_class(MARKED)
    await expect_at(tab, message)
    assert tab.page.url.endswith("?thread=long")
    await tab.page.goto(f"{visit.url}/?thread=long&message=nobody")
    await expect(tab.status).to_have_text("The message that was found is no longer in this thread.")
    await expect(tab.reply).to_be_in_viewport()


async def test_far_down_in_a_long_message_the_words_are_seen(
    visitors: Visitors, client: Client
) -> None:
    lines = "A line\n" * 200
    await client.turn({"message": f"{lines}the needle\n{lines}"})
    visit = await (await visitors(client.url)).open()
    await (await search(visit, "needle")).click()
    await expect(visit.said).to_have_class(MARKED)
    down = await visit.page.evaluate(
        """() => {
          const [range] = CSS.highlights.get("found");
          return range.getBoundingClientRect().top / innerHeight;
        }"""
    )
    assert 0.1 < down < 0.7
