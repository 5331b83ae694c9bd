"""Writing: the keys of the field and the editor, what they say, and how high they are."""

import re

import pytest
from playwright.async_api import expect

from tests.browser.conftest import LOOKS, both_layouts, both_looks
from tests.browser.site import Visit, axe
from tests.browser.test_accessibility import AXE
from tests.support.endpoint import StrictEndpoint, call_reply, text_reply

on_desktop = pytest.mark.parametrize("look", LOOKS[:1])
on_phone = pytest.mark.parametrize("look", LOOKS[1:])

BOXES = """(button) => [button, ...button.parentElement.children].map((one) =>
  JSON.stringify(one.getBoundingClientRect()))"""
LINES = "\n".join(f"Line {number}" for number in range(40))


async def test_escape_that_ends_a_word_of_an_input_method_does_not_stop_the_run(
    slow_visit: Visit,
) -> None:
    await slow_visit.say("Write 40 words")
    await expect(slow_visit.button("Stop")).to_be_visible()
    await slow_visit.field.focus()
    devtools = await slow_visit.devtools()
    await devtools.send(
        "Input.imeSetComposition", {"text": "に", "selectionStart": 1, "selectionEnd": 1}
    )
    await slow_visit.page.keyboard.press("Escape")
    await slow_visit.idle()
    await expect(slow_visit.status).to_have_text("Reply complete")
    await expect(slow_visit.reply.get_by_text("Stopped")).to_have_count(0)


@on_phone
async def test_on_a_phone_enter_begins_a_line_and_the_button_sends(visit: Visit) -> None:
    await expect(visit.field).to_have_attribute("enterkeyhint", "enter")
    await visit.field.fill("One")
    await visit.field.press("Enter")
    await visit.page.keyboard.type("two")
    await expect(visit.field).to_have_value("One\ntwo")
    await visit.button("Send").click()
    await expect(visit.said).to_have_text(re.compile(r"One\s+two"))


@on_desktop
async def test_on_a_desktop_enter_sends(visit: Visit) -> None:
    await visit.field.fill("Hello")
    await visit.field.press("Enter")
    await expect(visit.said).to_have_text(re.compile("Hello"))
    await visit.idle()


@both_looks
async def test_the_editor_of_a_long_message_shows_it(visit: Visit) -> None:
    await visit.ask(LINES)
    await visit.said.hover()
    await visit.said.get_by_role("button", name="Edit message").click()
    field = visit.page.get_by_role("textbox", name="Edit your message")
    await expect(field).to_be_focused()
    height = "(field) => field.offsetHeight"
    assert 400 < await field.evaluate(height) <= 480  # of 800: three fifths at most
    await field.fill("Short")
    assert await field.evaluate(height) < 120


@both_looks
async def test_copied_is_said_without_moving_anything(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    page = scripted_visit.page
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    endpoint.script(text_reply("Look:\n\n```python\nprint(1)\n```"))
    await scripted_visit.ask("Code")
    for button in (
        scripted_visit.reply.get_by_role("button", name="Copy message"),
        scripted_visit.page.locator(".copy-code"),
    ):
        before = await button.evaluate(BOXES)
        await button.click()
        await expect(button).to_have_attribute("data-copy", "copied")
        assert await button.evaluate(BOXES) == before


@both_looks
async def test_a_question_with_one_option_is_only_confirmed(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    question = '{"kind": "single", "prompt": "Which plant?", "options": [{"value": "North"}]}'
    endpoint.script(call_reply(("request_user_selection", question)), text_reply("North it is."))
    await scripted_visit.ask("Ask me")
    await expect(scripted_visit.page.get_by_role("radio", name="North")).to_be_checked()
    await scripted_visit.button("Answer").click()
    await expect(scripted_visit.page.locator(".answered")).to_contain_text("North")
    await expect(scripted_visit.reply).to_contain_text("North it is.")


@both_looks
async def test_what_a_tool_found_is_said_before_the_chart_ends_the_turn(visit: Visit) -> None:
    reply = await visit.ask("What is 6 * 7, and draw a bar chart of apples 3, pears 5")
    await expect(reply.locator("figure.bar_chart")).to_be_visible()
    await expect(reply.locator(".markdown").last).to_contain_text("6 * 7 = 42.")
    answer = (await visit.ask("Hello")).locator(".markdown")
    await expect(answer.last).not_to_contain_text("42")


@both_layouts
async def test_the_title_has_its_room_on_a_narrow_phone(visit: Visit) -> None:
    await visit.page.set_viewport_size({"width": 360, "height": 740})
    await visit.ask("Which of the inverters had the most faults")
    await expect(visit.page.locator(".badge")).to_be_visible()
    boxes = [await visit.page.locator(at).bounding_box() for at in ("#title", ".badge")]
    title, badge = (box for box in boxes if box)
    assert title["width"] > 200
    assert badge["y"] >= title["y"] + title["height"] - 2
    assert badge["x"] + badge["width"] <= 360
    assert await axe(visit.page, AXE) == []
