"""The page in another language: its texts, its direction, its dates and numbers."""

import json
from pathlib import Path
from typing import Any

from playwright.async_api import expect

from tests.browser.conftest import Visitors, both_layouts
from tests.browser.site import Visit, axe
from tests.browser.test_accessibility import AXE
from tests.support.serving import serving, settings
from turnstream.server.page.texts import ENGLISH

ALEPH, LATIN = "אבגדהוזחטיכלמנסעפצקרשת", "abcdefghijklmnopqrstuvwxyz"
HEBREW = str.maketrans(
    {letter: ALEPH[i % len(ALEPH)] for i, letter in enumerate(LATIN)}
    | {letter: ALEPH[i % len(ALEPH)] for i, letter in enumerate(LATIN.upper())}
)

PROBLEMS = {"problem.thread_too_large": "This thread is full.", "problem.queue_full": "{value}"}


def in_hebrew(text: str) -> str:
    """The text in letters that run from right to left; values stay as they are."""
    pieces = text.replace("{", "\0{").replace("}", "}\0").split("\0")
    return "".join(p if p.startswith("{") else p.translate(HEBREW) for p in pieces)


def catalogue() -> dict[str, Any]:
    english = json.loads(ENGLISH.read_text(encoding="utf-8"))
    return {
        key: in_hebrew(text)
        if isinstance(text, str)
        else {form: in_hebrew(one) for form, one in text.items()}
        for key, text in (english | PROBLEMS).items()
    }


LATIN_ON_THE_PAGE = r"""() => {
  const ELSEWHERE =
    "script, noscript, #spoken, .bubble, .markdown, code, pre, kbd, .thread-title, .tool-args";
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (parent.closest(ELSEWHERE)) continue;
    texts.push(node.data.trim());
  }
  for (const element of document.body.querySelectorAll("*"))
    for (const name of ["aria-label", "title", "placeholder", "alt"])
      if (element.hasAttribute(name)) texts.push(element.getAttribute(name));
  return texts.filter((text) => /[a-z]{2,}/i.test(text));
}"""
UNTRANSLATED = ("What is", "turnstream", "offline", "calculator", "PNG", "17 * 23")
"""Of the thread, of the product, of models and tools, kinds of files."""


async def untranslated(visit: Visit) -> list[str]:
    texts: list[str] = await visit.page.evaluate(LATIN_ON_THE_PAGE)
    return [text for text in texts if not any(own in text for own in UNTRANSLATED)]


@both_layouts
async def test_a_catalogue_replaces_every_text_of_the_page_and_turns_it_around(
    visitors: Visitors, tmp_path: Path, look: str
) -> None:
    texts = json.dumps(catalogue(), ensure_ascii=False)
    (tmp_path / "he.json").write_text(texts, encoding="utf-8")
    own_words = '[[prompts]]\nprompts = ["שלום"]'
    (tmp_path / "page.toml").write_text(
        f'locale = "he"\ntexts = "he.json"\n{own_words}', encoding="utf-8"
    )
    own = settings(tmp_path / "t.db", page=tmp_path / "page.toml", max_thread_bytes=1)
    async with serving(own) as client:
        visit = await (await visitors(client.url, look)).open()
        page = visit.page
        field = page.get_by_role("textbox", name=in_hebrew("Message"), exact=True)
        await expect(page.locator(".example").first).to_be_visible()
        assert await page.evaluate("document.dir") == "rtl"
        assert await untranslated(visit) == []
        await field.fill("What is 17 * 23?")
        await page.get_by_role("button", name=in_hebrew("Send"), exact=True).click()
        await expect(page.locator(".message.assistant .figures")).to_contain_text("·")
        assert await untranslated(visit) == []
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await page.keyboard.press("Control+/")
        await expect(page.get_by_role("dialog")).to_be_visible()
        assert await untranslated(visit) == []
        await page.keyboard.press("c")
        await expect(page.locator("#status")).to_have_text(in_hebrew("Copied"))
        await page.keyboard.press("Escape")
        await field.fill("What is 17 * 23?")
        await page.get_by_role("button", name=in_hebrew("Send"), exact=True).click()
        await expect(page.get_by_role("alert")).to_contain_text(in_hebrew("This thread is full."))
        assert await untranslated(visit) == []
        assert await axe(page, AXE) == []
        assert await page.evaluate(
            "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        )
