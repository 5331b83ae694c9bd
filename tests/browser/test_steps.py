"""Steps that interleave, that are withdrawn, and that several speak in."""

import asyncio

import pytest
from playwright.async_api import Locator, expect

from tests.browser.scripted_wire import (
    ANSWER,
    RUN,
    THREAD,
    Json,
    Reply,
    ScriptedWire,
    begin,
    data,
    delta,
    end_part,
    end_step,
    finish,
    spoken,
    step,
    text,
)
from tests.browser.site import Visit

ONE = step("a", "researcher", "team:1")
TWO = step("b", "writer", "team:1", "desk:2")
BESIDE = [ONE, begin(), delta(0, "One"), TWO, begin(), delta(1, "Two")]


def texts(visit: Visit) -> Locator:
    return visit.reply.locator(".markdown")


def speakers(visit: Visit) -> Locator:
    return visit.reply.locator(".speaker")


async def top(line: Locator) -> float:
    """Where it is in the window, in pixels."""
    box = await line.bounding_box()
    assert box is not None
    return box["y"]


async def test_steps_that_interleave_are_shown_one_after_the_other_with_who_speaks(
    wired: Visit, wire: ScriptedWire
) -> None:
    wire.hold()
    more = [end_part(0), begin("a"), delta(2, "one more"), end_part(2), end_part(1)]
    wire.script(Reply([*BESIDE, *more, end_step("a"), end_step(), finish()]))
    await (await wired.open()).ask("Go")
    await expect(texts(wired)).to_have_text(["One", "one more", "Two"])
    names = ["From team · researcher", "From team · desk · writer"]
    await expect(speakers(wired)).to_have_text(names)
    parts = map(written, ("One", "one more", "Two"))
    wire.hold(spoken(*parts, steps=[{"stepId": "a"}, {"stepId": "b"}]), title="Loaded")
    await wired.page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
    await expect(wired.page.locator("#title")).to_have_text("Loaded")
    await expect(speakers(wired)).to_have_text(names)


async def test_what_is_withdrawn_vanishes_and_what_a_person_reads_stays_in_its_place(
    wired: Visit, wire: ScriptedWire
) -> None:
    words = "\n\n".join(f"Line {number}" for number in range(60))
    started = [step("a", "plan"), *text(0, words), end_step()]
    kept = [step("b", "agent"), *text(1, words), end_step()]
    doomed = [step("c", "plan"), *text(2, words), end_step()]
    told = [*started, *kept, *doomed]
    both = [asyncio.Event(), asyncio.Event()]
    after = len(told) + 1
    gone = [data("step-withdrawn", step_id=id, parts=[n]) for id, n in (("a", 0), ("c", 2))]
    again = [step("a", "plan"), *text(3, "Planned"), end_step(), finish()]
    wire.script(Reply(told), Reply([gone[0]], after, both[0]))
    wire.script(Reply([gone[1], *again], after + 1, both[1]))
    await (await wired.open()).say("Go")
    await expect(texts(wired).nth(2)).to_contain_text("Line 59")
    line = texts(wired).nth(1).get_by_text("Line 55", exact=True)
    await wired.page.locator("#scroller").hover()
    await wired.page.mouse.wheel(0, -10)
    await expect(wired.button("Latest")).to_be_visible()
    await line.scroll_into_view_if_needed()
    place = await top(line)
    for event, count in zip(both, (2, 2), strict=True):
        event.set()
        await expect(texts(wired)).to_have_count(count)
        line = wired.reply.get_by_text("Line 55", exact=True).first
        assert abs(await top(line) - place) < 1
    await wired.idle()
    await expect(texts(wired).last).to_have_text("Planned")
    assert abs(await top(line) - place) < 1


