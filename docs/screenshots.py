"""Takes the pictures in docs/images: `python docs/screenshots.py`.

The real server with the offline model on a fresh database, in Chromium.
"""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from playwright.async_api import Browser, Page, async_playwright, expect

from tests.support.chromium import CHROMIUM
from tests.support.serving import serving, settings

IMAGES = Path(__file__).parent / "images"
DESKTOP, PHONE = (1200, 760), (390, 760)

Scene = Callable[[Page], Awaitable[None]]


@dataclass(frozen=True)
class Picture:
    name: str
    scene: Scene
    size: tuple[int, int] = DESKTOP
    scheme: str = "light"


async def ask(page: Page, words: str) -> None:
    replies = page.get_by_role("article", name="Assistant")
    before = await replies.count()
    await page.get_by_role("textbox", name="Message", exact=True).fill(words)
    await page.keyboard.press("Control+Enter")  # on a phone Enter breaks the line
    await expect(replies).to_have_count(before + 1)
    await expect(replies.last).to_have_attribute("aria-busy", "false", timeout=60_000)


async def turn(page: Page) -> None:
    await ask(page, "How is the fleet doing?")


async def chart(page: Page) -> None:
    await ask(page, "Show the power curve of inverter 3 last Tuesday")
    await expect(page.locator("canvas")).to_be_visible()
    await page.locator(".chart").hover(position={"x": 420, "y": 110})


async def bars(page: Page) -> None:
    await ask(page, "Compare site A and B")


async def selection(page: Page) -> None:
    await ask(page, "Let me choose between the coast, the mountains and the city")
    await page.get_by_role("radio").nth(1).check()


async def inspector(page: Page) -> None:
    await page.get_by_role("button", name="Event inspector").click()
    await ask(page, "What is 17 * 23?")
    row = page.locator(".event", has_text="result").first
    await row.get_by_role("button").click()
    await row.scroll_into_view_if_needed()


async def empty(page: Page) -> None:
    await expect(page.locator(".badge")).to_be_visible()


PICTURES = (
    Picture("light", turn),
    Picture("dark", bars, scheme="dark"),
    Picture("phone", bars, PHONE),
    Picture("chart", chart),
    Picture("selection", selection),
    Picture("inspector", inspector, scheme="dark"),
    Picture("empty", empty),
)


async def take(browser: Browser, url: str, picture: Picture) -> None:
    width, height = picture.size
    context = await browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=picture.scheme,  # type: ignore[arg-type]
        reduced_motion="reduce",
        is_mobile=picture.size == PHONE,
        has_touch=picture.size == PHONE,
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
