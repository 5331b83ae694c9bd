"""axe in four looks, and every flow by keyboard alone."""

import json
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import expect

from tests.browser.conftest import all_looks, both_colours, both_layouts, both_looks
from tests.browser.site import Visit, axe
from tests.support.endpoint import Break, Say, StrictEndpoint, call_reply, reply, text_reply

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
RENDER, SELECT = "render_ui_component", "request_user_selection"
SHOWN = [
    ("line_chart", {"title": "Power", "x": [1, 2], "series": [{"name": "a", "data": [1, 2]}]}),
    (
        "bar_chart",
        {
            "categories": ["x"],
            "series": [{"name": "a", "data": [1]}, {"name": "b", "data": [2]}],
        },
    ),
    ("table", {"columns": [{"key": "a"}], "rows": [{"a": 1}]}),
    (
        "metric_cards",
        {
            "cards": [
                {"label": tone, "value": 1, "delta": "+1", "tone": tone}
                for tone in ("info", "success", "warning", "danger")
            ]
        },
    ),
    ("report", {"markdown": "# Title\n\n`code` and [link](https://example.org)"}),
    *(
        ("alert", {"title": "Oven", "message": "On", "tone": tone})
        for tone in ("info", "success", "warning", "danger")
    ),
]
MARKDOWN = (
    "# A\n\n> quote\n\n```python\ndef f(): # c\n    return 'x' + 1\n```\n\n|a|b|\n|-|-|\n|1|2|"
)
SINGLE = {"kind": "single", "prompt": "Which?", "options": [{"value": "a"}, {"value": "b"}]}
DATES = {"kind": "date_range", "prompt": "When?"}


@both_looks
async def test_axe_finds_nothing_on_the_empty_page(visit: Visit) -> None:
    await expect(visit.page.get_by_text("Offline model")).to_be_visible()
    assert await axe(visit.page, AXE) == []


