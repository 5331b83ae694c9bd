"""Messages as they stream: text, stop, scrolling, the composer."""

import asyncio
import re

import pytest
from playwright.async_api import expect

from tests.browser.conftest import both_looks
from tests.browser.site import Visit
from tests.support.endpoint import Break, Finish, Pause, Say, StrictEndpoint, reply, text_reply

SELECT = """({ firstChild }) =>
  getSelection().setBaseAndExtent(firstChild, 0, firstChild, firstChild.length)"""


@both_looks
async def test_the_empty_page_offers_examples_that_send_on_click(visit: Visit) -> None:
    await expect(visit.page.get_by_text("Offline model")).to_be_visible()
    example = visit.page.locator(".example").first
    words = await example.inner_text()
    await example.click()
    await expect(visit.said).to_contain_text(words)
    await visit.idle()
    await expect(visit.replies).to_have_count(1)
    await expect(visit.status).to_have_text("Reply complete")


async def test_an_example_is_one_sentence_with_its_date(visit: Visit) -> None:
    example = visit.page.locator(".example", has=visit.page.locator(".iso")).first
    await expect(example).to_have_text("Show the power curve of inverter 3 on 2026-03-01")
    await expect(example).to_be_visible()
    # Words and dates stand in the lines of one text: none is beside another line.
    is_one_text = await example.evaluate(
        """(element) => {
          const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
          const lines = [];
          while (texts.nextNode()) {
            const range = document.createRange();
            range.selectNodeContents(texts.currentNode);
            lines.push(...range.getClientRects());
          }
          const areApart = (one, other) =>
            one.bottom <= other.top + 2 || Math.abs(one.top - other.top) < 2;
          return lines.every((one, i) =>
            lines.slice(i + 1).every((other) => areApart(one, other)));
        }"""
    )
    assert is_one_text


