"""Takes the pictures in docs/images: `python docs/screenshots.py`.

The real server with the offline model on a fresh database, in Chromium.
"""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).parent.parent))

from playwright.async_api import Browser, Page, async_playwright, expect

from tests.support.chromium import CHROMIUM
from tests.support.serving import serving, settings

IMAGES = Path(__file__).parent / "images"
WIDTH, HEIGHT = 1200, 760

Scene = Callable[[Page], Awaitable[None]]


@dataclass(frozen=True)
class Picture:
    name: str
    scene: Scene
    scheme: Literal["light", "dark"] = "light"


async def ask(page: Page, words: str) -> None:
    replies = page.get_by_role("article", name="Assistant")
    before = await replies.count()
    await page.get_by_role("textbox", name="Message", exact=True).fill(words)
    await page.keyboard.press("Enter")
    await expect(replies).to_have_count(before + 1)
    await expect(replies.last).to_have_attribute("aria-busy", "false", timeout=60_000)


async def turn(page: Page) -> None:
    await ask(page, "How is the fleet doing?")


async def approval(page: Page) -> None:
    await ask(page, "Schedule an inspection of inverter 3 on 2030-12-02")
    await expect(page.get_by_role("button", name="Approve")).to_be_visible()


PICTURES = (Picture("light", turn), Picture("dark", approval, "dark"))


async def take(browser: Browser, url: str, picture: Picture) -> None:
    context = await browser.new_context(
        viewport={"width": WIDTH, "height": HEIGHT},
        color_scheme=picture.scheme,
        reduced_motion="reduce",
    )
    page = await context.new_page()
    await page.goto(url)
    await picture.scene(page)
    await page.wait_for_timeout(400)  # the chart has faded in, the list has its titles
    await page.screenshot(path=IMAGES / f"{picture.name}.png")
    await context.close()


async def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        async with (
            serving(settings(Path(folder) / "pictures.db")) as client,
            async_playwright() as playwright,
        ):
            browser = await playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
            )
            for picture in PICTURES:
                await take(browser, str(client.http.base_url), picture)
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
