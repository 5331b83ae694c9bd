"""The inspector: the stream as it came."""

import json
import re
from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import Route, expect

from tests.browser.conftest import both_colours, both_looks
from tests.browser.site import Visit
from tests.support.samples import repeat


@both_looks
async def test_every_event_is_listed_with_its_time_id_type_and_json(visit: Visit) -> None:
    await visit.ask("What is 17 * 23?")
    await visit.button("Event inspector").click()
    panel = visit.page.get_by_role("complementary", name="Event inspector")
    rows = panel.locator(".event")
    await expect(rows.first).to_contain_text("POST /chat")
    await expect(rows.last).to_contain_text("[DONE]")
    ids = await panel.locator(".event:not(.request) .event-id").all_inner_texts()
    assert ids == [f"#{n}" for n in range(1, len(ids) + 1)]
    await panel.get_by_role("combobox").select_option("result")
    await expect(panel.locator(".event:not(.request)")).to_have_count(1)
    row = panel.locator(".event:not(.request)")
    await expect(row.locator(".event-ms")).to_have_text(re.compile(r"\+\d+"))
    await row.get_by_role("button").click()
    await expect(row.get_by_role("group", name="JSON")).to_contain_text('"value": 391')
    await expect(row).to_contain_text(re.compile(r"id: \w{11}:\d+"))


@both_colours  # on a phone it lies on top
async def test_the_inspector_stays_open_over_a_reload_and_can_be_cleared(visit: Visit) -> None:
    await visit.button("Event inspector").click()
    await visit.ask("Hello")
    panel = visit.page.get_by_role("complementary", name="Event inspector")
    await expect(panel.locator(".event").last).to_contain_text("[DONE]")
    await panel.get_by_role("button", name="Clear").click()
    await expect(panel.locator(".event")).to_have_count(0)
    await visit.page.reload()
    await expect(panel).to_be_visible()


@pytest.mark.parametrize("look", ["phone light", repeat("phone dark")])
async def test_the_drawer_of_the_inspector_has_the_focus_from_its_first_moment(
    visit: Visit,
) -> None:
    await visit.page.locator("#inspect").focus()
    await visit.page.keyboard.press("Enter")
    panel = visit.page.get_by_role("complementary", name="Event inspector")
    await expect(panel).to_be_focused()
    await expect(panel.get_by_role("button").first).to_be_visible()
    await visit.page.keyboard.press("Tab")
    await expect(panel.get_by_role("button").first).to_be_focused()
    await visit.page.keyboard.press("Escape")
    await expect(visit.page.locator("#inspect")).to_be_focused()


async def test_a_developer_looks_at_the_graph_the_thread_and_its_model_calls(visit: Visit) -> None:
    found = {
        "graph": "agent",
        "drawing": "graph TD; __start__ --> speak;",
        "state": {"topic": "tides"},
        "checkpoints": [{"id": "c1", "step": 1}],
        "calls": [{"node": "speak", "model": "m1", "ms": 12, "request": {}, "response": ["Hi."]}],
    }
    served = {"graphs": [{"name": "agent", "default": True}], "development": True}
    for address, answer in ((r"/graphs$", served), (r"/dev/", found)):
        body = json.dumps(answer)
        handler = fulfilled(body)
        await visit.page.route(re.compile(address), handler)
    await visit.page.reload()
    await visit.ask("Hello")
    await visit.button("Event inspector").click()
    panel = visit.page.get_by_role("complementary", name="Event inspector")
    await panel.get_by_role("button", name="Graph and thread").click()
    await expect(panel).to_contain_text("__start__ --> speak")
    await panel.get_by_text("Model call 1 · speak · m1 · 12 ms").click()
    await expect(panel).to_contain_text("Hi.")
    await panel.get_by_role("button", name="Events").click()
    await expect(panel.locator(".event").last).to_contain_text("[DONE]")


def fulfilled(body: str) -> Callable[[Route], Awaitable[None]]:
    async def fulfil(route: Route) -> None:
        await route.fulfill(body=body, content_type="application/json")

    return fulfil
