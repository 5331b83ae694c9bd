"""What makes the page easy to read and to touch: room, sizes, sources, what is heard."""

import asyncio

import pytest
from playwright.async_api import Route, expect

from tests.browser.scripted_wire import THREAD, ScriptedWire, spoken
from tests.browser.site import Visit
from tests.support.endpoint import Pause, Say, StrictEndpoint, reply, text_reply

SMALL = """() => [...document.querySelectorAll("button, select, summary, input:not([type=file])")]
  .filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest(".visually-hidden"))
  .map((e) => [e.ariaLabel || e.textContent.trim(), e.getBoundingClientRect()])
  .filter(([, { width, height }]) => width && (width < 43.9 || height < 43.9))
  .map(([name, { width, height }]) => `${name}: ${width} x ${height}`)
"""


@pytest.mark.parametrize("look", ["phone light"])
async def test_on_a_phone_every_button_has_room_for_a_finger(visit: Visit) -> None:
    await visit.ask("What is 17 * 23?")
    assert await visit.page.evaluate(SMALL) == []
    await visit.button("Threads").click()
    await expect(visit.page.locator(".thread-list li")).to_have_count(1)
    assert await visit.page.evaluate(SMALL) == []


async def test_the_characters_that_are_left_are_counted_and_too_many_are_not_sent(
    visit: Visit,
) -> None:
    room = visit.page.locator("#room")
    await expect(visit.button("Attach images")).not_to_have_attribute("aria-disabled", "true")
    await visit.field.fill("a" * 30_000)
    await expect(room).to_be_hidden()
    await expect(visit.field).to_have_accessible_description("")
    await visit.field.fill("a" * 31_999)
    await expect(room).to_have_text("1 character left")
    await visit.field.fill("😀" * 32_002)
    await expect(room).to_have_text("2 characters too many")
    await expect(visit.button("Send")).to_be_disabled()
    await expect(visit.status).to_have_text("The message is too long: shorten it to send it.")
    await visit.field.fill("Hello")
    await expect(room).to_be_hidden()
    await expect(visit.button("Send")).to_be_enabled()


