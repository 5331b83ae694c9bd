"""The keys of the page, the list of them, and the list of threads as one stop of the Tab key."""

import asyncio
import json

import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser.conftest import LOOKS, Visitors, all_looks, both_looks, own_profile
from tests.browser.networks import hold
from tests.browser.site import Visit, axe
from tests.browser.test_accessibility import AXE
from tests.browser.test_threads_page import beside_threads, show_list
from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint, call_reply
from tests.support.serving import Client

on_desktop = pytest.mark.parametrize("look", LOOKS[:1])

MAC = """
Object.defineProperty(navigator, "platform", { get: () => "MacIntel" });
Object.defineProperty(navigator, "userAgentData", { get: () => undefined });
"""


async def leave_field(visit: Visit) -> None:
    await visit.field.focus()
    await visit.page.keyboard.press("Escape")
    await expect(visit.page.locator("#scroller")).to_be_focused()


def notice(visit: Visit) -> Locator:
    return visit.page.locator("#connection")


async def command(visit: Visit, letter: str) -> None:
    """Run a command by its letter in the list of keys."""
    await visit.page.keyboard.press("Control+/")
    await expect(visit.page.get_by_role("dialog", name="Keys")).to_be_visible()
    await visit.page.keyboard.press(letter)
    await expect(visit.page.get_by_role("dialog", name="Keys")).to_be_hidden()


@on_desktop
async def test_what_is_typed_without_focus_is_in_the_field_from_its_first_letter(
    visit: Visit,
) -> None:
    page = visit.page
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    reply = await visit.ask("Hello there")
    await page.evaluate("() => navigator.clipboard.writeText('kept')")
    words = "can you explain more? Then search, at most 3 times"
    places = (
        page.locator("#scroller"),
        visit.button("Event inspector"),
        page.get_by_role("link", name="Hello there"),
        reply.get_by_role("button", name="Copy message"),
    )
    for place in places:
        await place.focus()
        await page.keyboard.type(words)
        await expect(visit.field).to_have_value(words)
        await expect(visit.field).to_be_focused()
        await visit.field.fill("")
    await page.evaluate("() => document.activeElement.blur()")
    await page.keyboard.type(words)
    await expect(visit.field).to_have_value(words)
    await expect(visit.replies).to_have_count(1)
    assert await page.evaluate("() => navigator.clipboard.readText()") == "kept"


