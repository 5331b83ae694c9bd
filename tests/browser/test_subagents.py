"""Subagents on the page: a card under their call, live, folded when done, there after a reload."""

from pathlib import Path

from playwright.async_api import expect

from tests.browser.conftest import Visitors
from tests.browser.site import axe
from tests.browser.test_accessibility import AXE
from tests.graphs.zoo.subagents import HeldTool
from tests.support.serving import serving, settings

AGENT = """
from tests.browser.test_subagents import HELD
from tests.graphs.zoo.model import ReplyingModel
from tests.graphs.zoo.subagents import HeldTool, edit


def graph():
    HELD.append(HeldTool())
    return HELD[-1].graph(ReplyingModel(replies=edit))
"""
HELD: list[HeldTool] = []


async def test_two_subagents_show_what_they_do_under_their_calls(
    tmp_path: Path, visitors: Visitors
) -> None:
    (tmp_path / "editor_agent.py").write_text(AGENT)
    graph = f"{tmp_path / 'editor_agent.py'}:graph"
    async with serving(settings(tmp_path / "t.db", graph=graph)) as client:
        visit = await (await visitors(client.url)).open()
        await visit.say("moss and fern")
        cards = visit.page.locator(".subagents")
        await expect(cards).to_have_count(2)
        for card in await cards.all():
            await expect(card).to_contain_text("researcher")
            await expect(card.get_by_text("Looking.").last).to_be_visible()
            await expect(card).to_have_attribute("open", "")
        HELD[-1].opened.set()
        await visit.idle()
        await expect(visit.reply).to_contain_text("Written: I found facts of moss.")
        for _ in range(2):
            await expect(cards).to_have_count(2)
            await expect(visit.page.locator(".subagents[open]")).to_have_count(0)
            await cards.nth(1).locator("summary").first.click()
            await expect(cards.nth(1).get_by_text("I found facts of fern.")).to_be_visible()
            await expect(cards.nth(1)).to_contain_text("look_up")
            assert await axe(visit.page, AXE) == []
            await visit.page.reload()
        await visit.page.close()
