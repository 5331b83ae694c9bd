"""Questions to the person: each kind answered, skipped, typed past, and failing to be sent."""

import json
import re
from typing import Any

import pytest
from playwright.async_api import Locator, Route, expect

from tests.browser.conftest import both_looks
from tests.browser.site import Visit
from tests.browser.test_charts import lines_of
from tests.support.endpoint import StrictEndpoint, call_reply, text_reply

SELECT = "request_user_selection"
OPTIONS = [
    {"value": "r", "label": "Red", "description": "Like a rose"},
    {"value": "g", "label": "Green"},
    {"value": "b"},
]
SINGLE = {"kind": "single", "prompt": "Which colour?", "options": OPTIONS}
MULTIPLE = {
    "kind": "multiple",
    "prompt": "Which colours?",
    "options": OPTIONS,
    "min_selected": 1,
    "max_selected": 2,
}
DATE = {"kind": "date", "prompt": "Which day?", "min_date": "2024-01-10", "max_date": "2024-01-20"}
RANGE = {"kind": "date_range", "prompt": "Which days?"}
FORM = {
    "kind": "form",
    "prompt": "Who comes?",
    "fields": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Your name"},
            "guests": {"type": "integer", "minimum": 0, "default": 1},
            "menu": {"enum": ["fish", "none"]},
        },
        "required": ["name"],
    },
}
KINDS: dict[str, dict[str, Any]] = {
    "single": SINGLE,
    "multiple": MULTIPLE,
    "date": DATE,
    "date_range": RANGE,
}


async def put(visit: Visit, endpoint: StrictEndpoint, *questions: dict[str, Any]) -> Locator:
    """Have the model ask; the value is the first form."""
    endpoint.script(call_reply(*((SELECT, json.dumps(question)) for question in questions)))
    await visit.ask("Ask me")
    await expect(visit.status).to_have_text("Your answer is needed")
    return visit.page.locator("form.question").first


async def answer(visit: Visit, form: Locator) -> None:
    await form.get_by_role("button", name="Answer").click()
    await expect(visit.page.locator("form.question")).to_have_count(0)
    await visit.idle()


def received(endpoint: StrictEndpoint) -> Any:
    """What the model was told last."""
    return json.loads(endpoint.requests[-1]["messages"][-1]["content"])


