"""Threads: the list, addresses, renaming, deleting; editing and regenerating."""

import re

import pytest
from playwright.async_api import Page, expect

from tests.browser.conftest import Visitors, both_colours, both_looks
from tests.browser.networks import hold
from tests.browser.site import Visit
from tests.support.endpoint import StrictEndpoint, text_reply
from tests.support.serving import Client


async def show_list(visit: Visit) -> None:
    if await visit.page.locator("#threads").is_hidden():
        await visit.button("Threads").click()


async def begin_anew(visit: Visit) -> None:
    await show_list(visit)
    await visit.button("New thread").click()


async def beside_threads(
    visitors: Visitors, client: Client, look: str, count: int, *, opened: int
) -> Visit:
    """A visit to one of "Thread 1", "Thread 2" and so on, beside the list of them."""
    ids = [(await client.turn({"message": f"Thread {n + 1}"}))[0] for n in range(count)]
    visit = await (await visitors(client.url, look)).open(ids[opened - 1])
    await show_list(visit)
    return visit


async def delete(visit: Visit, title: str) -> None:
    """From the list, where deleting is asked about."""
    await show_list(visit)
    await visit.page.get_by_role("link", name=title).hover()
    await visit.button(f"Delete {title}").click()
    await visit.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(visit.page.get_by_role("link", name=title)).to_have_count(0)


@both_looks
async def test_a_new_thread_gets_an_address_and_a_place_in_the_list(visit: Visit) -> None:
    await visit.ask("Hello there")
    await expect(visit.page).to_have_url(re.compile(r"\?thread=thread_"))
    await expect(visit.page).to_have_title("Hello there · turnstream")
    await show_list(visit)
    await expect(visit.page.get_by_role("link", name="Hello there")).to_have_attribute(
        "aria-current", "page"
    )


async def test_threads_are_opened_from_the_list_and_by_the_browsers_back(visit: Visit) -> None:
    await visit.ask("First thread")
    await show_list(visit)
    await visit.button("New thread").click()
    await expect(visit.replies).to_have_count(0)
    await visit.ask("Second thread")
    await show_list(visit)
    await visit.page.get_by_role("link", name="First thread").click()
    await expect(visit.said).to_have_text(re.compile("First thread"))
    await visit.page.go_back()
    await expect(visit.said).to_have_text(re.compile("Second thread"))
    await visit.page.go_back()
    await expect(visit.page.get_by_text("What would you like to know?")).to_be_visible()


@both_colours
async def test_a_thread_that_loads_late_takes_the_focus_from_nobody(visit: Visit) -> None:
    await visit.ask("Hello there")
    held = await hold(visit, f"**/threads/{await visit.thread_id()}?*")
    await visit.button("New thread").click()
    await visit.page.get_by_role("link", name="Hello there").click()
    await held.arrived.wait()
    await visit.page.get_by_role("searchbox").focus()
    await visit.page.keyboard.type("Hel")
    held.go_on.set()
    await expect(visit.said).to_have_text("Hello there")
    await visit.page.keyboard.type("lo")
    await expect(visit.page.get_by_role("searchbox")).to_have_value("Hello")


async def test_a_thread_is_renamed_in_place(visit: Visit) -> None:
    await visit.ask("Hello there")
    await show_list(visit)
    await visit.page.get_by_role("link", name="Hello there").hover()
    await visit.button("Rename Hello there").click()
    title = visit.page.get_by_role("textbox", name="New title")
    await expect(title).to_be_focused()
    await title.fill("Greetings")
    await title.press("Enter")
    await expect(visit.page.get_by_role("link", name="Greetings")).to_be_visible()
    await expect(visit.page.locator("#title")).to_have_text("Greetings")
    await visit.page.reload()
    await expect(visit.page.locator("#title")).to_have_text("Greetings")


async def test_escape_leaves_a_title_as_it_was(visit: Visit) -> None:
    await visit.ask("Hello there")
    await show_list(visit)
    await visit.page.get_by_role("link", name="Hello there").hover()
    await visit.button("Rename Hello there").click()
    await visit.page.get_by_role("textbox", name="New title").fill("Greetings")
    await visit.page.keyboard.press("Escape")
    await expect(visit.page.get_by_role("link", name="Hello there")).to_be_visible()


