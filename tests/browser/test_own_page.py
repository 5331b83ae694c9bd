"""The page as its deployer wants it."""

import asyncio
from pathlib import Path

from playwright.async_api import expect

from tests.browser.conftest import Visitors, both_looks
from tests.browser.site import Visit, axe
from tests.browser.test_accessibility import AXE
from tests.support.scripted_model import ScriptedModel, finish, reasoning, text
from tests.support.serving import serving, settings

OWN = """
title = "Grid desk"
logo = "logo.svg"
hidden = ["inspector", "keys", "model", "times", "tokens", "edit", "threads", "export", "archive"]

[colours]
accent = { light = "#7a1fa2", dark = "#d9a6f0" }
on-accent = { light = "#ffffff", dark = "#2a0638" }
tint = { light = "#f5e9fa", dark = "#2b1833" }

[welcome]
heading = "What happens in the grid?"
text = "Ask about alarms and loads."

[[prompts]]
heading = "Sums"
prompts = [{ label = "A product", message = "What is 17 * 23?" }]

[[prompts]]
heading = "Greetings"
prompts = ["Hello"]

[legal]
text = "Answers can be wrong."
link = "https://example.org/terms"
label = "Terms"
"""
LOGO = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">'
    '<circle cx="12" cy="12" r="9" fill="#7a1fa2"/></svg>'
)


@both_looks
async def test_a_page_of_ones_own_shows_what_its_file_says_and_not_what_it_hides(
    visitors: Visitors, tmp_path: Path, look: str
) -> None:
    (tmp_path / "logo.svg").write_text(LOGO, encoding="utf-8")
    (tmp_path / "page.toml").write_text(OWN, encoding="utf-8")
    async with serving(settings(tmp_path / "t.db", page=tmp_path / "page.toml")) as client:
        visit: Visit = await (await visitors(client.url, look)).open()
        page = visit.page
        await expect(page.get_by_role("heading", name="What happens in the grid?")).to_be_visible()
        await expect(page.get_by_role("heading", name="Greetings")).to_be_visible()
        await expect(page.get_by_role("link", name="Terms")).to_be_visible()
        await expect(page).to_have_title("New thread · Grid desk")
        assert await axe(page, AXE) == []
        await page.keyboard.press("Control+Shift+F")
        assert not await page.locator("#main").evaluate("main => main.inert")
        await visit.button("A product").click()
        await expect(visit.reply).to_contain_text("391")
        await visit.idle()
        await expect(page.locator(".figures").last).to_have_text("")
        for name in ("Threads", "Event inspector", "Keys", "Export thread", "Edit message"):
            await expect(page.get_by_role("button", name=name)).to_have_count(0)
        colour = await page.locator(".send").last.evaluate("e => getComputedStyle(e).color")
        assert colour
        await visit.button("New thread").click()
        await expect(page.get_by_role("heading", name="Sums")).to_be_visible()


async def test_dots_stand_for_work_of_which_the_page_shows_nothing(
    visitors: Visitors, tmp_path: Path
) -> None:
    (tmp_path / "page.toml").write_text('hidden = ["reasoning"]', encoding="utf-8")
    held = asyncio.Event()
    model = ScriptedModel.of([reasoning("Well"), held, text("Yes."), finish()])
    own = settings(tmp_path / "t.db", page=tmp_path / "page.toml")
    async with serving(own, model=model) as client:
        visit = await (await visitors(client.url)).open()
        await visit.say("Is it?")
        await expect(visit.reply.locator(".reasoning")).to_have_count(1)
        await expect(visit.reply.locator(".waiting")).to_be_visible()
        held.set()
        await expect(visit.reply).to_contain_text("Yes.")
        await visit.idle()
