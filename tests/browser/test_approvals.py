"""Calls that wait for an approval: approved, changed, declined, typed past, decided elsewhere."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Route, expect
from pydantic import WithJsonSchema

from tests.browser.approval_cards import (
    PAY,
    SLOWLY,
    VISIT,
    Posts,
    approve,
    be_asked,
    cards,
    decided,
    decided_and_idle,
    decline,
    plan_visit,
)
from tests.browser.conftest import Visitors, all_looks, both_colours, both_layouts, both_looks
from tests.browser.scripted_wire import THREAD, Reply, ScriptedWire, data, finish, spoken
from tests.browser.site import Visit, axe
from tests.browser.test_injection import EVIL, nothing_came_in
from tests.browser.visits import VisitTools
from tests.support.endpoint import StrictEndpoint, call_reply, text_reply
from tests.support.serving import Client, endpoint_settings, serving
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()


@pytest_asyncio.fixture(loop_scope="session")
async def tools() -> VisitTools:
    return VisitTools()


@pytest_asyncio.fixture(loop_scope="session")
async def gated(
    tmp_path: Path, endpoint: StrictEndpoint, tools: VisitTools
) -> AsyncIterator[Client]:
    """A server with tools that need an approval, on a scripted model."""
    own = endpoint_settings(tmp_path / "t.db", endpoint)
    async with serving(own, tools.catalogue) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def asked(gated: Client, visitors: Visitors, look: str) -> Visit:
    return await (await visitors(gated.url, look)).open()


def received(endpoint: StrictEndpoint) -> str:
    """What the model has read last."""
    return str(endpoint.requests[-1]["messages"][-1]["content"])


@both_looks
async def test_an_approved_call_runs_as_it_was_asked_for_and_locks(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    posts = Posts(asked)
    card = await be_asked(asked, endpoint, plan_visit())
    await expect(card).to_contain_text("Approve plan_visit?")
    await expect(card).to_contain_text("Plan the visit of a technician to one inverter.")
    await expect(card).not_to_contain_text("Asked by")
    await expect(card.get_by_label("inverter")).to_have_value("3")
    await expect(card.get_by_label("work")).to_have_value("1")
    assert tools.visits == []
    endpoint.script(text_reply("It is planned."))
    await approve(card)
    await expect(asked.reply).to_contain_text("It is planned.")
    await asked.idle()
    assert tools.visits == [VISIT | {"urgent": False, "note": None, "parts": None}]
    assert posts.decisions == [{"approved": True}]
    for _ in range(2):
        await expect(cards(asked)).to_have_count(0)
        await expect(asked.replies).to_have_count(1)
        await expect(decided(asked)).to_contain_text("Complete")
        await expect(decided(asked).locator(".decision")).to_have_text("Approved")
        await asked.page.reload()


@both_looks
async def test_what_is_typed_in_a_card_outlives_a_reload_and_another_thread(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    card = await be_asked(asked, endpoint, plan_visit(note="Bring a ladder"))
    await card.get_by_label("crew").fill("4")
    await card.get_by_label("work").select_option("service")
    await card.get_by_label("Reason").fill("Too early")
    await asked.page.reload()
    await expect(card.get_by_label("crew")).to_have_value("4")
    await expect(card.get_by_label("work")).to_have_value("2")
    await expect(card.get_by_label("note")).to_have_value("Bring a ladder")
    await expect(card.get_by_label("Reason")).to_have_value("Too early")
    address = asked.page.url
    await asked.open()
    await asked.page.goto(address)
    await expect(card.get_by_label("crew")).to_have_value("4")
    endpoint.script(text_reply("It is planned."))
    await approve(card)
    await expect(asked.reply).to_contain_text("It is planned.")
    assert [(visit["crew"], visit["work"]) for visit in tools.visits] == [(4, "service")]


@both_looks
async def test_arguments_are_changed_in_the_form_and_the_changes_shown(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    posts = Posts(asked)
    card = await be_asked(asked, endpoint, plan_visit(note="Bring a ladder", parts=[{"n": 1}]))
    await card.get_by_label("inverter").fill("site A, 4")
    await card.get_by_label("work").select_option("service")
    await card.get_by_label("crew").fill("many")
    await card.get_by_label("note").fill("")
    await card.get_by_label("parts").fill('[{"n": 2')
    await card.get_by_text("Not given: urgent").click()
    await card.get_by_label("urgent").select_option("Yes")
    await approve(card)
    await expect(card).to_contain_text("Enter a whole number.")
    await expect(card).to_contain_text("This is not valid JSON.")
    await expect(card.get_by_label("crew")).to_be_focused()
    await expect(card.get_by_label("crew")).to_have_attribute("aria-invalid", "true")
    await card.get_by_label("crew").fill("4")
    await card.get_by_label("parts").fill('[{"n": 2}]')
    await approve(card)
    await expect(decided(asked)).to_contain_text("Complete")
    await asked.idle()
    changed = {
        "inverter": "site A, 4",
        "day": "2026-03-04",
        "work": "service",
        "crew": 4,
        "urgent": True,
        "parts": [{"n": 2}],
    }
    assert posts.decisions == [{"approved": True, "args": changed}]
    assert tools.visits == [changed | {"note": None}]
    assert "A person changed the arguments" in received(endpoint)
    for _ in range(2):
        await expect(decided(asked)).to_contain_text("Approved with changed arguments")
        changes = decided(asked).get_by_role("listitem")
        await expect(changes.filter(has_text="crew")).to_have_text(re.compile(r"2\s*→\s*4"))
        await expect(changes.filter(has_text="note")).to_contain_text("left out")
        await expect(changes.filter(has_text="urgent")).to_contain_text("added")
        await expect(changes).to_have_count(6)
        await expect(decided(asked).locator(".tool-args")).to_contain_text("site A, 4")
        await decided(asked).locator("summary").click()
        region = decided(asked).get_by_role("group", name="Arguments", exact=True)
        assert json.loads(await region.inner_text())["crew"] == 2
        region = decided(asked).get_by_role("group", name="Arguments as approved")
        assert json.loads(await region.inner_text()) == changed
        await asked.page.reload()


async def test_arguments_of_a_tool_that_the_server_does_not_describe_are_edited_as_json(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    async def none(route: Route) -> None:
        await route.fulfill(json={"tools": []})

    await asked.page.route("**/tools", none)
    card = await be_asked(asked, endpoint, plan_visit())
    field = card.get_by_label("Arguments, as JSON")
    assert json.loads(await field.input_value()) == VISIT
    for typed, problem in (("{", "not valid JSON"), ("[1]", "have to be a JSON object")):
        await field.fill(typed)
        await approve(card)
        await expect(card).to_contain_text(problem)
        await expect(field).to_be_focused()
    await card.get_by_label("Reason").press("Enter")
    await field.fill(json.dumps(VISIT | {"crew": 3}))
    await approve(card)
    await decided_and_idle(asked)
    await expect(decided(asked)).to_contain_text("Approved with changed arguments")
    assert [visit["crew"] for visit in tools.visits] == [3]


@both_looks
async def test_arguments_that_the_server_refuses_leave_the_card_open_with_what_was_typed(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    card = await be_asked(asked, endpoint, plan_visit(parts=[]))
    await card.get_by_label("parts").fill('"none"')
    await card.get_by_label("crew").fill("7")
    await approve(card)
    await expect(card.get_by_role("alert")).to_contain_text("parts")
    await expect(card).to_be_focused()
    await expect(card.get_by_label("parts")).to_have_value('"none"')
    await expect(card.get_by_label("crew")).to_have_value("7")
    assert tools.visits == []
    await card.get_by_label("parts").fill("[]")
    await approve(card)
    await expect(asked.reply).to_contain_text("Hello from the endpoint.")
    await expect(asked.alert).to_have_count(0)
    assert [visit["crew"] for visit in tools.visits] == [7]


@both_looks
async def test_a_declined_call_never_runs_and_its_reason_is_shown(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    posts = Posts(asked)
    card = await be_asked(asked, endpoint, PAY)
    endpoint.script(text_reply("Then not."))
    await decline(card, "Too dear.")
    await expect(asked.reply).to_contain_text("Then not.")
    await asked.idle()
    assert posts.decisions == [{"approved": False, "reason": "Too dear."}]
    assert not tools.calls
    assert "Too dear." in received(endpoint)
    for _ in range(2):
        await expect(cards(asked)).to_have_count(0)
        await expect(asked.cards.locator(".tool-word")).to_have_text("Declined")
        await expect(decided(asked).locator(".decision")).to_have_text(
            re.compile(r"Declined\s*Too dear\.")
        )
        await expect(asked.page.locator(".tool-error")).to_have_count(0)
        await asked.page.reload()


async def test_of_two_calls_one_is_approved_and_one_declined_while_the_first_runs(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    posts = Posts(asked)
    await be_asked(asked, endpoint, SLOWLY, ("pay", '{"word": "food"}'))
    endpoint.script(text_reply("Half paid."))
    await approve(cards(asked).first)
    await tools.begun("rent")
    await expect(decided(asked)).to_contain_text("Running")
    await expect(decided(asked)).to_contain_text("Approved")
    await expect(cards(asked)).to_be_focused()
    await decline(cards(asked), "No.")
    await expect(cards(asked)).to_contain_text("Sent when the reply has ended")
    await expect(cards(asked).get_by_role("button", name="Approve")).to_be_disabled()
    assert len(posts.decisions) == 1
    tools.release.set()
    await expect(asked.reply).to_contain_text("Half paid.")
    await asked.idle()
    await expect(asked.alert).to_have_count(0)
    assert posts.decisions == [{"approved": True}, {"approved": False, "reason": "No."}]
    assert len(endpoint.requests) == 2
    await expect(decided(asked).nth(0)).to_contain_text("Approved")
    await expect(decided(asked).nth(1)).to_contain_text("Declined")
    await expect(asked.field).to_be_focused()


async def test_the_model_goes_on_when_the_last_of_several_calls_is_decided_on(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    await be_asked(asked, endpoint, PAY, ("pay", '{"word": "food"}'), ("echo", '{"word": "tea"}'))
    await approve(cards(asked).nth(1))
    await expect(cards(asked)).to_have_count(1)
    await asked.idle()
    await expect(asked.status).to_have_text("Your approval is needed")
    await expect(cards(asked)).to_be_focused()
    assert len(endpoint.requests) == 1
    assert tools.calls == {"tea": 1, "food": 1}
    await approve(cards(asked))
    await expect(asked.reply).to_contain_text("Hello from the endpoint.")
    await asked.idle()
    assert len(endpoint.requests) == 2


@pytest.mark.full
async def test_a_call_is_decided_on_while_another_call_of_its_message_runs(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    endpoint.script(call_reply(PAY, ("hold", '{"word": "tea"}')))
    await asked.say("Go")
    await tools.begun("tea")
    await approve(cards(asked))
    await expect(cards(asked)).to_contain_text("Sent when the reply has ended")
    tools.release.set()
    await expect(asked.reply).to_contain_text("Hello from the endpoint.")
    await asked.idle()
    assert tools.calls == {"tea": 1, "rent": 1}


@pytest.mark.full
async def test_decisions_that_wait_together_are_sent_one_after_the_other(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    await be_asked(asked, endpoint, SLOWLY, ("pay", '{"word": "food"}'), ("pay", '{"word": "tea"}'))
    await approve(cards(asked).first)
    await expect(cards(asked)).to_have_count(2)
    for card in (cards(asked).first, cards(asked).last):
        await approve(card)
        await expect(card).to_contain_text("Sent when the reply has ended")
    tools.release.set()
    await expect(asked.reply).to_contain_text("Hello from the endpoint.")
    await asked.idle()
    await expect(asked.alert).to_have_count(0)
    assert tools.calls == {"rent": 1, "food": 1, "tea": 1}


async def test_a_reload_before_the_end_of_the_run_that_asks_shows_the_card(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    endpoint.script(call_reply(PAY, ("hold", '{"word": "tea"}')))
    await asked.say("Go")
    await tools.begun("tea")
    await asked.thread_id()
    await asked.page.reload()
    await expect(cards(asked).get_by_label("word")).to_have_value("rent")
    tools.release.set()
    await asked.idle()
    await approve(cards(asked))
    await expect(asked.reply).to_contain_text("Hello from the endpoint.")


@both_layouts
async def test_a_card_that_is_longer_than_the_screen_is_read_from_its_top(
    asked: Visit, endpoint: StrictEndpoint
) -> None:
    await be_asked(asked, endpoint, plan_visit(note="A note\n" * 12, parts=[{"n": 1}] * 9), PAY)
    await expect(cards(asked).first).to_be_focused()
    await expect(asked.page.get_by_text("Approve plan_visit?")).to_be_in_viewport()
    await decline(cards(asked).first)
    await expect(cards(asked)).to_have_count(1)
    await asked.idle()
    await expect(asked.page.get_by_text("Approve pay?")).to_be_in_viewport()


async def test_an_approved_call_shows_how_far_it_is(wired: Visit, wire: ScriptedWire) -> None:
    wire.hold(spoken(gated_call("pending"), finishReason="tool-calls"), run_state="waiting")
    await wired.open(THREAD)
    approval = {"id": "c 1", "approved": True, "by": "Ann"}
    settled = {"tool_call_id": "c 1", "end": "result", "result": {"paid": 1}, "duration_ms": 1500}
    wire.script(
        Reply(
            [
                data("tool-approval", tool_call_id="c 1", approval=approval),
                data("tool-progress", tool_call_id="c 1", data="half"),
                data("tool-settled", **settled),
                finish(),
            ]
        )
    )
    await approve(cards(wired))
    await expect(decided(wired).locator(".decision")).to_contain_text("by Ann")
    await expect(decided(wired)).to_contain_text("1.5 s")
    await decided(wired).locator("summary").click()
    await expect(decided(wired).get_by_role("group", name="Progress")).to_have_text("half")


@both_looks
async def test_a_call_waits_over_a_reload(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    await be_asked(asked, endpoint, PAY)
    await asked.page.reload()
    await expect(cards(asked).get_by_label("word")).to_have_value("rent")
    await expect(asked.status).to_have_text("Your approval is needed")
    await expect(asked.alert).to_have_count(0)
    await approve(cards(asked))
    await expect(decided(asked)).to_contain_text("Complete")
    await asked.idle()
    assert tools.calls == {"rent": 1}


@pytest.mark.full
async def test_a_reload_while_an_approved_call_runs_shows_it_running(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    card = await be_asked(asked, endpoint, SLOWLY)
    await approve(card)
    await tools.begun("rent")
    await asked.page.reload()
    await expect(decided(asked)).to_contain_text("Running")
    await expect(decided(asked)).to_contain_text("Approved")
    tools.release.set()
    await asked.idle()
    await expect(decided(asked)).to_contain_text("Complete")


@both_looks
async def test_a_call_that_was_typed_past_is_locked_as_not_answered(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    await be_asked(asked, endpoint, PAY)
    await asked.ask("Never mind")
    for _ in range(2):
        await expect(cards(asked)).to_have_count(0)
        await expect(asked.cards.locator(".tool-word")).to_have_text("Cancelled")
        await expect(decided(asked).locator(".decision")).to_have_text("Not answered")
        await asked.page.reload()
    assert not tools.calls


async def another_visitor(asked: Visit, visitors: Visitors) -> Visit:
    """Somebody at another computer, whom no tab tells anything, with the same thread."""
    other = await (await visitors(asked.url)).open(await asked.thread_id())
    await expect(cards(other).first).to_be_visible()
    return other


async def test_the_second_of_two_decisions_is_told_which_one_counts(
    asked: Visit, endpoint: StrictEndpoint, visitors: Visitors, tools: VisitTools
) -> None:
    await be_asked(asked, endpoint, PAY)
    other = await another_visitor(asked, visitors)
    await decline(cards(asked), "I was first.")
    await decided_and_idle(asked)
    await approve(cards(other))
    await expect(decided(other)).to_contain_text("I was first.")
    await expect(decided(other).get_by_role("alert")).to_contain_text("the first one counts")
    await expect(other.reply).to_contain_text("Hello from the endpoint.")
    assert not tools.calls


async def test_a_decision_on_a_call_that_runs_already_shows_it_running(
    asked: Visit, endpoint: StrictEndpoint, visitors: Visitors, tools: VisitTools
) -> None:
    await be_asked(asked, endpoint, SLOWLY)
    other = await another_visitor(asked, visitors)
    await approve(cards(asked))
    await tools.begun("rent")
    await decline(cards(other))
    await expect(decided(other)).to_contain_text("Approved")
    await expect(decided(other)).to_contain_text("Running")
    await expect(decided(other).get_by_role("alert")).to_contain_text("Somebody else has decided")
    tools.release.set()
    await expect(decided(other)).to_contain_text("Complete")
    assert tools.calls == {"rent": 1}


async def test_a_decision_waits_for_the_end_of_a_run_that_another_visitor_has_started(
    asked: Visit, endpoint: StrictEndpoint, visitors: Visitors, tools: VisitTools
) -> None:
    await be_asked(asked, endpoint, SLOWLY, ("pay", '{"word": "food"}'))
    other = await another_visitor(asked, visitors)
    await approve(cards(asked).first)
    await tools.begun("rent")
    await approve(cards(other).last)
    await expect(cards(other).last).to_contain_text("Sent when the reply has ended")
    await expect(decided(other)).to_contain_text("Running")
    tools.release.set()
    await expect(decided(other)).to_have_count(2)
    await expect(other.alert).to_have_count(0)
    await other.idle()
    assert tools.calls == {"rent": 1, "food": 1}


async def test_a_decision_in_one_tab_locks_the_card_in_the_other(
    asked: Visit, endpoint: StrictEndpoint, visitors: Visitors
) -> None:
    await be_asked(asked, endpoint, PAY)
    other = await (await visitors.beside(asked)).open(await asked.thread_id())
    await expect(cards(other)).to_have_count(1)
    await decline(cards(asked), "Not today.")
    await expect(decided(other)).to_contain_text("Not today.")
    await expect(cards(other)).to_have_count(0)


@both_looks
async def test_a_stop_amid_an_approved_call_asks_again_and_says_that_it_may_have_run(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    card = await be_asked(asked, endpoint, SLOWLY, PAY)
    await expect(card.first).not_to_contain_text("may have run")
    await approve(card.first)
    await tools.begun("rent")
    await expect(decided(asked)).to_contain_text("Running")
    await decline(cards(asked))
    await expect(cards(asked)).to_contain_text("Sent when")
    await asked.button("Stop").click()
    await asked.idle()
    await expect(cards(asked)).to_have_count(2)
    await expect(asked.reply.locator(".mark")).to_have_text("Stopped")
    await expect(asked.button("Continue")).to_have_count(0)
    for _ in range(2):
        await expect(cards(asked).first).to_contain_text("it may have run")
        await expect(cards(asked).first.get_by_role("button", name="Approve")).to_be_enabled()
        await asked.page.reload()
    tools.release.set()
    await approve(cards(asked).first)
    await expect(cards(asked)).to_have_count(1)
    await asked.idle()
    await approve(cards(asked))
    await expect(asked.reply).to_contain_text("Hello from the endpoint.")
    await asked.idle()
    await expect(decided(asked).first).to_contain_text("Complete")
    assert tools.calls == {"rent": 3}


@both_looks
async def test_a_message_that_stops_a_run_waits_while_a_call_still_waits_for_its_approval(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    waiting = asked.page.get_by_role("article", name="Queued message")
    await be_asked(asked, endpoint, SLOWLY, PAY)
    await approve(cards(asked).first)
    await tools.begun("rent")
    await asked.say("Never mind")
    await expect(waiting).to_contain_text("Waits: your answer comes first")
    async with asked.page.expect_response(re.compile("/threads/")):
        await asked.page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
    await expect(waiting).to_contain_text("Waits: your answer comes first")
    await asked.page.reload()
    await expect(waiting).to_contain_text("Waits: your answer comes first")
    await expect(cards(asked)).to_have_count(2)
    await waiting.get_by_role("button", name="Send", exact=True).click()
    await expect(asked.said.last).to_contain_text("Never mind")
    await expect(asked.reply).to_contain_text("Hello from the endpoint.")
    await asked.idle()
    await expect(waiting).to_have_count(0)
    await expect(cards(asked)).to_have_count(0)


async def test_a_reload_in_mid_stop_sends_no_message_past_a_call_that_waits(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    await be_asked(asked, endpoint, SLOWLY, PAY)
    await approve(cards(asked).first)
    await tools.begun("rent")
    stopped = asyncio.Event()

    async def unanswered(route: Route) -> None:
        await route.fetch()
        stopped.set()

    await asked.page.route("**/chat/*/stream", lambda route: route.abort())
    await asked.page.route("**/stop?*", unanswered)
    await asked.say("Never mind")
    await stopped.wait()
    await asked.page.reload()
    waiting = asked.page.get_by_role("article", name="Queued message")
    await expect(waiting).to_contain_text("Waits: your answer comes first")
    await expect(cards(asked)).to_have_count(2)


async def test_a_decision_that_was_not_sent_keeps_what_was_typed(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    card = await be_asked(asked, endpoint, PAY)

    async def fail(route: Route) -> None:
        await route.abort()

    await asked.page.route("**/chat", fail)
    await card.get_by_label("word").fill("less rent")
    await approve(card)
    await expect(card.get_by_role("alert")).to_contain_text("The server cannot be reached.")
    await expect(card.get_by_label("word")).to_have_value("less rent")
    await asked.page.unroute("**/chat")
    await approve(card)
    await expect(decided(asked)).to_contain_text("less rent")
    await asked.idle()
    assert tools.calls == {"less rent": 1}


@both_colours
async def test_a_call_is_decided_on_by_keyboard_alone_and_never_by_accident(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    keys = asked.page.keyboard
    posts = Posts(asked)
    card = (await be_asked(asked, endpoint, PAY, PAY)).first
    await expect(card).to_be_focused()
    for key in ("Enter", "Space"):
        await keys.press(key)
    await keys.press("Tab")
    await expect(card.get_by_label("word")).to_be_focused()
    await keys.press("End")
    await keys.type(" and food")
    await keys.press("Enter")
    await keys.press("Tab")
    await expect(card.get_by_label("Reason")).to_be_focused()
    await keys.type("No")
    await keys.press("Enter")
    await keys.press("Tab")
    await expect(card.get_by_role("button", name="Approve")).to_be_focused()
    await asked.idle()
    assert posts.decisions == []
    await expect(cards(asked)).to_have_count(2)
    await keys.press("Enter")
    await expect(decided(asked)).to_contain_text("rent and food")
    await expect(cards(asked)).to_be_focused()
    await asked.idle()
    await expect(cards(asked)).to_be_focused()
    for _ in range(4):
        await keys.press("Tab")
    await expect(cards(asked).get_by_role("button", name="Decline")).to_be_focused()
    await keys.press("Space")
    await expect(cards(asked)).to_have_count(0)
    await asked.idle()
    await expect(asked.field).to_be_focused()
    assert tools.calls == {"rent and food": 1}


async def test_nobody_who_types_is_taken_away_to_a_card(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    endpoint.script(call_reply(PAY, ("hold", '{"word": "tea"}')))
    await asked.say("Go")
    await tools.begun("tea")
    await asked.page.keyboard.type("By the w")
    tools.release.set()
    await asked.idle()
    await expect(asked.status).to_have_text("Your approval is needed")
    await expect(asked.field).to_be_focused()


async def test_what_cannot_be_seen_is_shown_as_escapes_and_approved_as_it_is(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    posts = Posts(asked)
    hidden = "".join(chr(0xE0100 + ord(letter) - 16) for letter in "and send it to me")
    word = f"pay\u202eno\u200b 👩\u200d👧 \u3164\xa0{hidden}"
    card = await be_asked(asked, endpoint, ("pay", json.dumps({"word": word})))
    escapes = json.dumps(f"\u3164\xa0{hidden}")[1:]
    shown = r'"pay\u202eno\u200b ' + f"👩\u200d👧 {escapes}"
    await expect(card.get_by_label("word")).to_have_value(shown)
    await approve(card)
    await decided_and_idle(asked)
    assert posts.decisions == [{"approved": True}]
    assert tools.calls == {word: 1}


async def test_a_number_that_the_page_cannot_hold_is_shown_whole_and_not_changed(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    posts = Posts(asked)
    card = await be_asked(asked, endpoint, ("spend", '{"amount": 12345678901234567890}'))
    shown = card.get_by_role("group", name="Arguments")
    await expect(shown).to_contain_text("12345678901234567890")
    await expect(card).to_contain_text("too large to be changed here")
    await approve(card)
    await decided_and_idle(asked)
    assert posts.decisions == [{"approved": True}]
    assert tools.calls == {"12345678901234567890": 1}


@both_looks
async def test_a_hostile_call_is_text(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    parts = [{EVIL: EVIL, "__proto__": EVIL}]
    await be_asked(asked, endpoint, plan_visit(note=EVIL, parts=parts), PAY)
    card = cards(asked).first
    await expect(card.get_by_label("note")).to_have_value(EVIL)
    assert json.loads(await card.get_by_label("parts").input_value()) == parts
    await card.get_by_label("day").fill(EVIL)
    await approve(card)
    await expect(decided(asked)).to_contain_text(EVIL[:60])
    await asked.idle()
    await decline(cards(asked), EVIL)
    await expect(decided(asked).nth(1)).to_contain_text(EVIL)
    await asked.idle()
    await nothing_came_in(asked)
    await asked.page.reload()
    await expect(decided(asked).nth(1)).to_contain_text(EVIL)
    await nothing_came_in(asked)
    assert [visit["day"] for visit in tools.visits] == [EVIL]
    assert tools.visits[0]["parts"] == parts


def gated_call(state: str, error: str = "", **approval: Any) -> dict[str, Any]:
    """A call of `pay`, as a loaded thread has it."""
    result = {"error": {"code": error, "message": "As the server says."}} if error else {"paid": 1}
    ended = {} if state == "pending" else {"result": result, "isError": bool(error)}
    call = {"type": "tool-call", "toolCallId": "c 1", "toolName": "pay", "state": state}
    args = {"args": {"word": "rent"}, "argsText": '{"word": "rent"}', "disposition": "approval"}
    return call | args | ended | {"approval": {"id": "c 1"} | approval}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            gated_call("declined", "declined", approved=False, by="Ann", reason="No."),
            r"Declined\s*by Ann\s*No\.",
        ),
        (
            gated_call("cancelled", "not_answered", id="c 1.2", mayHaveRun=True),
            r"Not answered\s*It was approved before, and its run was cut off: it may have run\.",
        ),
    ],
    ids=["declined", "typed past again"],
)
async def test_a_loaded_thread_says_who_decided_what(
    wired: Visit, wire: ScriptedWire, call: dict[str, Any], words: str
) -> None:
    wire.hold(spoken(call))
    await wired.open(THREAD)
    await expect(decided(wired).locator(".decision")).to_have_text(re.compile(f"^\\s*{words}\\s*$"))
    await expect(cards(wired)).to_have_count(0)


async def test_after_a_crash_a_thread_that_waits_offers_the_decision_alone(
    wired: Visit, wire: ScriptedWire
) -> None:
    call = gated_call("pending", id="c 1.2", mayHaveRun=True)
    cut = {key: value for key, value in spoken(call).items() if key != "finishReason"}
    for state in ("waiting", "interrupted"):
        wire.hold(cut, run_state=state)
        await wired.open(THREAD)
        await expect(cards(wired)).to_contain_text("it may have run")
        await expect(wired.alert).to_have_count(0)
    wire.hold(cut | {"parts": [gated_call("pending")]}, run_state="interrupted")
    await wired.open(THREAD)
    await expect(cards(wired)).to_have_count(1)
    await expect(wired.button("Continue")).to_be_visible()


async def problems_shown(card: Locator) -> None:
    await card.get_by_label("crew").fill("many")
    await approve(card)
    await expect(card).to_contain_text("Enter a whole number.")


@pytest.mark.full
@all_looks
async def test_axe_finds_nothing_in_the_cards(
    asked: Visit, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    await be_asked(asked, endpoint, plan_visit(note="A note\n" * 8, parts=[{"n": 1}]), SLOWLY, PAY)
    await cards(asked).first.get_by_text("Not given: urgent").click()
    await problems_shown(cards(asked).first)
    assert await axe(asked.page, AXE) == []
    await cards(asked).first.get_by_label("crew").fill("4")
    await approve(cards(asked).first)
    await expect(decided(asked)).to_have_count(1)
    await asked.idle()
    await approve(cards(asked).first)
    await tools.begun("rent")
    await asked.button("Stop").click()
    await asked.idle()
    await expect(cards(asked).first).to_contain_text("it may have run")
    await decline(cards(asked).last, "No.")
    await expect(decided(asked)).to_have_count(2)
    await asked.idle()
    assert await axe(asked.page, AXE) == []


Day = Annotated[str, WithJsonSchema({"type": "string", "format": "date"})]
Hour = Annotated[str, WithJsonSchema({"type": "string", "format": "time"})]
Moment = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
Address = Annotated[str, WithJsonSchema({"type": "string", "format": "email"})]


@real_tool(client_fields=["booked"], needs_approval=True)
async def book(
    day: Day, hour: Hour, moment: Moment, to: Address, until: Day | None = None
) -> dict[str, Any]:
    """Book a day.

    Args:
        day: The day.
        hour: The time.
        moment: The moment.
        to: Who is told.
        until: The last day.
    """
    return {"booked": [day, hour, moment, to, until]}


BOOKING = {"day": "2026-03-04", "hour": "14:30:00", "moment": "2026-03-04T10:00", "to": "a@b.org"}
NOT_FOR_FIELDS = {"day": "2026-02-30", "hour": "14:30Z", "moment": "2026-03-04T10:00:00+02:00"}
"""Not what the browser's fields for dates and times hold."""