@pytest.mark.parametrize("known", [[], ["One", "Two"]], ids=["of nothing", "of two parts"])
async def test_a_reload_amid_steps_that_interleave_ends_with_the_parts_in_their_places(
    wired: Visit, wire: ScriptedWire, known: list[str]
) -> None:
    cursor = len(BESIDE) if known else 0
    run = {"id": RUN, "cursor": f"{RUN}:{cursor}", "message_id": ANSWER, "first_part": 0}
    steps = [{"stepId": "a"}, {"stepId": "b"}]
    live = spoken(*map(written, known), steps=steps if known else [], finishReason=None)
    wire.hold(live, run=run, run_state="live")
    go, loads = asyncio.Event(), wire.loads
    rest = [begin("a"), delta(2, "one more"), end_part(2), *text(3, "Three"), finish()]
    wire.script(Reply([*BESIDE, *rest][cursor:], cursor + 1, go))
    await wired.open(THREAD)
    await expect(texts(wired)).to_have_text(known)
    await expect(wired.reply).to_have_attribute("aria-busy", "true")
    ordered = ["One", "one more", "Two", "Three"]
    wire.hold(spoken(*map(written, ordered), steps=steps))
    go.set()
    await expect(texts(wired)).to_have_text(ordered)
    await wired.idle()
    assert wire.cursors == [f"{RUN}:{cursor}"]
    assert wire.loads - loads == (2 if known else 1)


async def test_a_reload_goes_on_with_who_speaks_next_and_loads_the_thread_once(
    wired: Visit, wire: ScriptedWire
) -> None:
    run = {"id": RUN, "cursor": f"{RUN}:6", "message_id": ANSWER, "first_part": 0}
    wire.hold(spoken(*map(written, ("One", "Two")), finishReason=None), run=run, run_state="live")
    wire.script(Reply([TWO, *text(2, "Three"), end_step(), finish()], 7))
    await wired.open(THREAD)
    await wired.idle()
    await expect(texts(wired)).to_have_text(["One", "Two", "Three"])
    await expect(speakers(wired)).to_have_text(["From team · desk · writer"])
    await expect(wired.reply.locator(".speaker + .markdown")).to_have_text("Three")
    assert wire.loads == 1


def written(words: str) -> Json:
    return {"type": "text", "text": words}


async def test_messages_that_the_graph_removed_are_gone_when_the_run_has_ended(
    wired: Visit, wire: ScriptedWire
) -> None:
    wire.script(Reply([step("a"), *text(0, "One"), end_step(), finish()]))
    await (await wired.open()).ask("Go")
    wire.hold(spoken({"type": "text", "text": "A summary"}))
    removed = data("messages-removed", ids=["m0"])
    wire.script(Reply([removed, step("b"), *text(0, "Two"), end_step(), finish()]))
    await wired.say("On")
    await expect(wired.replies).to_contain_text(["A summary"])


async def test_messages_that_the_model_no_longer_gets_are_shown_above_a_line(
    wired: Visit, wire: ScriptedWire
) -> None:
    old = {**spoken({"type": "text", "text": "Old"}), "removed": True}
    wire.hold(old, {**spoken({"type": "text", "text": "New"}), "id": "m9"})
    await wired.open(THREAD)
    line = wired.page.locator("#log .mark")
    await expect(line).to_contain_text("no longer gets the messages above")
    await expect(wired.page.locator("#log > *").filter(has_text="New")).to_be_visible()


async def test_what_a_model_has_made_is_shown_below_its_text(
    wired: Visit, wire: ScriptedWire
) -> None:
    pixel = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
    parts = (
        {"type": "text", "text": "See:"},
        {"type": "file", "data": pixel, "mimeType": "image/gif", "filename": "A dot"},
        {"type": "file", "data": "data:text/csv,a", "mimeType": "text/csv", "filename": "a.csv"},
        {"type": "source", "sourceType": "url", "id": "s1", "url": "https://a.example/x"},
    )
    wire.hold(spoken(*parts))
    await wired.open(THREAD)
    await expect(wired.replies.get_by_role("img", name="A dot")).to_be_visible()
    link = wired.replies.get_by_role("link")
    await expect(link).to_have_text(["a.csv", "https://a.example/x"])


async def test_a_hidden_result_is_named_and_a_waiting_thread_is_marked(
    wired: Visit, wire: ScriptedWire, look: str
) -> None:
    call = {
        "type": "tool-call",
        "toolCallId": "c",
        "toolName": "look",
        "argsText": "{}",
        "args": {},
    }
    wire.hold(
        spoken(call | {"state": "result", "result": {"hidden": True}, "isError": False}),
        run_state="waiting",
    )
    await wired.open(THREAD)
    await wired.cards.locator("summary").click()
    await expect(wired.cards.locator(".tool-body")).to_contain_text("Result not shown")
    await expect(wired.cards.get_by_role("group", name="Result")).to_have_count(0)
    if "phone" in look:
        await wired.button("Threads").click()
    entry = wired.page.get_by_role("link", name="Waiting for an answer Go")
    await expect(entry).to_be_visible()
