"""A thread as a file, an answer with the data of what it shows, and the thread on paper."""

import asyncio
import json
import re
from pathlib import Path

from playwright.async_api import Download, expect

from tests.browser.conftest import Visitors
from tests.browser.site import Visit
from tests.support.pictures import data_url, png
from tests.support.serving import Client

LEAF = data_url(png(24, 16))
CHART = "Draw a line chart of 1, 4, 9"
TABLE = re.compile(
    r"^\| \S.* \|\n\| ---: \|(?: ---: \|)+\n(?:\| .* \|\n){2}\| .* 9 \|$", re.MULTILINE
)


async def saved(visit: Visit, format: str) -> tuple[Download, str]:
    async with visit.page.expect_download() as download:
        await visit.button("Export thread").click()
        await visit.button(format).click()
    value = await download.value
    text = await asyncio.to_thread(Path(await value.path()).read_text)
    return value, text


async def test_a_thread_is_exported_as_markdown_and_as_the_servers_json(
    visit: Visit, client: Client
) -> None:
    parts = [{"type": "image", "image": LEAF, "alt": "A [leaf]"}, {"type": "text", "text": "Hi"}]
    thread_id, _ = await client.turn({"message": {"parts": parts}})
    await client.turn({"thread_id": thread_id, "message": "What is 17 * 23?"})
    await client.turn({"thread_id": thread_id, "message": CHART})
    await client.http.patch(f"/threads/{thread_id}", json={"title": "Leaves / <b>sums</b>"})
    await visit.open(thread_id)
    await expect(visit.replies).to_have_count(3)
    download, text = await saved(visit, "Markdown")
    assert download.suggested_filename == "Leaves-b-sums-b.md"
    assert text.startswith(
        "# Leaves / \\<b\\>sums\\</b\\>\n\n## You\n\n![A \\[leaf\\]][image-1]\n\nHi"
    )
    assert text.count("## You") == text.count("## Assistant") == 3
    assert text.endswith(f"\n\n[image-1]: {LEAF}\n")
    assert '**Tool calculator** (result)\n\n```json\n{"expression": "17 * 23"}\n```' in text
    assert TABLE.search(text), text
    download, text = await saved(visit, "JSON")
    assert download.suggested_filename == "Leaves-b-sums-b.json"
    assert json.loads(text) == await client.thread(thread_id)


async def test_an_answer_is_copied_with_the_data_of_its_chart(
    page_server: Client, visitors: Visitors, look: str
) -> None:
    visit = await visitors(page_server.url, look, permissions=["clipboard-read", "clipboard-write"])
    await visit.open()
    reply = await visit.ask(CHART)
    await reply.get_by_role("button", name="Copy message").click()
    await expect(reply.locator("[data-copy=copied]")).to_have_count(1)
    copied: str = await visit.page.evaluate("() => navigator.clipboard.readText()")
    assert TABLE.search(copied), copied
    assert "**Tool" not in copied
    reply = await visit.ask("Hello")
    await reply.get_by_role("button", name="Copy message").click()
    await expect(reply.locator("[data-copy=copied]")).to_have_count(1)
    copied = await visit.page.evaluate("() => navigator.clipboard.readText()")
    assert copied.startswith("Hello! I am turnstream's offline model.")


async def test_images_are_printed_and_the_ways_to_send_them_are_not(
    visit: Visit, client: Client
) -> None:
    parts = [{"type": "image", "image": LEAF, "alt": "A leaf"}]
    thread_id, _ = await client.turn({"message": {"parts": parts}})
    await visit.open(thread_id)
    await expect(visit.replies).to_have_count(1)
    await visit.page.emulate_media(media="print")
    await expect(visit.said.get_by_role("img", name="A leaf")).to_be_visible()
    await expect(visit.page.locator(".attach")).to_be_hidden()
    await expect(visit.page.locator("[popovertarget]")).to_be_hidden()
    pages = await visit.page.pdf()
    assert len(pages) > 1000