@all_looks
async def test_axe_finds_nothing_in_a_thread_with_everything(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    visit = scripted_visit
    endpoint.script(
        reply(Say(MARKDOWN)),
        call_reply(("calculator", '{"expression": "6 * 7"}'), ("calculator", '{"bad')),
        text_reply("42."),
        call_reply(*((RENDER, json.dumps({"component": c, "props": p})) for c, p in SHOWN)),
        call_reply((SELECT, json.dumps(SINGLE)), (SELECT, json.dumps(DATES))),
    )
    await visit.ask("Markdown")
    await visit.ask("Calculate")
    await visit.ask("Show")
    await visit.ask("Ask")
    await visit.page.locator("form.question").first.get_by_role("button", name="Answer").click()
    await visit.cards.first.locator("summary").click()
    await visit.page.get_by_text("Data", exact=True).first.click()
    assert await axe(visit.page, AXE) == []
    endpoint.script(reply(Say("Half"), Break()))
    await visit.say("Break")
    await expect(visit.alert).to_be_visible()
    assert await axe(visit.page, AXE) == []


FORM = {
    "kind": "form",
    "prompt": "Where?",
    "fields": {
        "type": "object",
        "properties": {
            "site": {"type": "string", "title": "Site"},
            "since": {"type": "string", "format": "date"},
            "tone": {"enum": ["low", "high"]},
            "all": {"type": "boolean"},
        },
        "required": ["site"],
    },
}
DEEP = "#### Deep\n\nWords\n\n###### Deeper"


@all_looks
async def test_axe_finds_nothing_in_open_cards_a_form_and_dialogs(
    scripted_visit: Visit, endpoint: StrictEndpoint, look: str
) -> None:
    visit = scripted_visit
    report = {"component": "report", "props": {"title": "Week", "markdown": DEEP}}
    endpoint.script(
        call_reply(("calculator", '{"expression": "6 * 7"}'), ("calculator", '{"bad')),
        reply(Say(DEEP)),
        call_reply((RENDER, json.dumps(report))),
        call_reply((SELECT, json.dumps(FORM))),
    )
    await visit.ask("Calculate")
    await visit.ask("Show")
    await visit.ask("Ask")
    await expect(visit.page.get_by_role("textbox", name="Site")).to_be_visible()
    for card in await visit.cards.all():
        await card.locator("summary").click()
    assert await axe(visit.page, AXE) == []
    await visit.field.focus()
    await visit.page.keyboard.press("Control+/")
    await expect(visit.page.get_by_role("dialog")).to_be_visible()
    assert await axe(visit.page, AXE) == []
    await visit.page.keyboard.press("Escape")
    row = visit.page.get_by_role("link", name="Calculate")
    if look.startswith("phone"):
        await visit.button("Threads").click()
    await row.hover()
    await visit.button("Delete Calculate").click()
    await expect(visit.page.get_by_role("dialog")).to_contain_text("Delete")
    assert await axe(visit.page, AXE) == []


@both_layouts
async def test_axe_finds_nothing_in_the_panels(visit: Visit, look: str) -> None:
    await visit.ask("What is 17 * 23?")
    await visit.button("Event inspector").click()
    panel = visit.page.get_by_role("complementary", name="Event inspector")
    await panel.locator(".event button").nth(3).click()
    assert await axe(visit.page, AXE) == []
    if look.startswith("phone"):
        await visit.page.keyboard.press("Escape")
        await visit.button("Threads").click()
        assert await axe(visit.page, AXE) == []


async def tab_to(visit: Visit, name: str, role: Literal["button", "link"] = "button") -> None:
    """Press Tab until the button or link of this name has the focus, once it is there."""
    await expect(visit.page.get_by_role(role, name=name).first).to_be_attached()
    for _ in range(60):
        await visit.page.keyboard.press("Tab")
        focused = await visit.page.evaluate(
            """() => {
              const { activeElement: e } = document;
              return (e.ariaLabel || e.labels?.[0]?.innerText || e.innerText || "").trim();
            }"""
        )
        if focused == name:
            return
    raise AssertionError(f"Tab does not lead to {name!r}")


@both_colours  # a phone has no keyboard
async def test_every_flow_works_by_keyboard_alone(visit: Visit) -> None:
    keys = visit.page.keyboard
    await expect(visit.field).to_be_focused()
    await keys.type("Let me choose between red, green and blue")
    await keys.press("Enter")
    radio = visit.page.get_by_role("radio", name="red")
    await expect(radio).to_be_focused()
    await keys.press("ArrowDown")
    await tab_to(visit, "Answer")
    await keys.press("Enter")
    await expect(visit.page.locator(".answered")).to_contain_text("green")
    await visit.idle()
    await expect(visit.field).to_be_focused()
    await keys.type("What is 17 * 23?")
    await keys.press("Enter")
    await expect(visit.reply).to_contain_text("391")
    await visit.idle()
    for _ in range(20):
        await keys.press("Shift+Tab")
        if await visit.cards.locator("summary:focus").count():
            break
    await keys.press("Enter")
    await expect(visit.cards.locator(".tool-body")).to_be_visible()
    await visit.field.focus()
    await keys.press("ArrowUp")
    await expect(visit.page.get_by_role("textbox", name="Edit your message")).to_be_focused()
    await keys.press("Escape")
    await expect(visit.field).to_be_focused()
    await visit.page.reload()
    await tab_to(visit, "New thread")
    await keys.press("Enter")
    await expect(visit.page.get_by_text("What would you like to know?")).to_be_visible()


@both_colours
async def test_threads_and_inspector_work_by_keyboard_alone(visit: Visit) -> None:
    keys = visit.page.keyboard
    await visit.ask("Hello there")
    await tab_to(visit, "Hello there", "link")
    for _ in range(3):
        await keys.press("ArrowRight")
    await expect(visit.button("Rename Hello there")).to_be_focused()
    await keys.press("Enter")
    await expect(visit.page.get_by_role("textbox", name="New title")).to_be_focused()
    await keys.type("Greetings")
    await keys.press("Enter")
    await expect(visit.page.locator("#title")).to_have_text("Greetings")
    await tab_to(visit, "Event inspector")
    await keys.press("Enter")
    panel = visit.page.get_by_role("complementary", name="Event inspector")
    await tab_to(visit, "Close the inspector")
    await keys.press("Enter")
    await expect(panel).to_be_hidden()
    await tab_to(visit, "Greetings", "link")
    for _ in range(4):
        await keys.press("ArrowRight")
    await expect(visit.button("Delete Greetings")).to_be_focused()
    await keys.press("Enter")
    await expect(visit.page.get_by_role("dialog")).to_be_visible()
    await tab_to(visit, "Delete")
    await keys.press("Enter")
    await expect(visit.page.get_by_role("link", name="Greetings")).to_have_count(0)
    await expect(visit.field).to_be_focused()


@pytest.mark.parametrize("look", ["phone light"])
async def test_the_skip_link_leads_to_the_field(visit: Visit) -> None:
    await expect(visit.page.get_by_text("Offline model")).to_be_visible()
    await visit.page.keyboard.press("Tab")
    await expect(visit.page.get_by_role("link", name="Skip to the message field")).to_be_focused()
    await visit.page.keyboard.press("Enter")
    await expect(visit.field).to_be_focused()


async def test_reduced_motion_is_respected(visit: Visit) -> None:
    await visit.page.emulate_media(reduced_motion="reduce")
    await visit.say("Write 3000 words")
    await expect(visit.reply).to_contain_text("lighthouse")
    moving = await visit.page.evaluate(
        "() => document.getAnimations().filter((a) => a.playState === 'running').length"
    )
    assert moving == 0
