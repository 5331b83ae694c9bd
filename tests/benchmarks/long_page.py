"""How fluid the page is with much in it: `python -m tests.benchmarks.long_page`.

A thread of 500 messages, read from its end to its beginning, and a list of 1000 threads that is
searched. Of each: the longest pause between two frames, the tasks of over 50 ms, and the time from
a key to the frame that shows it.
"""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.async_api import Page, Route, async_playwright, expect

from tests.support.backend import key_of
from tests.support.chromium import CHROMIUM
from tests.support.long_threads import history
from tests.support.serving import Client, serving, settings

MESSAGES, THREADS = 500, 1000
SAID, REPLY = "#log .message.user", "#log .message.assistant"
"""Roles would be looked for in the page's own thread, in each of its elements."""
WORDS = "How long does a key take?"

WATCH = """
window.watched = { tasks: [], keys: [], frame: 0 };
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) watched.tasks.push(duration);
}).observe({ type: "longtask" });
let before = performance.now();
const frame = (now) => {
  watched.frame = Math.max(watched.frame, now - before);
  before = now;
  requestAnimationFrame(frame);
};
requestAnimationFrame(frame);
addEventListener("keydown", () => {
  const pressed = performance.now();
  requestAnimationFrame(() => setTimeout(() => watched.keys.push(performance.now() - pressed)));
}, { capture: true });
window.takeWatched = () => {
  const taken = watched;
  window.watched = { tasks: [], keys: [], frame: 0 };
  return taken;
};
"""

Act = Callable[[Page], Awaitable[None]]


async def measure() -> list[str]:
    """The figures in words."""
    if CHROMIUM is None:
        return ["page: there is no chromium to measure with"]
    with tempfile.TemporaryDirectory() as folder:
        async with serving(settings(Path(folder) / "page.db")) as client, _page() as page:
            await _long_thread(client)
            await page.route("**/threads?*archived=false*", _list)
            await page.goto(f"{client.http.base_url}/")
            acts = (
                (f"list of {THREADS} threads, shown", _shown),
                ("list, a search with 6 keys", _search),
                ("list, back from the search", _back_to_list),
                ("list, 20 keys down in it", _walk),
                (f"thread of {MESSAGES} messages, opened", _open),
                ("thread, read to its beginning", _read_up),
                (f"thread, {len(WORDS)} keys in the field", _type),
                ("thread, a turn at its end", _turn),
            )
            return [await _cost(page, name, act) for name, act in acts]


@asynccontextmanager
async def _page() -> Any:
    async with async_playwright() as playwright:
        args = ["--no-sandbox", "--disable-gpu"]
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=args)
        page = await browser.new_page()
        await page.add_init_script(WATCH)
        yield page
        await browser.close()


async def _cost(page: Page, name: str, act: Act) -> str:
    await act(page)
    await page.wait_for_timeout(300)
    watched = await page.evaluate("() => takeWatched()")
    tasks = watched["tasks"]
    longest = f", the longest {max(tasks):.0f} ms" if tasks else ""
    keys = f"; keys {max(watched['keys']):.0f} ms at most" if watched["keys"] else ""
    return (
        f"page, {name}: {watched['frame']:.0f} ms between frames at most, "
        f"{len(tasks)} long tasks{longest}{keys}"
    )


async def _long_thread(client: Client) -> None:
    assert client.state is not None
    saver = client.state["graphs"].checkpoints(None)
    await saver.add(key_of("long"), history(MESSAGES // 2 - 1))
    await client.turn({"thread_id": "long", "message": "And the last?"})


async def _list(route: Route) -> None:
    await route.fulfill(json={"threads": [*_entries()]})


def _entries() -> Iterator[dict[str, Any]]:
    now = datetime.now(UTC)
    for number in range(THREADS):
        at = (now - timedelta(hours=number)).isoformat(timespec="milliseconds")
        yield {
            "id": "long" if number == 0 else f"thread_{number}",
            "title": f"What was said about the weather, number {number}",
            "run_id": f"run_{number}",
            "run_state": "finished",
            "created_at": at,
            "updated_at": at,
            "pinned": False,
            "archived": False,
        }


async def _shown(page: Page) -> None:
    await expect(page.locator("#thread-list li")).to_have_count(THREADS)


async def _search(page: Page) -> None:
    await page.locator("#search").focus()
    await page.keyboard.type("the la", delay=30)
    await expect(page.locator("#thread-list .found")).to_have_count(1)


async def _back_to_list(page: Page) -> None:
    await page.keyboard.press("Escape")
    await expect(page.locator("#thread-list li")).to_have_count(THREADS)


async def _walk(page: Page) -> None:
    for _ in range(20):
        await page.keyboard.press("ArrowDown", delay=30)


async def _open(page: Page) -> None:
    # To press it as a person does, Playwright would look at each row.
    await page.evaluate("() => document.querySelector('#thread-list [data-thread=long]').click()")
    await expect(page.locator(REPLY)).not_to_have_count(0)


async def _read_up(page: Page) -> None:
    said = page.locator(SAID)
    while await page.locator(".earlier").count():
        before = await said.count()
        await page.locator("#scroller").hover()
        await page.mouse.wheel(0, -100_000)
        await expect(said).not_to_have_count(before)
    await expect(said).to_have_count(MESSAGES // 2)


async def _type(page: Page) -> None:
    await page.locator("#message").focus()
    await page.keyboard.type(WORDS, delay=30)


async def _turn(page: Page) -> None:
    await page.keyboard.press("Enter")
    reply = page.locator(REPLY)
    await expect(reply).to_have_count(MESSAGES // 2 + 1)
    await expect(reply.last).to_have_attribute("aria-busy", "false")


def main() -> None:
    sys.stdout.write("\n".join(asyncio.run(measure())) + "\n")


if __name__ == "__main__":
    main()