@both_looks
async def test_text_shows_while_it_streams_and_stays_when_it_is_whole(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    pause = Pause(asyncio.Event())
    endpoint.script(reply(Say("A **bold"), pause, Say(" word** and\n\n- one\n- two")))
    await scripted_visit.say("Hello")
    await expect(scripted_visit.reply.locator("strong")).to_have_text("bold")
    await expect(scripted_visit.reply).to_have_attribute("aria-busy", "true")
    await expect(scripted_visit.status).to_have_text("Generating a reply")
    pause.event.set()
    await scripted_visit.idle()
    await expect(scripted_visit.reply.locator("strong")).to_have_text("bold word")
    await expect(scripted_visit.reply.locator("li")).to_have_text(["one", "two"])


async def test_what_is_selected_scrolled_and_focused_in_a_block_stays_while_it_is_written(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    pauses = [Pause(asyncio.Event()) for _ in range(2)]
    line = f"value = '{'wide ' * 60}'\n"
    code = (Say(f"```python\n{line}"), pauses[0], Say(f"{line}def last(): ...\n```\n\nSome words"))
    endpoint.script(reply(*code, pauses[1], Say(" and **more**")))
    await scripted_visit.say("Hello")
    pre = scripted_visit.reply.locator("pre")
    await expect(pre.locator(".hljs-string")).to_have_count(1)
    await pre.focus()
    await pre.evaluate("(pre) => pre.scrollLeft = 120")
    await pre.locator(".hljs-string").evaluate(SELECT)
    pauses[0].event.set()
    await expect(scripted_visit.reply).to_contain_text("Some words")
    await expect(pre.locator(".hljs-string")).to_have_count(2)
    await expect(pre).to_be_focused()
    selected = "getSelection().toString().trim()"
    assert await pre.evaluate("(pre) => pre.scrollLeft") == 120
    assert (await scripted_visit.page.evaluate(selected)).startswith("'wide wide")
    await scripted_visit.reply.get_by_text("Some words").evaluate(SELECT)
    pauses[1].event.set()
    await scripted_visit.idle()
    await expect(scripted_visit.reply.locator("strong")).to_have_text("more")
    assert await scripted_visit.page.evaluate(selected) == "Some words"


@both_looks
async def test_markdown_shows_as_headings_lists_tables_and_coloured_code(visit: Visit) -> None:
    reply = await visit.ask("Show me some markdown")
    await expect(reply.get_by_role("heading", name="A sample of markdown")).to_be_visible()
    await expect(reply.get_by_role("cell", name="apples")).to_be_visible()
    await expect(reply.locator("code .hljs-keyword").first).to_have_text("def")
    link = reply.get_by_role("link", name="link")
    await expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")


@both_looks
async def test_escape_stops_the_run_and_keeps_its_text(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    endpoint.script(reply(Say("The lighthouse"), Pause(asyncio.Event())))
    await scripted_visit.say("Tell me a story")
    await expect(scripted_visit.reply).to_contain_text("lighthouse")
    await scripted_visit.page.keyboard.press("Escape")
    await scripted_visit.idle()
    await expect(scripted_visit.reply).to_contain_text("lighthouse")
    await expect(scripted_visit.reply.get_by_text("Stopped")).to_be_visible()
    await expect(scripted_visit.status).to_have_text("Reply stopped")


async def test_the_stop_button_takes_the_place_of_send_and_the_reply_can_go_on(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    endpoint.script(reply(Say("The light"), Pause(asyncio.Event())), text_reply("house."))
    await scripted_visit.say("Go on")
    await expect(scripted_visit.reply).to_contain_text("The light")
    await scripted_visit.button("Stop").click()
    await scripted_visit.idle()
    await scripted_visit.button("Continue").click()
    await expect(scripted_visit.button("Continue")).to_have_count(0)
    await scripted_visit.idle()
    await expect(scripted_visit.reply.locator(".markdown")).to_have_text(["The light", "house."])
    await expect(scripted_visit.replies).to_have_count(1)
    await expect(scripted_visit.said).to_have_count(1)


async def test_a_reply_that_the_models_limit_cut_off_can_go_on_also_after_a_reload(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    cut = Finish("length")
    endpoint.script(reply(Say("one"), cut), reply(Say("two"), cut), text_reply("three."))
    await scripted_visit.ask("Count")
    await expect(scripted_visit.reply).to_contain_text("Cut off")
    await scripted_visit.button("Continue").click()
    await expect(scripted_visit.reply.locator(".markdown")).to_have_text(["one", "two"])
    await scripted_visit.idle()
    await scripted_visit.page.reload()
    await scripted_visit.button("Continue").click()
    await expect(scripted_visit.reply.locator(".markdown")).to_have_text(["one", "two", "three."])
    await scripted_visit.idle()
    await expect(scripted_visit.button("Continue")).to_have_count(0)
    await expect(scripted_visit.reply).not_to_contain_text("Cut off")
    await expect(scripted_visit.said).to_have_count(1)


@both_looks
async def test_the_page_follows_the_text_until_a_person_scrolls_up(slow_visit: Visit) -> None:
    await slow_visit.say("Write 120 words")
    scroller = slow_visit.page.locator("#scroller")
    for _ in range(2):
        await slow_visit.field.press("Shift+Enter")
    await expect(slow_visit.reply).to_contain_text("cartographer")
    await slow_visit.page.set_viewport_size({"width": 390, "height": 420})
    await expect(slow_visit.button("Latest")).to_be_hidden()
    await scroller.hover()
    await slow_visit.page.mouse.wheel(0, -4000)
    await expect(slow_visit.button("Latest")).to_be_visible()
    await slow_visit.idle()
    height = await scroller.evaluate("(element) => element.clientHeight")
    assert await scroller.evaluate("(element) => element.scrollTop") == 0
    await slow_visit.button("Latest").click()
    await expect(slow_visit.button("Latest")).to_be_hidden()
    # Its room stays: nothing moves away from under a finger.
    assert await scroller.evaluate("(element) => element.clientHeight") == height
    assert await scroller.evaluate(
        "(e) => Math.abs(e.scrollHeight - e.clientHeight - e.scrollTop) < 3"
    )


async def test_a_question_goes_to_the_top_and_its_answer_moves_nothing_until_the_page_is_full(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    pauses = [Pause(asyncio.Event()) for _ in range(2)]
    long = "line\n\n" * 40
    endpoint.script(text_reply("One"), reply(Say("Two"), pauses[0], Say("\n\nwords"), pauses[1]))
    endpoint.script(text_reply(long))
    scroller = scripted_visit.page.locator("#scroller")
    top = """(e) => e.getBoundingClientRect().top
      - document.querySelector("#scroller").getBoundingClientRect().top"""
    at_end = "(e) => e.scrollHeight - e.clientHeight - e.scrollTop < 2"
    await scripted_visit.ask("First?")
    assert await scroller.evaluate("(e) => e.scrollHeight <= e.clientHeight")
    await scripted_visit.say("Second?")
    await expect(scripted_visit.reply).to_contain_text("Two")
    before = await scripted_visit.said.last.evaluate(top)
    assert 0 < before < 30
    pauses[0].event.set()
    await expect(scripted_visit.reply).to_contain_text("words")
    assert await scripted_visit.said.last.evaluate(top) == before
    pauses[1].event.set()
    await scripted_visit.idle()
    assert await scripted_visit.said.last.evaluate(top) == before
    await scripted_visit.ask("Third?")
    assert await scroller.evaluate(at_end)
    assert await scripted_visit.said.last.evaluate(top) < 0
    await scripted_visit.page.reload()
    await expect(scripted_visit.said).to_have_count(3)
    assert await scroller.evaluate(at_end)


async def test_a_long_message_is_folded_until_it_is_wanted(visit: Visit) -> None:
    await visit.ask("\n".join(f"line {number}" for number in range(40)))
    said = visit.said.locator(".said")
    assert await said.evaluate("(e) => e.clientHeight < e.scrollHeight / 3")
    await visit.button("Show all").click()
    assert await said.evaluate("(e) => e.clientHeight === e.scrollHeight")
    await visit.button("Show less").click()
    assert await said.evaluate("(e) => e.clientHeight < e.scrollHeight / 3")


async def test_details_stay_open_while_the_text_in_them_is_written(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    pause = Pause(asyncio.Event())
    text = "<details>\n<summary>Why</summary>\n\nBecause"
    endpoint.script(reply(Say(text), pause, Say(" of **that**\n\n</details>")))
    await scripted_visit.say("Why?")
    await scripted_visit.reply.get_by_text("Why").click()
    await expect(scripted_visit.reply.get_by_text("Because")).to_be_visible()
    pause.event.set()
    await scripted_visit.idle()
    await expect(scripted_visit.reply.locator("details strong")).to_be_visible()


@pytest.mark.full
async def test_the_page_yields_to_a_person_whose_browser_scrolls_late(slow_visit: Visit) -> None:
    await slow_visit.page.set_viewport_size({"width": 390, "height": 420})
    await slow_visit.say("Write 120 words")
    scroller = slow_visit.page.locator("#scroller")
    await scroller.evaluate(
        """(e) => new Promise((done) => {
          const overflows = () => e.scrollHeight > e.clientHeight;
          const look = () => (overflows() ? done() : requestAnimationFrame(look));
          look();
        })"""
    )
    # Nothing moves by it: the browser has not come to it yet.
    await scroller.dispatch_event("wheel", {"deltaY": -100})
    await slow_visit.idle()
    await expect(slow_visit.button("Latest")).to_be_visible()
    await slow_visit.page.mouse.move(200, 200)
    await slow_visit.page.mouse.wheel(0, 9000)
    await expect(slow_visit.button("Latest")).to_be_hidden()


async def test_enter_sends_and_shift_enter_breaks_the_line(visit: Visit) -> None:
    await visit.field.press_sequentially("Hello")
    await visit.field.press("Shift+Enter")
    await visit.field.press_sequentially("there")
    await expect(visit.field).to_have_value("Hello\nthere")
    await visit.field.press("Control+Enter")
    await expect(visit.said).to_have_text(re.compile("Hello\nthere"))
    await expect(visit.field).to_be_focused()


async def test_enter_that_ends_a_composition_does_not_send(visit: Visit) -> None:
    await visit.field.fill("にほん")
    await visit.field.evaluate(
        """(field) => field.dispatchEvent(
             new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true }))"""
    )
    await expect(visit.field).to_have_value("にほん")
    await expect(visit.said).to_have_count(0)


async def test_a_reply_and_a_code_block_can_be_copied(visit: Visit) -> None:
    await visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    reply = await visit.ask("Show me some markdown")
    await reply.get_by_role("button", name="Copy code").click()
    await expect(reply.locator(".copy-code[data-copy=copied]")).to_be_visible()
    code = await visit.page.evaluate("() => navigator.clipboard.readText()")
    assert code.strip().startswith("def greet")
    await reply.get_by_role("button", name="Copy message").click()
    await expect(reply.locator(".icon-button[data-copy=copied]")).to_be_visible()
    copied = await visit.page.evaluate("() => navigator.clipboard.readText()")
    assert copied.startswith("## A sample of markdown")


async def test_code_and_marks_of_many_kinds_are_shown_as_what_they_are(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    text = (
        "```rust\nlet a = 1;\n```\n\n```haskell\nmain = pure ()\n```\n\nשלם `a b` אשכ\n\n"
        "- m<sup>2\n\nThe end."
    )
    endpoint.script(text_reply(text))
    reply = await scripted_visit.ask("Code")
    await expect(reply.locator(".code-bar span")).to_have_text(["rust", "haskell"])
    await expect(reply.locator(".hljs-keyword")).to_have_text("let")
    hebrew = reply.locator("p", has_text="שלם")
    assert await hebrew.evaluate("(p) => getComputedStyle(p).direction") == "rtl"
    code = hebrew.locator("code")
    assert await code.evaluate("(code) => getComputedStyle(code).direction") == "ltr"
    await expect(reply.locator("sup")).to_have_text("2")


async def test_formulas_are_drawn_and_what_cannot_be_is_shown_as_it_was_written(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    text = r"""So $a_1 + b$ costs $5.

$$
\begin{aligned} x &= 1 \\ y &= 2 \end{aligned}
$$

- \(\nosuch{x}\)
- \[ \color{red}{\frac{a}{b}} \]
"""
    endpoint.script(text_reply(text))
    reply = await scripted_visit.ask("Formulas")
    await expect(reply.locator("math")).to_have_count(3)
    await expect(reply.locator("math[display=block] mtr")).to_have_count(2)
    await expect(reply.locator("p").first).to_have_text("So a1+b costs $5.")
    await expect(reply.locator("code.math")).to_have_text(r"\nosuch{x}")
    assert await reply.locator("math [style]").count() == 0


async def test_a_turn_shows_its_duration_tokens_and_time_to_the_first_word(visit: Visit) -> None:
    reply = await visit.ask("Hello")
    await expect(reply.locator(".figures")).to_have_text(
        re.compile(r"(ms|s) · first word .+ · \d+ → \d+ tokens")
    )


async def test_a_failing_model_shows_an_alert_and_retry_goes_on(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    endpoint.script(reply(Say("Half an "), Break()), reply(Say("A whole answer.")))
    await scripted_visit.say("Hello")
    await expect(scripted_visit.alert).to_have_text(re.compile("broke off.*Error \\w+", re.DOTALL))
    await expect(scripted_visit.reply).to_contain_text("Half an")
    await expect(scripted_visit.reply).not_to_contain_text("Failed")
    await scripted_visit.retry.click()
    await expect(scripted_visit.reply).to_contain_text("A whole answer.")
    await expect(scripted_visit.alert).to_have_count(0)
    await expect(scripted_visit.said).to_have_count(1)


async def test_a_message_that_the_server_refuses_comes_back_to_the_field(visit: Visit) -> None:
    words = "x" * 40_000
    # Until the page knows how long a message may be, it sends any.
    await visit.page.route("**/models", lambda route: route.abort())
    await visit.page.reload()
    await visit.field.fill(words)
    await visit.field.press("Control+Enter")
    await expect(visit.alert).to_contain_text("32000")
    await expect(visit.field).to_have_value(words)
    await expect(visit.said).to_have_count(0)


async def test_a_request_that_never_arrived_is_sent_once_by_retry(visit: Visit) -> None:
    await visit.page.route("**/chat", lambda route: route.abort())
    await visit.say("Hello")
    await expect(visit.alert).to_contain_text("cannot be reached")
    await visit.page.unroute("**/chat")
    await visit.retry.click()
    await expect(visit.reply).to_contain_text("offline model")
    await visit.idle()
    await visit.page.reload()
    await expect(visit.said).to_have_count(1)
