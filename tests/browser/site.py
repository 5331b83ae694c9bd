"""A visit to the page: one tab, and an account of everything that it must not do."""

import json
import re
from dataclasses import dataclass, field
from typing import Any, Self

from playwright.async_api import (
    BrowserContext,
    ConsoleMessage,
    Error,
    Locator,
    Page,
    Request,
    expect,
)

WAIT_MS = 8_000
expect.set_options(timeout=WAIT_MS)

_REPORT = """
addEventListener("securitypolicyviolation", (event) =>
  reportViolation(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`));
"""


@dataclass
class Account:
    """What went wrong in a browser: at the end of a test each list is empty."""

    errors: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    async def keep(self, context: BrowserContext, origin: str) -> None:
        await context.expose_binding("reportViolation", self._violated)
        await context.add_init_script(_REPORT)
        context.on("request", lambda request: self._requested(request, origin))
        context.on("console", self._logged)
        context.on("weberror", lambda error: self.errors.append(str(error.error)))

    def _violated(self, _: object, words: str) -> None:
        self.violations.append(words)

    def _requested(self, request: Request, origin: str) -> None:
        if not request.url.startswith((f"{origin}/", "data:", f"blob:{origin}")):
            self.foreign.append(request.url)

    def _logged(self, message: ConsoleMessage) -> None:
        # That a request failed is the test's to judge; what the page says of itself is not.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.errors.append(message.text)

    def check(self) -> None:
        assert self.errors == []
        assert self.violations == []
        assert self.foreign == []


@dataclass
class Visit:
    """One tab. What a person does and sees, in their words."""

    page: Page
    url: str

    async def open(self, thread_id: str | None = None) -> Self:
        query = "" if thread_id is None else f"?thread={thread_id}"
        await self.page.goto(f"{self.url}/{query}")
        return self

    @property
    def log(self) -> Locator:
        return self.page.locator("#log")

    @property
    def field(self) -> Locator:
        return self.page.get_by_role("textbox", name="Message", exact=True)

    @property
    def replies(self) -> Locator:
        return self.page.get_by_role("article", name="Assistant")

    @property
    def said(self) -> Locator:
        return self.page.get_by_role("article", name="You")

    @property
    def reply(self) -> Locator:
        """The last reply."""
        return self.replies.last

    @property
    def status(self) -> Locator:
        return self.page.locator("#status")

    @property
    def cards(self) -> Locator:
        return self.page.locator(".tool-card")

    @property
    def alert(self) -> Locator:
        return self.log.get_by_role("alert")

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    async def say(self, words: str) -> None:
        """Send a message; its run has begun when this returns."""
        await self.field.fill(words)
        # On a screen's keyboard Enter begins a line; with Control it sends everywhere.
        await self.field.press("Control+Enter")
        await expect(self.field).to_have_value("")

    async def ask(self, words: str) -> Locator:
        """Send a message and wait for the end of its turn; the value is the reply."""
        before = await self.replies.count()
        await self.say(words)
        await expect(self.replies).to_have_count(before + 1)
        await self.idle()
        return self.reply

    async def idle(self) -> None:
        """Until no run is live."""
        await expect(self.reply).to_have_attribute("aria-busy", "false")
        await expect(self.button("Send")).to_be_attached()

    def posts(self) -> list[str]:
        """Grows with each request for a run that a tab of this browser makes from now on."""
        made: list[str] = []

        def note(request: Request) -> None:
            if request.url == f"{self.url}/chat":
                made.append(request.url)

        self.page.context.on("request", note)
        return made

    async def thread_id(self) -> str:
        await expect(self.page).to_have_url(re.compile("thread="))
        return self.page.url.partition("thread=")[2]

    async def leave(self) -> None:
        """Close the tab, as a person does."""
        try:
            await self.page.close()
        except Error:  # closed already
            return


async def axe(page: Page, source: str) -> list[str]:
    """What axe finds against WCAG 2.1 A and AA, once nothing fades any more: `rule: element`.

    A page that is painted again while axe looks would fade in again; with reduced motion nothing
    does.
    """
    await page.emulate_media(reduced_motion="reduce")
    await page.evaluate(source)
    found: Any = await page.evaluate(
        """async () => {
          const fading = document.getAnimations().filter(
            ({ effect }) => effect.getComputedTiming().endTime !== Infinity);
          await Promise.allSettled(fading.map(({ finished }) => finished));
          const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];
          const { violations } = await axe.run(document, { runOnly: tags });
          return JSON.stringify(violations.flatMap((rule) =>
            rule.nodes.map(({ html, failureSummary }) =>
              `${rule.id}: ${html.slice(0, 160)} ${failureSummary}`)));
        }"""
    )
    return list(json.loads(found))