@both_looks
async def test_a_form_is_filled_in_and_locks(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    form = await put(scripted_visit, endpoint, FORM)
    await form.get_by_role("button", name="Answer").click()
    await expect(form.get_by_text("A value is needed.")).to_be_visible()
    await form.get_by_label("Your name").fill("Ada")
    await form.get_by_label("guests").fill("2")
    await form.get_by_label("menu").select_option(label="fish")
    endpoint.script(text_reply("Welcome."))
    await answer(scripted_visit, form)
    await expect(scripted_visit.reply).to_contain_text(
        "Who comes? Your name: Ada, guests: 2, menu: fish"
    )
    assert received(endpoint) == {"answers": {"name": "Ada", "guests": 2, "menu": "fish"}}


@both_looks
async def test_a_single_choice_is_answered_and_locks(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    form = await put(scripted_visit, endpoint, SINGLE)
    await expect(form.get_by_role("radio")).to_have_count(3)
    await form.get_by_role("radio", name="Red").check()
    endpoint.script(text_reply("Red it is."))
    await answer(scripted_visit, form)
    await expect(scripted_visit.reply).to_contain_text("Which colour? Red")
    await expect(scripted_visit.reply).to_contain_text("Red it is.")
    assert received(endpoint) == {"value": "r"}
    await expect(scripted_visit.replies).to_have_count(1)


async def test_several_choices_are_counted_before_they_are_sent(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    form = await put(scripted_visit, endpoint, MULTIPLE)
    await expect(form).to_contain_text("Choose up to 2")
    await form.get_by_role("button", name="Answer").click()
    await expect(form.get_by_role("alert")).to_have_text("Choose at least 1.")
    for box in await form.get_by_role("checkbox").all():
        await box.check()
    await form.get_by_role("button", name="Answer").click()
    await expect(form.get_by_role("alert")).to_have_text("Choose 2 at most.")
    await form.get_by_role("checkbox", name="Green").uncheck()
    await answer(scripted_visit, form)
    assert received(endpoint) == {"values": ["r", "b"]}
    await expect(scripted_visit.reply).to_contain_text("Red, b")


async def test_a_date_outside_its_limits_is_not_sent(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    form = await put(scripted_visit, endpoint, DATE)
    await form.get_by_label("Date").fill("2024-02-01")
    await form.get_by_role("button", name="Answer").click()
    await expect(form.get_by_role("alert")).to_have_text("Not after Jan 20, 2024.")
    await form.get_by_label("Date").fill("2024-01-15")
    await answer(scripted_visit, form)
    assert received(endpoint) == {"date": "2024-01-15"}
    await expect(scripted_visit.reply).to_contain_text("Jan 15, 2024")


@both_looks
async def test_a_date_range_begins_before_it_ends(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    form = await put(scripted_visit, endpoint, RANGE)
    await form.get_by_label("From").fill("2024-03-31")
    await form.get_by_label("To").fill("2024-03-01")
    await form.get_by_role("button", name="Answer").click()
    await expect(form.get_by_role("alert")).to_have_text("The first day is after the last.")
    await form.get_by_label("To").fill("2024-04-02")
    await answer(scripted_visit, form)
    assert received(endpoint) == {"start": "2024-03-31", "end": "2024-04-02"}
    await expect(scripted_visit.reply).to_contain_text("Mar 31, 2024 to Apr 2, 2024")


async def test_each_kind_can_be_skipped(scripted_visit: Visit, endpoint: StrictEndpoint) -> None:
    for number, question in enumerate(KINDS.values(), start=1):
        form = await put(scripted_visit, endpoint, question)
        await form.get_by_role("button", name="Skip").click()
        await expect(scripted_visit.page.locator(".answered")).to_have_count(number)
        await expect(scripted_visit.page.locator(".answered").last).to_contain_text("Skipped")
        await expect(scripted_visit.reply).to_contain_text("Hello from the endpoint.")
        await scripted_visit.idle()
        assert received(endpoint) == {"cancelled": True}


@pytest.mark.full
async def test_each_kind_can_be_typed_past(scripted_visit: Visit, endpoint: StrictEndpoint) -> None:
    for question in KINDS.values():
        await put(scripted_visit, endpoint, question)
        await scripted_visit.ask("Never mind")
        await expect(scripted_visit.page.locator("form.question")).to_have_count(0)
        await expect(scripted_visit.page.locator(".answered").last).to_contain_text("Skipped")
    await scripted_visit.page.reload()
    await expect(scripted_visit.page.locator(".answered")).to_have_text([re.compile("Skipped")] * 4)


async def test_two_questions_of_one_turn_are_answered_one_after_the_other(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    await put(scripted_visit, endpoint, SINGLE, DATE)
    forms = scripted_visit.page.locator("form.question")
    await expect(forms).to_have_count(2)
    await forms.nth(1).get_by_label("Date").fill("2024-01-15")
    await forms.nth(1).get_by_role("button", name="Answer").click()
    await expect(forms).to_have_count(1)
    await scripted_visit.idle()
    assert len(endpoint.requests) == 1
    await forms.get_by_role("radio", name="Green").check()
    await answer(scripted_visit, forms)
    told = [json.loads(item["content"]) for item in endpoint.requests[-1]["messages"][-2:]]
    assert told == [{"value": "g"}, {"date": "2024-01-15"}]


async def test_an_answer_that_was_not_sent_is_kept_and_sent_by_retry(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    form = await put(scripted_visit, endpoint, SINGLE)
    await form.get_by_role("radio", name="Green").check()

    async def fail(route: Route) -> None:
        await route.abort()

    await scripted_visit.page.route("**/chat", fail)
    await form.get_by_role("button", name="Answer").click()
    await expect(form).to_contain_text("Your answer was not sent.")
    await expect(form.get_by_role("radio", name="Green")).to_be_checked()
    await scripted_visit.page.unroute("**/chat")
    await form.get_by_role("button", name="Retry").click()
    await expect(scripted_visit.page.locator(".answered")).to_contain_text("Green")
    await scripted_visit.idle()
    assert received(endpoint) == {"value": "g"}


async def test_a_question_waits_over_a_reload(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    await put(scripted_visit, endpoint, SINGLE)
    await scripted_visit.page.reload()
    form = scripted_visit.page.locator("form.question")
    await form.get_by_role("radio", name="Red").check()
    await answer(scripted_visit, form)
    assert received(endpoint) == {"value": "r"}


async def test_a_question_answered_in_one_tab_locks_in_the_other(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    await put(scripted_visit, endpoint, SINGLE)
    other = Visit(await scripted_visit.page.context.new_page(), scripted_visit.url)
    await other.open(await scripted_visit.thread_id())
    await expect(other.page.locator("form.question")).to_have_count(1)
    form = scripted_visit.page.locator("form.question")
    await form.get_by_role("radio", name="Red").check()
    await answer(scripted_visit, form)
    await expect(other.page.locator(".answered")).to_contain_text("Red")


async def test_an_answer_breaks_no_date(scripted_visit: Visit, endpoint: StrictEndpoint) -> None:
    days = " and ".join(f"2024-03-{day}" for day in range(10, 20))
    options = [{"value": "all", "label": days}, {"value": "none"}]
    form = await put(scripted_visit, endpoint, {**SINGLE, "options": options})
    await form.get_by_role("radio", name="2024").check()
    endpoint.script(text_reply("All of them."))
    await answer(scripted_visit, form)
    await scripted_visit.page.set_viewport_size({"width": 330, "height": 800})
    await expect(scripted_visit.reply.locator(".answered strong")).to_have_text(days)
    dates = scripted_visit.reply.locator(".answered .iso")
    await expect(dates).to_have_count(10)
    assert set(await lines_of(dates)) == {1}
