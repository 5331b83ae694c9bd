"""What the page costs a browser: `python -m tests.benchmarks.page`.

The weight of the first load, as it came over the wire, the time that it takes on a slow line, and
the time that scripts and layout take while 1000 words stream in, one event each.
"""

import asyncio
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import CDPSession, Page, async_playwright, expect

from tests.support.chromium import CHROMIUM
from tests.support.serving import serving, settings

WORDS = 1000
WORD_SECONDS = 0.004
SLOW_LINE = {
    "offline": False,
    "latency": 300,
    "downloadThroughput": 1_600_000 / 8,
    "uploadThroughput": 750_000 / 8,
}


@dataclass(frozen=True)
class PageCost:
    requests: int
    wire_bytes: int
    shown_ms: float
    """Until the page can be used, the server beside it on the same machine."""
    slow_ms: float
    """Until the field has the focus, on a slow line."""
    reload_ms: float
    """The same, at the second visit."""
    script_ms: float
    layout_ms: float
    task_ms: float
    """All work of the page's main thread, the two above included."""


async def measure() -> PageCost | None:
    """None without Chromium."""
    if CHROMIUM is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        paced = settings(Path(folder) / "page.db", offline_word_seconds=WORD_SECONDS)
        async with serving(paced) as client, async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
            )
            url = str(client.http.base_url)
            slow = await _slow(await browser.new_page(), url)
            cost = await _measure(await browser.new_page(), url, slow)
            await browser.close()
            return cost


async def _slow(page: Page, url: str) -> tuple[float, float]:
    """Return the milliseconds of a first visit and of a second one."""
    devtools = await page.context.new_cdp_session(page)
    await devtools.send("Network.enable")
    await devtools.send("Network.emulateNetworkConditions", SLOW_LINE)
    clock, taken = asyncio.get_running_loop(), []
    for _ in range(2):
        began = clock.time()
        await page.goto(url, wait_until="commit")
        await expect(page.get_by_role("textbox", name="Message")).to_be_focused(timeout=60_000)
        taken.append((clock.time() - began) * 1000)
        await page.wait_for_load_state("networkidle")
    return taken[0], taken[1]


async def _measure(page: Page, url: str, slow: tuple[float, float]) -> PageCost:
    devtools = await page.context.new_cdp_session(page)
    loaded: list[float] = []
    devtools.on("Network.loadingFinished", lambda event: loaded.append(event["encodedDataLength"]))
    await devtools.send("Network.enable")
    await devtools.send("Performance.enable")
    clock = asyncio.get_running_loop()
    began = clock.time()
    await page.goto(url)
    await expect(page.locator(".example").first).to_be_visible()
    shown = clock.time() - began
    await page.wait_for_load_state("networkidle")
    requests, wire = len(loaded), int(sum(loaded))
    before = await _metrics(devtools)
    await _stream(page)
    after = await _metrics(devtools)
    spent = {name: (after[name] - before[name]) * 1000 for name in after}
    return PageCost(
        requests,
        wire,
        shown * 1000,
        *slow,
        spent["ScriptDuration"],
        spent["LayoutDuration"] + spent["RecalcStyleDuration"],
        spent["TaskDuration"],
    )


async def _stream(page: Page) -> None:
    await page.get_by_role("textbox", name="Message").fill(f"Write {WORDS} words")
    await page.keyboard.press("Enter")
    reply = page.get_by_role("article", name="Assistant")
    await expect(reply).to_have_attribute("aria-busy", "false", timeout=120_000)


async def _metrics(devtools: CDPSession) -> Mapping[str, float]:
    answer = await devtools.send("Performance.getMetrics")
    metrics = {item["name"]: float(item["value"]) for item in answer["metrics"]}
    names = ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration", "TaskDuration")
    return {name: metrics[name] for name in names}


def lines(cost: PageCost | None) -> list[str]:
    """The figures in words."""
    if cost is None:
        return ["page: there is no chromium to measure with"]
    return [
        f"page, first load: {cost.requests} requests, {cost.wire_bytes / 1024:.0f} KiB on the "
        f"wire, usable after {cost.shown_ms:.0f} ms",
        f"page, at 1.6 Mbit/s and 300 ms: the field has the focus after {cost.slow_ms:.0f} ms, at "
        f"the second visit after {cost.reload_ms:.0f} ms",
        f"page, {WORDS} deltas: {cost.script_ms:.0f} ms of script, {cost.layout_ms:.0f} ms of "
        f"style and layout, {cost.task_ms:.0f} ms of the main thread in all",
    ]


def main() -> None:
    sys.stdout.write("\n".join(lines(asyncio.run(measure()))) + "\n")


if __name__ == "__main__":
    main()