@on_desktop
async def test_what_is_typed_on_an_answer_that_can_be_chosen_is_in_the_field(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    """A radio button takes no letters."""
    options = [{"value": "red"}, {"value": "blue"}]
    question = {"kind": "single", "prompt": "Which?", "options": options}
    endpoint.script(call_reply(("request_user_selection", json.dumps(question))))
    await scripted_visit.ask("Ask me.")
    await scripted_visit.page.get_by_role("radio", name="red").focus()
    await scripted_visit.page.keyboard.type("neither")
    await expect(scripted_visit.field).to_have_value("neither")


@own_profile
async def test_a_letter_that_option_writes_on_a_mac_begins_in_the_field(
    visitors: Visitors, client: Client
) -> None:
    visit = await visitors(client.url)
    await visit.page.add_init_script(MAC)
    await visit.open()
    await leave_field(visit)
    await visit.page.keyboard.press("Alt+x")
    await expect(visit.field).to_be_focused()


@on_desktop
async def test_a_command_is_run_by_the_key_of_its_letter_on_a_keyboard_of_another_script(
    visit: Visit,
) -> None:
    await visit.ask("Hello there")
    await visit.page.keyboard.press("Control+/")
    dialog = visit.page.get_by_role("dialog", name="Keys")
    await expect(dialog).to_be_visible()
    cyrillic = {"key": "т", "code": "KeyN", "bubbles": True}
    await dialog.locator(".keys-groups").dispatch_event("keydown", cyrillic)
    await expect(dialog).to_be_hidden()
    await expect(visit.log.locator("article")).to_have_count(0)


@on_desktop
async def test_a_letter_that_is_struck_before_the_list_of_keys_is_loaded_is_its_command(
    visit: Visit,
) -> None:
    await visit.ask("Hello there")
    loading = await hold(visit, "**/keys-dialog-*.js")
    await visit.field.focus()
    await visit.page.keyboard.press("Control+/")
    await loading.arrived.wait()
    await visit.page.keyboard.press("N")
    loading.go_on.set()
    await expect(visit.log.locator("article")).to_have_count(0)
    await expect(visit.field).to_have_value("")
    await expect(visit.page.get_by_role("dialog", name="Keys")).to_be_hidden()


@on_desktop
async def test_commands_that_cannot_be_done_say_why(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    visit = scripted_visit
    await command(visit, "c")
    await expect(notice(visit)).to_contain_text("no reply to copy")
    await command(visit, "e")
    await expect(notice(visit)).to_contain_text("no message to edit")
    endpoint.script(Reply((Say("One "), Pause(go_on := asyncio.Event()))))
    await visit.say("Count.")
    await expect(visit.reply).to_contain_text("One")
    for letter in ("c", "e"):
        await command(visit, letter)
        await expect(notice(visit)).to_contain_text("A reply is being written")
    go_on.set()


@on_desktop
async def test_a_part_of_the_page_that_cannot_be_loaded_is_said_to_be_away(
    visit: Visit,
) -> None:
    await visit.page.route("**/keys-dialog-*.js", lambda route: route.abort())
    await visit.page.keyboard.press("Control+/")
    await expect(notice(visit)).to_contain_text("could not be loaded. Try again")


@on_desktop
async def test_keys_that_write_nothing_and_those_that_are_struck_elsewhere_stay_there(
    visit: Visit,
) -> None:
    page = visit.page
    await visit.ask("Hello there")
    for key in (
        "Space",
        "Shift",
        "ArrowDown",
        "PageUp",
        "Home",
        "F8",
        "Control+a",
        "Alt+x",
        "Meta+k",
    ):
        await page.locator("#scroller").focus()
        await page.keyboard.press(key)
        await expect(visit.field).not_to_be_focused()
    search = page.get_by_role("searchbox")
    await search.focus()
    await page.keyboard.type("ab")
    await expect(search).to_have_value("ab")
    await expect(visit.field).to_have_value("")


@on_desktop
async def test_a_word_that_is_composed_begins_in_the_field(visit: Visit) -> None:
    """An input method that a browser asks before anything has the focus tells no letter."""
    await leave_field(visit)
    devtools = await visit.devtools()
    await devtools.send(
        "Input.dispatchKeyEvent",
        {"type": "rawKeyDown", "key": "Process", "windowsVirtualKeyCode": 229},
    )
    await expect(visit.field).to_be_focused()
    composed = {"selectionStart": 1, "selectionEnd": 1, "text": "\u4f60"}
    await devtools.send("Input.imeSetComposition", composed)
    await devtools.send("Input.insertText", {"text": "\u4f60"})
    await expect(visit.field).to_have_value("\u4f60")


@on_desktop
async def test_commands_lead_to_the_field_the_threads_and_a_new_thread(visit: Visit) -> None:
    keys = visit.page.keyboard
    await visit.ask("Hello there")
    await command(visit, "t")
    await expect(visit.page.get_by_role("link", name="Hello there")).to_be_focused()
    await command(visit, "m")
    await expect(visit.field).to_be_focused()
    await keys.type("nstmce?/")
    await expect(visit.field).to_have_value("nstmce?/")
    await expect(visit.replies).to_have_count(1)
    await visit.field.fill("")
    await command(visit, "s")
    await expect(visit.page.get_by_role("searchbox")).to_be_focused()
    await keys.press("Escape")
    await expect(visit.field).to_be_focused()
    await command(visit, "n")
    await expect(visit.replies).to_have_count(0)
    await expect(visit.field).to_be_focused()
    await expect(visit.field).to_have_value("")


@on_desktop
async def test_commands_copy_the_last_reply_and_edit_the_last_message(visit: Visit) -> None:
    page = visit.page
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await visit.ask("What is 6 * 7?")
    await command(visit, "c")
    await expect(visit.status).to_have_text("Copied")
    assert "42" in await page.evaluate("() => navigator.clipboard.readText()")
    await command(visit, "e")
    await expect(page.get_by_role("textbox", name="Edit your message")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(visit.field).to_be_focused()
    await page.keyboard.press("ArrowUp")
    await expect(page.get_by_role("textbox", name="Edit your message")).to_be_focused()


@own_profile
@pytest.mark.parametrize(
    ("script", "held", "other"), [("", "Control", "Meta"), (MAC, "Meta", "Control")]
)
async def test_the_search_is_reached_from_the_field_with_control_or_on_a_mac_command(
    visitors: Visitors, client: Client, script: str, held: str, other: str
) -> None:
    await client.turn({"message": "Hello there"})
    visit = await visitors(client.url)
    await visit.page.add_init_script(script)
    await visit.open()
    await expect(visit.page.get_by_role("link", name="Hello there")).to_be_attached()
    await visit.field.focus()
    await visit.page.keyboard.press(f"{other}+Shift+F")
    await expect(visit.field).to_be_focused()
    await visit.page.keyboard.press(f"{held}+Shift+F")
    await expect(visit.page.locator("#threads :focus")).to_have_count(1)
    await visit.page.keyboard.press("Escape")
    await visit.button("Keys").click()
    shown = "⌘" if script else "Ctrl"
    await expect(visit.page.get_by_role("dialog")).to_contain_text(shown)


@all_looks
async def test_the_list_of_keys_is_opened_by_a_key_and_its_commands_are_buttons(
    visit: Visit,
) -> None:
    page, dialog = visit.page, visit.page.get_by_role("dialog", name="Keys")
    await visit.field.focus()
    await page.keyboard.press("Control+/")
    await expect(dialog).to_contain_text("Stop the reply and send")
    assert await axe(page, AXE) == []
    box = await dialog.bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= await page.evaluate("() => innerWidth")
    await page.keyboard.press("x")
    await page.keyboard.press("Control+n")
    await expect(dialog).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    await expect(visit.field).to_have_value("")
    await page.keyboard.press("Control+/")
    await dialog.get_by_role("button", name="To the message field").click()
    await expect(dialog).to_be_hidden()
    await expect(visit.field).to_be_focused()


async def focused(page: Page) -> str:
    """The name of what has the focus; of a thread, its title."""
    words = await page.evaluate(
        "() => (document.activeElement.ariaLabel ?? document.activeElement.innerText).trim()"
    )
    return str(words).split("\n", maxsplit=1)[0]


@both_looks
async def test_the_list_of_threads_is_one_stop_with_arrow_keys(
    visitors: Visitors, client: Client, look: str
) -> None:
    visit = await beside_threads(visitors, client, look, 3, opened=2)
    page, keys = visit.page, visit.page.keyboard
    stops = page.locator("#thread-list :is(a, button, input):not([tabindex='-1'])")
    await expect(stops).to_have_count(1)
    await expect(stops).to_have_attribute("aria-current", "page")
    await stops.focus()
    for key, name in (
        ("ArrowUp", "Thread 3"),
        ("ArrowUp", "Thread 3"),
        ("End", "Archived threads"),
        ("ArrowDown", "Archived threads"),
        ("ArrowUp", "Thread 1"),
        ("Home", "Thread 3"),
        ("ArrowDown", "Thread 2"),
        ("ArrowDown", "Thread 1"),
        ("ArrowRight", "Pin Thread 1"),
        ("ArrowRight", "Archive Thread 1"),
        ("ArrowRight", "Rename Thread 1"),
        ("ArrowRight", "Delete Thread 1"),
        ("ArrowLeft", "Rename Thread 1"),
        ("ArrowUp", "Thread 2"),
        ("ArrowDown", "Thread 1"),
    ):
        await keys.press(key)
        assert await focused(page) == name, key
    await expect(stops).to_have_count(1)
    assert await axe(page, AXE) == []
    await keys.press("Enter")
    await expect(visit.said).to_contain_text("Thread 1")
    await show_list(visit)
    await expect(stops.locator(".thread-title")).to_have_text(["Thread 1"])


@both_looks
async def test_a_thread_is_renamed_and_deleted_from_the_list_by_keys(
    visitors: Visitors, client: Client, look: str
) -> None:
    visit = await beside_threads(visitors, client, look, 2, opened=2)
    page = visit.page
    await page.get_by_role("link", name="Thread 1").focus()
    await page.keyboard.press("F2")
    await page.get_by_role("textbox", name="New title").fill("Home")
    await page.keyboard.press("Home")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("link", name="Home")).to_be_focused()
    await page.keyboard.press("Delete")
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(page.get_by_role("link", name="Home")).to_have_count(0)
    await expect(page.get_by_role("link", name="Thread 2")).to_be_focused()
