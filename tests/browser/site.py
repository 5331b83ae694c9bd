"""A visit to the page: one tab, and an account of everything that it must not do."""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from playwright.async_api import (
    Browser,
    BrowserContext,
    CDPSession,
    ConsoleMessage,
    Error,
    Locator,
    Page,
    Request,
    ViewportSize,
    WebError,
    expect,
)

from turnstream.server.app import PAGE

WAIT_MS = 8_000
expect.set_options(timeout=WAIT_MS)

_REPORT = """
addEventListener("securitypolicyviolation", (event) =>
  reportViolation(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`));
navigation.addEventListener("navigate", ({ destination: { url } }) => {
  if (new URL(url).origin !== origin) reportViolation(`went to ${url}`);
});
"""
_FORGET = """async () => {
  localStorage.clear();
  sessionStorage.clear();
  for (const { name } of await indexedDB.databases()) {
    await new Promise((gone) => {
      const request = indexedDB.deleteDatabase(name);
      request.onsuccess = request.onerror = request.onblocked = gone;
    });
  }
}"""
ICON = next(PAGE.glob("icon-*.svg")).name
PLAIN_HOST = "lan.test"
"""A name of this machine that is no secure context over HTTP, as 127.0.0.1 is."""
NO_OTHER_HOST = (
    f"--host-resolver-rules=MAP {PLAIN_HOST} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
)
"""A flag of Chromium: what it asks of another host fails, and says so in the console."""
_TOLD_BY_THE_BROWSER = re.compile(
    "Failed to load resource|The Cross-Origin-Opener-Policy header has been ignored"
)
"""Beginnings of what is no fault of the page: the header counts over HTTPS alone."""


def size_of(look: str) -> ViewportSize:
    return {"width": 390 if look.startswith("phone") else 1280, "height": 800}


def colors_of(look: str) -> Literal["dark", "light"]:
    return "dark" if look.endswith("dark") else "light"


def motion_of(look: str) -> Literal["reduce", "no-preference"]:
    """To paint what moves is a tenth of what a test costs, and nothing but styles asks for it: by
    daylight it stands."""
    return "no-preference" if look.endswith("dark") else "reduce"


@dataclass
class Account:
    """The faults of a browser: at the end of a test each list is empty.

    That the page asks nothing of another host is told by its policy, which is violated, by the
    console, since no other host is found, and by where it goes. To have each request reported would
    cost a tenth of a second for each load of the page.
    """

    errors: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def logged(self, message: ConsoleMessage) -> None:
        # That a request failed is the test's to judge; what the page says of itself is not.
        if "ERR_NAME_NOT_RESOLVED" in message.text:
            self.foreign.append(message.location["url"])
        elif message.type in ("error", "warning") and not _TOLD_BY_THE_BROWSER.match(message.text):
            self.errors.append(message.text)

    def check(self) -> None:
        assert self.errors == []
        assert self.violations == []
        assert self.foreign == []


@dataclass
class Profile:
    """A browser profile that tests use one after the other, so that the page's files are loaded
    once: each test finds it as empty as a new one, but for those files."""

    context: BrowserContext
    look: str
    account: Account
    origin: str
    _first: "Visit" = field(init=False)

    @classmethod
    async def new(
        cls, browser: Browser, look: str, account: Account, origin: str, **options: Any
    ) -> Self:
        is_phone = look.startswith("phone")
        context = await browser.new_context(
            viewport=size_of(look),
            color_scheme=colors_of(look),
            is_mobile=is_phone,
            has_touch=is_phone,
            reduced_motion=motion_of(look),
            **options,
        )
        profile = cls(context, look, account, origin)
        await context.expose_binding("reportViolation", profile._violated)
        await context.add_init_script(_REPORT)
        context.on("console", profile._logged)
        context.on("weberror", profile._failed)
        return profile

    async def visit(self, account: Account, url: str) -> "Visit":
        """A first tab, for the next test."""
        self.account, self.origin = account, url
        pages = self.context.pages
        self._first = Visit(pages[0] if pages else await self.context.new_page(), url)
        return self._first

    async def leave(self) -> None:
        """Forget all that the test has left, and keep the first tab unless it is worn."""
        kept, *others = self.context.pages or [await self.context.new_page()]
        for page in others:
            await page.close()
        if self._first.worn:
            await kept.close()
            kept = await self.context.new_page()
        await self.context.unroute_all(behavior="ignoreErrors")
        await kept.unroute_all(behavior="ignoreErrors")
        await self.context.set_offline(False)
        await self._go_where_nothing_writes(kept)
        await kept.evaluate(_FORGET)
        await kept.mouse.move(0, 0)
        await kept.set_viewport_size(size_of(self.look))
        await kept.emulate_media(
            media="null",
            color_scheme=colors_of(self.look),
            reduced_motion=motion_of(self.look),
        )
        await self.context.clear_cookies()
        await self.context.clear_permissions()
        await self.context.set_extra_http_headers({})

    async def _go_where_nothing_writes(self, page: Page) -> None:
        """To a page of the same origin that is none of ours."""
        address = f"{self.origin}/{ICON}"
        try:
            await page.goto(address)
        except Error:  # the server is gone
            await page.route(address, lambda route: route.fulfill(body=""))
            await page.goto(address)
            await page.unroute(address)

    def _logged(self, message: ConsoleMessage) -> None:
        self.account.logged(message)

    def _failed(self, failure: WebError) -> None:
        self.account.errors.append(str(failure.error))

    def _violated(self, _: object, words: str) -> None:
        self.account.violations.append(words)


@dataclass
class Visit:
    """One tab. What a person does and sees, in their words."""

    page: Page
    url: str
    worn: bool = False
    """The tab has something of its test, and is not for another."""

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

    @property
    def retry(self) -> Locator:
        """The button of a message; the list of threads may have one too."""
        messages = self.page.get_by_role("region", name="Messages")
        return messages.get_by_role("button", name="Retry", exact=True)

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
        """Grows with each request for a run that the tab makes from now on."""
        made: list[str] = []

        def note(request: Request) -> None:
            if request.url.partition("?")[0] == f"{self.url}/chat":
                made.append(request.url)

        self.note_requests(note)
        return made

    def note_requests(self, note: Callable[[Request], Awaitable[None] | None]) -> None:
        self.worn = True
        self.page.on("request", note)

    async def devtools(self) -> CDPSession:
        self.worn = True
        return await self.page.context.new_cdp_session(self.page)

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
    """What axe finds against WCAG 2.1 A and AA and its own best practices, once nothing fades any
    more: `rule: element`.

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
          const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"];
          const { violations } = await axe.run(document, { runOnly: tags });
          return JSON.stringify(violations.flatMap((rule) =>
            rule.nodes.map(({ html, failureSummary }) =>
              `${rule.id}: ${html.slice(0, 160)} ${failureSummary}`)));
        }"""
    )
    return list(json.loads(found))