async def test_a_thread_is_deleted_only_after_a_question(visit: Visit, client: Client) -> None:
    await visit.ask("Hello there")
    await show_list(visit)
    await visit.page.get_by_role("link", name="Hello there").hover()
    await visit.button("Delete Hello there").click()
    await visit.button("Cancel").click()
    await expect(visit.page.get_by_role("link", name="Hello there")).to_be_visible()
    await visit.page.get_by_role("link", name="Hello there").hover()
    await visit.button("Delete Hello there").click()
    await visit.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(visit.page.get_by_role("link", name="Hello there")).to_have_count(0)
    await expect(visit.page.get_by_text("What would you like to know?")).to_be_visible()
    assert (await client.http.get("/threads")).json()["threads"] == []


async def test_older_threads_are_listed_on_demand(visitors: Visitors, client: Client) -> None:
    for number in range(33):
        await client.turn({"message": f"Thread {number}"})
    visit = await (await visitors(client.url)).open()
    await expect(visit.page.locator("#thread-list a")).to_have_count(30)
    await visit.button("Show older threads").click()
    await expect(visit.page.locator("#thread-list a")).to_have_count(33)


async def test_an_edited_message_replaces_what_followed_it(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("One."), text_reply("Two."), text_reply("Three."))
    await scripted_visit.ask("First")
    await scripted_visit.ask("Second")
    await scripted_visit.said.first.hover()
    await scripted_visit.said.first.get_by_role("button", name="Edit message").click()
    field = scripted_visit.page.get_by_role("textbox", name="Edit your message")
    await expect(field).to_be_focused()
    await expect(field).to_have_value("First")
    await field.fill("Another first")
    await field.press("Control+Enter")
    await expect(scripted_visit.reply).to_contain_text("Three.")
    await scripted_visit.idle()
    await scripted_visit.page.reload()
    await expect(scripted_visit.said).to_have_text([re.compile("Another first")])
    await expect(scripted_visit.reply).to_contain_text("Three.")
    said = [item["content"] for item in endpoint.requests[-1]["messages"] if item["role"] == "user"]
    assert said == ["Another first"]


async def test_a_regenerated_reply_takes_the_place_of_the_old_one(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("One."), text_reply("Two."))
    await scripted_visit.ask("First")
    await scripted_visit.button("Regenerate reply").click()
    await expect(scripted_visit.reply).to_contain_text("Two.")
    await scripted_visit.idle()
    await expect(scripted_visit.replies).to_have_count(1)
    await scripted_visit.page.reload()
    await expect(scripted_visit.replies).to_have_count(1)
    await expect(scripted_visit.reply).to_contain_text("Two.")
    await expect(scripted_visit.said).to_have_count(1)


@pytest.mark.parametrize("look", ["desktop light", "phone light"])
async def test_the_colours_are_changed_and_kept(visit: Visit) -> None:
    async def background(page: Page) -> str:
        return str(await page.evaluate("() => getComputedStyle(document.body).backgroundColor"))

    light = await background(visit.page)
    await visit.button("Colours: auto").click()
    await visit.button("Colours: light").click()
    await expect(visit.button("Colours: dark")).to_be_visible()
    dark = await background(visit.page)
    assert light != dark
    await visit.page.reload()
    await expect(visit.button("Colours: dark")).to_be_visible()
    assert await background(visit.page) == dark


@pytest.mark.parametrize("look", ["phone light"])
async def test_on_a_phone_the_threads_are_a_drawer(visit: Visit) -> None:
    await visit.ask("Hello there")
    await expect(visit.page.locator("#threads")).to_be_hidden()
    await visit.button("Threads").click()
    await expect(visit.page.get_by_role("link", name="Hello there")).to_be_visible()
    await visit.page.keyboard.press("Escape")
    await expect(visit.page.locator("#threads")).to_be_hidden()
    await expect(visit.button("Threads")).to_be_focused()