async def test_the_model_that_answered_is_named_below_its_answer(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Yes."))
    await scripted_visit.ask("Well?")
    figures = scripted_visit.page.locator(".message.assistant .figures")
    await expect(figures).to_contain_text("scripted ·")
    await scripted_visit.page.reload()
    await expect(figures).to_contain_text("scripted")


async def test_a_reply_is_heard_block_by_block_as_it_grows(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    held = asyncio.Event()
    endpoint.script(reply(Say("First **block**.\n\nSecond bl"), Pause(held), Say("ock.")))
    heard = scripted_visit.page.locator("#spoken")
    await scripted_visit.say("Go")
    await expect(heard).to_have_text("First block.")
    await expect(heard).to_have_attribute("aria-live", "polite")
    held.set()
    await scripted_visit.idle()
    await expect(heard.locator("p")).to_have_text(["First block.", "Second block."])
    await scripted_visit.button("New thread").click()
    await expect(heard).to_be_empty()


def long_reply(rows: int) -> str:
    """A list, a table and code, of so many rows each."""
    code = "".join(
        f"def name_{i}(value: int) -> str:\n    return f'{i}'  # {i}\n" for i in range(rows)
    )
    items = "\n".join(f"- item **{i}** with `code` and some more words" for i in range(rows))
    table = "|a|b|\n|-|-|\n" + "".join(f"|{i}|word *{i}*|\n" for i in range(rows))
    return f"{items}\n\n{table}\n```python\n{code}```\n\nThe end."


MOST_AT_ONCE = """
globalThis.mostAtOnce = 0;
new MutationObserver((records) => {
  const added = new Set(
    records.flatMap(({ addedNodes }) => [...addedNodes])
      .filter((node) => node instanceof Element && node.closest("#log"))
      .flatMap((element) => [element, ...element.querySelectorAll("*")]));
  mostAtOnce = Math.max(mostAtOnce, added.size);
}).observe(document, { subtree: true, childList: true });
"""
"""Counts the elements that one task puts into the log."""


async def test_a_long_reply_is_drawn_in_many_small_tasks_and_is_whole(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    visit, text = scripted_visit, long_reply(250)
    visit.worn = True
    await visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await visit.page.add_init_script(MOST_AT_ONCE)
    await visit.page.reload()
    endpoint.script(reply(*(Say(text[i : i + 4_000]) for i in range(0, len(text), 4_000))))
    await visit.ask("Go")
    await expect(visit.page.locator("#spoken p").last).to_have_text("The end.")
    for _ in range(2):
        await expect(visit.reply.locator("p").last).to_have_text("The end.")
        await expect(visit.reply.locator(".block")).to_have_count(4)
        await expect(visit.reply.locator("ul > li")).to_have_count(250)
        await expect(visit.reply.locator("tr")).to_have_count(251)
        await expect(visit.reply.locator(".hljs-keyword")).to_have_count(500)
        await visit.button("Copy code").click()
        copied = await visit.page.evaluate("() => navigator.clipboard.readText()")
        assert copied.strip() == text.partition("python\n")[2].partition("```")[0].strip()
        assert await visit.page.evaluate("() => mostAtOnce") < 1_000
        await visit.page.reload()


async def test_what_stands_behind_long_code_stays_when_its_colours_come(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    text = long_reply(250)
    endpoint.script(text_reply(text))
    gate = asyncio.Event()

    async def hold(route: Route) -> None:
        await gate.wait()
        await route.continue_()

    await scripted_visit.page.route("**/python.min*", hold)
    await scripted_visit.ask("Go")
    end = scripted_visit.reply.locator("p").last
    await expect(end).to_have_text("The end.")
    await end.evaluate("(p) => getSelection().selectAllChildren(p)")
    gate.set()
    await expect(scripted_visit.reply.locator(".hljs-keyword")).to_have_count(500)
    assert await scripted_visit.page.evaluate("() => getSelection().toString()") == "The end."


async def test_code_behind_a_long_list_gets_colours_that_come_while_the_list_is_drawn(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    code = "```python\nnumber = 1\n```"
    scripted_visit.worn = True
    endpoint.script(text_reply(code), text_reply("- item\n" * 600 + "\n" + code))
    await scripted_visit.ask("Go")
    await scripted_visit.ask("On")
    # Each part is drawn late: the first message has loaded the colours by then.
    slower = "const timer = setTimeout; setTimeout = (act, ms = 300) => timer(act, ms);"
    await scripted_visit.page.add_init_script(slower)
    await scripted_visit.page.reload()
    await expect(scripted_visit.reply.locator("li")).to_have_count(600)
    await expect(scripted_visit.reply.locator("code .hljs-number")).to_have_text("1")


async def test_a_long_text_is_printed_whole_while_it_is_drawn(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    scripted_visit.worn = True
    endpoint.script(text_reply("- item\n" * 600 + "\nThe end."))
    await scripted_visit.ask("Go")
    no_further_task = "const timer = setTimeout; setTimeout = (act, ms = 1e8) => timer(act, ms);"
    await scripted_visit.page.add_init_script(no_further_task)
    await scripted_visit.page.reload()
    await expect(scripted_visit.reply).to_be_attached()
    await expect(scripted_visit.reply.locator("li")).to_have_count(0)
    await scripted_visit.page.pdf()
    await expect(scripted_visit.reply.locator("li")).to_have_count(600)
    await expect(scripted_visit.reply.locator("p").last).to_have_text("The end.")


async def test_what_is_selected_in_a_long_list_stays_while_it_grows(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    pause = Pause(asyncio.Event())
    lines = [f"- item {i} of very many items\n" for i in range(400)]
    endpoint.script(reply(Say("".join(lines[:300])), pause, Say("".join(lines[300:]))))
    await scripted_visit.say("Go")
    items = scripted_visit.reply.locator("li")
    await expect(items).to_have_count(300)
    await items.nth(298).evaluate("(item) => getSelection().selectAllChildren(item)")
    pause.event.set()
    await scripted_visit.idle()
    await expect(items).to_have_count(400)
    await expect(scripted_visit.reply.locator("ul")).to_have_count(1)
    selected = "() => getSelection().toString().trim()"
    assert await scripted_visit.page.evaluate(selected) == "item 298 of very many items"


DRAWN = """
async () => {
  for (let i = 0; i < 5; i += 1)
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
}
"""
"""Waits for the tasks that follow the last of a drawing."""


async def test_what_a_long_reply_has_said_before_its_thread_is_opened_is_not_heard(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    pauses = [Pause(asyncio.Event()), Pause(asyncio.Event())]
    blocks = "".join(f"Block {i}.\n\n" for i in range(100))
    endpoint.script(reply(Say(blocks), pauses[0], Say("New.\n\n"), pauses[1], Say("The end.")))
    await scripted_visit.say("Go")
    await expect(scripted_visit.reply.locator(".block")).to_have_count(100)
    # No drawing is slow, so none is followed by a rest.
    await scripted_visit.page.add_init_script("performance.now = () => 0")
    await scripted_visit.page.reload()
    await expect(scripted_visit.reply.locator(".block")).to_have_count(100)
    await scripted_visit.page.evaluate(DRAWN)
    heard = scripted_visit.page.locator("#spoken")
    for pause in pauses:
        pause.event.set()
        await expect(scripted_visit.reply).to_contain_text("New.")
    await scripted_visit.idle()
    await expect(heard.locator("p").last).to_have_text("The end.")
    await expect(heard).not_to_contain_text("Block 1")


async def test_a_reply_is_heard_while_a_message_is_queued_behind_it(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    first, second = asyncio.Event(), asyncio.Event()
    held = reply(Say("One.\n\nTw"), Pause(first), Say("o.\n\nThr"), Pause(second), Say("ee."))
    endpoint.script(held, text_reply("Four."))
    heard = scripted_visit.page.locator("#spoken")
    await scripted_visit.say("Go")
    await expect(heard).to_have_text("One.")
    await scripted_visit.field.fill("Further")
    await scripted_visit.button("Queue").click()
    await expect(scripted_visit.page.get_by_role("article", name="Queued message")).to_be_visible()
    first.set()
    await expect(heard.locator("p")).to_have_text(["One.", "Two."])
    second.set()
    await scripted_visit.idle()


async def test_the_sources_of_an_answer_are_one_list_below_it(
    wire: ScriptedWire, wired: Visit
) -> None:
    def source(url: str, title: str = "") -> dict[str, str]:
        return {"type": "source", "sourceType": "url", "id": url, "url": url, "title": title}

    wire.hold(
        spoken(
            {"type": "text", "text": "So it is."},
            source("https://one.example/a", "One"),
            source("javascript:alert(1)", "Two"),
            {"type": "text", "text": "Indeed."},
            source("https://one.example/a", "One"),
        )
    )
    await wired.open(THREAD)
    sources = wired.reply.get_by_role("region", name="Sources")
    await expect(sources.get_by_role("listitem")).to_have_text(["One one.example", "Two"])
    await expect(sources.get_by_role("link")).to_have_count(1)
    texts = wired.reply.locator(":scope > .markdown, :scope > .sources")
    await expect(texts).to_have_text(["So it is.", "Indeed.", "Sources One one.example Two"])
