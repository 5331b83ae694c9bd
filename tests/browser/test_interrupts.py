"""Forms for what a graph stopped to ask: answered, refused, typed past, live and loaded."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Locator, expect

from tests.browser.scripted_wire import (
    THREAD,
    Json,
    Refusal,
    Reply,
    ScriptedWire,
    answering,
    asking,
    data,
    finish,
    interrupt,
    spoken,
)
from tests.browser.site import Visit, axe
from tests.browser.test_charts import lines_of
from tests.browser.test_injection import EVIL, nothing_came_in
from tests.support.samples import repeat

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()

MAIL: Json = {"to": "ann@example.org", "body": "Dear Ann,\nit is done."}
DEFAULT = "Tool execution requires approval\n\nTool: send_email\nArgs: {'to': 'ann@example.org'}"
BATCH: Json = {
    "action_requests": [
        {"name": "send_email", "args": MAIL, "description": DEFAULT},
        {"name": "drop_table", "args": {"table": "users"}, "description": "Deletes data."},
        {"name": "ask_user", "args": {}, "description": ""},
    ],
    "review_configs": [
        {"action_name": "send_email", "allowed_decisions": ["approve", "edit", "reject"]},
        {"action_name": "drop_table", "allowed_decisions": ["approve", "reject"]},
        {"action_name": "ask_user", "allowed_decisions": ["respond"]},
    ],
}
CALL: Json = {
    "type": "tool_approval",
    "tool_call_id": "c1",
    "name": "send_email",
    "args": MAIL,
    "description": DEFAULT,
}


async def stop_to_ask(visit: Visit, wire: ScriptedWire, *interrupts: Json) -> Locator:
    """A run ends with interrupts; the value is their forms."""
    said = spoken({"type": "text", "text": "Let me ask."}, finishReason="tool-calls")
    wire.hold(said, interrupts=interrupts, run_state="waiting")
    wire.script(asking(*interrupts))
    await (await visit.open()).ask("Go")
    return forms(visit)


async def load(
    visit: Visit, wire: ScriptedWire, *interrupts: Json, words: str = "Let me ask."
) -> Locator:
    said = [spoken({"type": "text", "text": words}, finishReason="tool-calls")] if words else []
    wire.hold(*said, interrupts=interrupts, run_state="waiting")
    await visit.open(THREAD)
    await expect(forms(visit)).to_have_count(len(interrupts))
    return forms(visit)


def forms(visit: Visit) -> Locator:
    return visit.page.locator("form.interrupt")


async def send(form: Locator) -> None:
    await form.locator("button[type=submit]").click()


async def sent(visit: Visit, wire: ScriptedWire) -> Any:
    """The answers that were posted, once their run has ended."""
    await expect(forms(visit)).to_have_count(0)
    await visit.idle()
    assert wire.bodies[-1]["thread_id"] == THREAD
    return wire.bodies[-1]["resume"]


@pytest.mark.parametrize("comes", [stop_to_ask, repeat(load, "load")])
async def test_calls_that_wait_together_are_approved_edited_rejected_and_replied_to_one_by_one(
    wired: Visit, wire: ScriptedWire, comes: Any
) -> None:
    form = await comes(wired, wire, interrupt("i1", value=BATCH))
    await expect(wired.status).to_have_text("Your answer is needed")
    await expect(wired.alert).to_have_count(0)
    mail, drop, ask = (form.get_by_role("group", name=name, exact=True) for name in _NAMES)
    await expect(mail.get_by_role("definition")).to_have_text([MAIL["to"], MAIL["body"]])
    await expect(mail).not_to_contain_text("Args:")
    await expect(drop).to_contain_text("Deletes data.")
    await expect(drop.get_by_role("radio")).to_have_count(2)
    await mail.get_by_role("radio", name="Edit").check()
    await mail.get_by_role("textbox").fill('{"to": "bob@example.org"')
    await drop.get_by_role("radio", name="Reject").check()
    await ask.get_by_role("textbox").fill("Tomorrow")
    await send(form)
    await expect(form.get_by_role("alert")).to_contain_text("send_email: The arguments are not")
    await mail.get_by_role("textbox").fill('["bob"]')
    await send(form)
    await expect(form.get_by_role("alert")).to_contain_text("have to be a JSON object")
    await mail.get_by_role("textbox").fill('{"to": "bob@example.org"}')
    await drop.get_by_role("textbox", name="Reason").fill("Too risky")
    wire.script(answering())
    await send(form)
    edited = {"name": "send_email", "args": {"to": "bob@example.org"}}
    decisions = [
        {"type": "edit", "edited_action": edited},
        {"type": "reject", "message": "Too risky"},
        {"type": "respond", "message": "Tomorrow"},
    ]
    assert await sent(wired, wire) == {"i1": {"decisions": decisions}}
    await expect(wired.replies).to_have_count(1)
    await expect(wired.reply).to_contain_text("Thank you.")


_NAMES = ("send_email", "drop_table", "ask_user")


async def test_a_call_that_waits_alone_takes_one_decision(wired: Visit, wire: ScriptedWire) -> None:
    form = await stop_to_ask(wired, wire, interrupt("i1", value=CALL))
    await send(form)
    await expect(form.get_by_role("alert")).to_contain_text("Choose one of the decisions.")
    await form.get_by_role("radio", name="Approve").check()
    wire.script(answering())
    await send(form)
    assert await sent(wired, wire) == {"i1": {"type": "approve"}}


async def test_a_question_is_answered_in_words_and_in_json_if_the_person_says_so(
    wired: Visit, wire: ScriptedWire
) -> None:
    asked = [interrupt("i1", value="How old?"), interrupt("i2", value={"question": "Ok?", "n": 7})]
    form = await load(wired, wire, *asked)
    await expect(form.nth(0)).to_contain_text("How old?")
    await expect(form.nth(1).get_by_role("group", name="Details")).to_have_text('{ "n": 7 }')
    for each, answer in ((form.nth(0), "42"), (form.nth(1), "true")):
        await expect(each.get_by_role("checkbox")).to_be_hidden()
        await each.get_by_role("textbox").fill(answer)
        await expect(each.get_by_role("checkbox")).not_to_be_checked()
    await form.nth(1).get_by_role("checkbox", name="true or false").check()
    wire.script(answering())
    await wired.button("Send all 2 answers").click()
    assert await sent(wired, wire) == {"i1": "42", "i2": True}


async def test_other_values_are_shown_as_json_and_answered_in_json_and_a_breakpoint_goes_on(
    wired: Visit, wire: ScriptedWire
) -> None:
    value = {"rows": [{"n": number} for number in range(400)]}
    form = await stop_to_ask(wired, wire, interrupt("i1", value=value), interrupt("b@1"))
    shown = form.nth(0).get_by_role("group", name="Value")
    assert json.loads(await shown.inner_text()) == value
    box = await shown.bounding_box()
    assert box is not None
    assert box["height"] < 300
    await expect(form.nth(1).get_by_role("button")).to_have_text("Continue")
    await wired.button("Send all 2 answers").click()
    await expect(form.nth(0).get_by_role("alert")).to_have_text("Write an answer.")
    await expect(form.nth(0).get_by_role("textbox")).to_be_focused()
    await form.nth(0).get_by_role("textbox").fill('{"ok": [1]}')
    wire.script(answering())
    await wired.button("Send all 2 answers").click()
    assert await sent(wired, wire) == {"i1": {"ok": [1]}, "b@1": True}


async def test_of_several_questions_one_is_answered_and_another_keeps_what_was_typed(
    wired: Visit, wire: ScriptedWire
) -> None:
    first, second = interrupt("i1", value="First?"), interrupt("i2", value="Second?")
    form = await stop_to_ask(wired, wire, first, second, interrupt("i3", value="Third?"))
    await form.nth(1).get_by_role("textbox").fill("half an ans")
    await form.nth(0).get_by_role("textbox").fill("one")
    again = interrupt("i1", value="First?", node="other")
    gone = data("interrupts-discarded", ids=["i3"])
    wire.script(Reply([gone, data("interrupt", **second), data("interrupt", **again), finish()]))
    await send(form.nth(0))
    await expect(form).to_have_count(2)
    assert wire.bodies[-1]["resume"] == {"i1": "one"}
    await expect(form.nth(0)).to_contain_text("Second?")
    await expect(form.nth(0).get_by_role("textbox")).to_have_value("half an ans")
    await expect(form.nth(1)).to_contain_text("First?")
    await expect(form.nth(1).get_by_role("textbox")).to_have_value("")


async def test_what_was_answered_is_not_the_answer_to_the_next_question_of_the_same_id(
    wired: Visit, wire: ScriptedWire
) -> None:
    form = await stop_to_ask(wired, wire, interrupt("i1", value="Delete it?"))
    await form.get_by_role("textbox").fill("Yes")
    again = interrupt("i1", value="The backup too?")
    wire.script(Reply([data("interrupt", **again), finish()]))
    await send(form)
    await expect(form).to_contain_text("The backup too?")
    await expect(form.get_by_role("textbox")).to_have_value("")
    stored = await wired.page.evaluate("() => JSON.stringify({ ...sessionStorage })")
    assert "Yes" not in stored


async def test_a_form_is_shut_while_its_answer_is_on_its_way_and_open_again_when_that_failed(
    wired: Visit, wire: ScriptedWire
) -> None:
    form = await load(wired, wire, interrupt("i1", value="Which?"), words="")
    await expect(wired.log.locator(".banner")).to_have_count(0)
    field = form.get_by_role("textbox")
    for refusal in (Refusal(0), Refusal(422, "invalid_body", "That does not fit.")):
        answered = asyncio.Event()
        wire.script(Refusal(refusal.status, refusal.code, refusal.detail, answered))
        await field.fill("This one")
        await field.press("Control+Enter")
        await expect(field).to_be_disabled()
        answered.set()
        words = refusal.detail or "The server cannot be reached."
        await expect(form.get_by_role("alert")).to_contain_text(words)
        await expect(field).to_have_value("This one")
        await expect(field).to_be_focused()
    wire.script(answering())
    await send(form)
    assert await sent(wired, wire) == {"i1": "This one"}


async def test_an_interrupt_that_was_answered_elsewhere_is_gone_with_a_sentence(
    wired: Visit, wire: ScriptedWire
) -> None:
    form = await load(wired, wire, interrupt("i1", value="Which?"))
    wire.hold(spoken({"type": "text", "text": "It was the red one."}))
    wire.script(Refusal(409, "unknown_interrupt", "No interrupt i1 is open. Load the thread."))
    await form.get_by_role("textbox").fill("Blue")
    await send(form)
    await expect(form).to_have_count(0)
    await expect(wired.reply).to_contain_text("It was the red one.")
    await expect(wired.alert).to_contain_text("No interrupt i1 is open. Load the thread.")


async def test_what_is_typed_is_there_after_a_look_at_a_version_that_cannot_be_loaded(
    wired: Visit, wire: ScriptedWire
) -> None:
    two = {"version": "v2", "versions": ["v1", "v2"]}
    said = spoken({"type": "text", "text": "Let me ask."}, finishReason="tool-calls", **two)
    wire.hold(said, interrupts=[interrupt("i1", value="Which?")], run_state="waiting")
    field = forms(await wired.open(THREAD)).get_by_role("textbox")
    await field.fill("The red o")
    await wired.page.route("**/threads/*version=*", lambda route: route.abort())
    await wired.button("Previous version").click()
    await expect(wired.alert).to_contain_text("cannot be reached")
    await expect(field).to_have_value("The red o")
    await wired.retry.click()
    await expect(wired.alert).to_have_count(0)
    await expect(field).to_have_value("The red o")


async def test_a_new_message_takes_the_form_away(wired: Visit, wire: ScriptedWire) -> None:
    wire.script(asking(interrupt("i1", value="Which?"), words=""))
    await (await wired.open()).say("Go")
    form = forms(wired)
    await expect(form).to_have_count(1)
    await expect(form.get_by_role("textbox")).to_be_focused()
    await expect(wired.replies).to_have_count(0)
    await expect(wired.log).to_contain_text("you can write a new message. This is then discarded.")
    go = asyncio.Event()
    wire.script(Refusal(500, "internal", "It failed.", go))
    await wired.say("Never mind")
    await expect(form.get_by_role("textbox")).to_be_disabled()
    go.set()
    await expect(wired.alert).to_contain_text("It failed.")
    await expect(form.get_by_role("textbox")).to_be_enabled()
    wire.script(answering("Very well."))
    await wired.retry.click()
    await expect(wired.reply).to_contain_text("Very well.")
    await expect(form).to_have_count(0)


async def test_a_hostile_interrupt_is_text(wired: Visit, wire: ScriptedWire) -> None:
    action = {"name": EVIL, "args": {EVIL: EVIL, "__proto__": "pay\u202eeno"}, "description": EVIL}
    config = {"action_name": EVIL, "allowed_decisions": ["edit", EVIL]}
    values: list[Any] = [
        {"action_requests": [action], "review_configs": [config]},
        {"type": "tool_approval"} | action,
        EVIL * 200,
        {"question": EVIL, "__proto__": EVIL},
        {"action_requests": EVIL, "review_configs": {"x": None}},
        [EVIL, {"constructor": {"prototype": EVIL}}],
    ]
    asked = [interrupt(f"{EVIL}{n}", value=value) for n, value in enumerate(values)]
    form = await load(wired, wire, *asked)
    await expect(form).to_have_count(len(values))
    await nothing_came_in(wired)
    await expect(form.nth(0)).to_contain_text(r"pay\u202eeno")
    wire.script(answering())
    await send(form.nth(0))
    await expect(form).to_have_count(len(values) - 1)
    (decision,) = wire.bodies[-1]["resume"][asked[0]["id"]]["decisions"]
    assert decision["edited_action"] == {"name": EVIL, "args": action["args"]}


async def test_axe_finds_nothing_in_the_forms_and_the_keyboard_is_enough(
    wired: Visit, wire: ScriptedWire
) -> None:
    asked = [
        interrupt("i1", value=BATCH, namespace=["mailer:1"]),
        interrupt("i2", value={"question": "Ok?", "n": 7}),
        interrupt("i3", value=[1]),
        interrupt("b@1"),
    ]
    form = await stop_to_ask(wired, wire, *asked)
    await expect(form.get_by_role("radio", name="Approve").first).to_be_focused()
    await wired.page.keyboard.press("ArrowRight")
    await expect(form.get_by_role("radio", name="Edit").first).to_be_checked()
    await wired.page.keyboard.press("Tab")
    await expect(form.get_by_role("textbox", name="Arguments, as JSON")).to_be_focused()
    await wired.button("Send all 4 answers").click()
    assert await axe(wired.page, AXE) == []
    await wired.page.emulate_media(color_scheme="dark")
    assert await axe(wired.page, AXE) == []


@pytest.mark.parametrize("width", [320, repeat(340)])
async def test_what_is_asked_breaks_no_date(wired: Visit, wire: ScriptedWire, width: int) -> None:
    words = "On 2024-03-31 and 2024-04-02 and again on 2024-04-03?"
    await wired.page.set_viewport_size({"width": width, "height": 800})
    form = await load(wired, wire, interrupt("i1", value=words))
    dates = form.locator(".iso")
    await expect(dates).to_have_count(3)
    assert set(await lines_of(dates)) == {1}


@pytest.mark.full
@pytest.mark.parametrize("width", [320, repeat(340)])
async def test_the_description_of_a_call_breaks_no_date(
    wired: Visit, wire: ScriptedWire, width: int
) -> None:
    words = "Deletes what was measured on 2024-03-31 and 2024-04-02 and again on 2024-04-03."
    await wired.page.set_viewport_size({"width": width, "height": 800})
    form = await load(wired, wire, interrupt("i1", value=CALL | {"description": words}))
    await expect(form.locator(".review-about")).to_have_text(words)
    dates = form.locator(".review-about .iso")
    await expect(dates).to_have_count(3)
    assert set(await lines_of(dates)) == {1}