@pytest_asyncio.fixture(loop_scope="session")
async def booking(
    tmp_path: Path, endpoint: StrictEndpoint, visitors: Visitors, look: str
) -> AsyncIterator[Visit]:
    own = endpoint_settings(tmp_path / "t.db", endpoint)
    async with serving(own, Catalogue((book,), ())) as client:
        yield await (await visitors(client.url, look)).open()


async def types_of(card: Locator) -> list[str]:
    fields = card.locator("[data-field]")
    return [str(type) for type in await fields.evaluate_all("(all) => all.map((one) => one.type)")]


@both_looks
async def test_dates_and_times_have_fields_that_keep_what_the_model_wrote(
    booking: Visit, endpoint: StrictEndpoint
) -> None:
    posts = Posts(booking)
    card = await be_asked(booking, endpoint, ("book", json.dumps(BOOKING)))
    assert await types_of(card) == ["date", "time", "datetime-local", "text", "date"]
    for name, value in BOOKING.items():
        await expect(card.get_by_label(name)).to_have_value(value)
    await approve(card)
    await decided_and_idle(booking)
    card = await be_asked(booking, endpoint, ("book", json.dumps(BOOKING | NOT_FOR_FIELDS)))
    assert await types_of(card) == ["text", "text", "text", "text", "date"]
    for name, value in NOT_FOR_FIELDS.items():
        await expect(card.get_by_label(name)).to_have_value(value)
    await card.get_by_label("day").fill("2026-03-05")
    await approve(card)
    await decided_and_idle(booking)
    changed = BOOKING | NOT_FOR_FIELDS | {"day": "2026-03-05"}
    assert posts.decisions == [{"approved": True}, {"approved": True, "args": changed}]


@both_looks
async def test_a_date_that_is_typed_in_half_is_not_taken_for_none(
    booking: Visit, endpoint: StrictEndpoint
) -> None:
    posts = Posts(booking)
    card = await be_asked(booking, endpoint, ("book", json.dumps(BOOKING)))
    day = card.get_by_label("day")
    await day.focus()
    await booking.page.keyboard.press("Backspace")
    await approve(card)
    await expect(card).to_contain_text("Complete this value.")
    await expect(day).to_be_focused()
    assert posts.decisions == []
    await day.fill("2026-03-05")
    await approve(card)
    await decided_and_idle(booking)
    assert posts.decisions == [{"approved": True, "args": BOOKING | {"day": "2026-03-05"}}]
