"""The page on a page of another site, by one script element under a strict policy."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import expect

from tests.browser.conftest import Visitors, both_layouts
from tests.support.serving import serving, settings

HOST_PAGE = """<!doctype html><title>Shop</title>
<meta name="viewport" content="width=device-width" />
<button>Buy</button>
<script src="{chat}/widget.js" data-label="Ask us"></script>"""
ANSWER = """HTTP/1.1 200 OK\r
Content-Type: text/html\r
Content-Security-Policy: default-src 'none'; script-src {chat}; frame-src {chat}\r
Connection: close\r
\r
"""


@asynccontextmanager
async def another_site(chat: Callable[[], str]) -> AsyncIterator[str]:
    """The address of a site whose page embeds the chat at an address, and allows nothing else."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write((ANSWER + HOST_PAGE).replace("{chat}", chat()).encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def page_file(folder: Path, ancestor: str) -> Path:
    file = folder / "page.toml"
    file.write_text(f'frame_ancestors = ["{ancestor}"]', encoding="utf-8")
    return file


@both_layouts
async def test_a_page_of_another_site_shows_the_chat_by_one_script_element(
    visitors: Visitors, tmp_path: Path, look: str
) -> None:
    urls: list[str] = []
    async with another_site(lambda: urls[0]) as site:
        own = settings(tmp_path / "t.db", page=page_file(tmp_path, site))
        async with serving(own) as client:
            urls.append(client.url)
            page = (await visitors(site, look, bypass_csp=False)).page
            await page.goto(site)
            opener = page.get_by_role("button", name="Ask us")
            await expect(page.locator("iframe")).to_have_count(0)
            await opener.click()
            await expect(page.get_by_role("dialog", name="Ask us")).to_be_visible()
            # Over the whole of a phone, the button would lie on the chat's own.
            await expect(opener).to_be_visible(visible=not look.startswith("phone"))
            chat = page.frame_locator("iframe")
            field = chat.get_by_role("textbox", name="Message", exact=True)
            await field.fill("What is 17 * 23?")
            await chat.get_by_role("button", name="Send").click()
            await expect(chat.locator(".message.assistant").last).to_contain_text("391")
            await expect(chat.get_by_role("button", name="Stop")).to_have_count(0)
            await field.press("Escape")
            await expect(page.get_by_role("dialog")).to_have_count(0)
            await expect(opener).to_be_focused()
            await opener.click()
            await expect(chat.locator(".message.assistant").last).to_contain_text("391")
            await page.get_by_role("button", name="Close").click()
            await expect(opener).to_be_focused()


async def test_a_site_that_is_not_named_shows_no_chat(visitors: Visitors, tmp_path: Path) -> None:
    own = settings(tmp_path / "t.db", page=page_file(tmp_path, "https://other.example"))
    async with serving(own) as client, another_site(lambda: client.url) as site:
        visit = await visitors(site, "desktop light", bypass_csp=False)
        await visit.page.goto(site)
        async with visit.page.expect_console_message(
            lambda message: "frame-ancestors" in message.text
        ):
            await visit.page.get_by_role("button", name="Ask us").click()
        visitors.account.errors.clear()
