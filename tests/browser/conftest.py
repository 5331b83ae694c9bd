"""Chromium, once for all tests; a server and a visit for each."""

import inspect
import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from tests.browser.scripted_wire import ScriptedWire, scripted_wire
from tests.browser.site import NO_OTHER_HOST, Account, Profile, Visit
from tests.support import serving as serving_module
from tests.support.chromium import CHROMIUM, INSTALL
from tests.support.counting_tools import CountingTools
from tests.support.endpoint import StrictEndpoint
from tests.support.samples import repeat, sample
from tests.support.serving import Client, endpoint_settings, serving, settings

FOLDER = Path(__file__).parent
FLAGS = (
    NO_OTHER_HOST,
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Fewer processes to ask for each file and each picture; one that waits for a next page costs as
    # much as one that shows a page.
    "--in-process-gpu",
    "--enable-features=NetworkServiceInProcess2",
    "--disable-features=SpareRendererForSitePerProcess,MediaRouter,OptimizationHints,Translate",
)
LOOKS = ("desktop light", "phone dark")


def _repeated(first: str, *others: str) -> pytest.MarkDecorator:
    """Looks that a test runs in; those behind the first repeat it."""
    return pytest.mark.parametrize("look", [first, *map(repeat, others)])


both_looks = _repeated(*LOOKS)
both_colours = _repeated("desktop light", "desktop dark")
all_looks = _repeated("desktop light", "desktop dark", "phone light", "phone dark")
both_layouts = pytest.mark.parametrize("look", LOOKS)
"""For a test of something that is laid out in another way on a phone."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One event loop for browser and servers; without Chromium a skip, but never under CI."""
    for item in items:
        if not item.path.is_relative_to(FOLDER):
            continue
        if inspect.iscoroutinefunction(getattr(item, "function", None)):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
        if CHROMIUM is None and not os.environ.get("CI") and "browser" in _fixtures(item):
            item.add_marker(pytest.mark.skip(reason=f"there is no Chromium: {INSTALL}"))


def _fixtures(item: pytest.Item) -> list[str]:
    return list(getattr(item, "fixturenames", []))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    assert CHROMIUM is not None, f"there is no Chromium: {INSTALL}"
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield launched
        await launched.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def profiles() -> dict[str, Profile]:
    """A profile for each look, used by one test after the other."""
    return {}


@dataclass
class Visitors:
    """Opens tabs on a server, each in a browser profile of its own unless it is a second tab."""

    browser: Browser
    account: Account
    exit: AsyncExitStack
    profiles: dict[str, Profile] | None
    """Profiles to take, one for each look; None gives each visitor a new one."""
    used: set[str] = field(default_factory=set)

    async def __call__(self, url: str, look: str = "desktop light", **options: Any) -> Visit:
        if self.profiles is None or options or look in self.used:
            profile = await Profile.new(self.browser, look, self.account, url, **options)
            self.exit.push_async_callback(profile.context.close)
            return Visit(await profile.context.new_page(), url)
        self.used.add(look)
        profile = (
            self.profiles.pop(look)
            if look in self.profiles
            else await Profile.new(self.browser, look, self.account, url)
        )
        self.exit.push_async_callback(self._keep, profile, look)
        return await profile.visit(self.account, url)

    async def _keep(self, profile: Profile, look: str) -> None:
        assert self.profiles is not None
        await profile.leave()
        self.profiles[look] = profile

    async def beside(self, visit: Visit) -> Visit:
        """A second tab of the same profile."""
        return Visit(await visit.page.context.new_page(), visit.url)


own_profile = pytest.mark.own_profile


@pytest_asyncio.fixture(loop_scope="session")
async def visitors(
    browser: Browser, profiles: dict[str, Profile], request: pytest.FixtureRequest
) -> AsyncIterator[Visitors]:
    account = Account()
    alone = request.node.get_closest_marker("own_profile")
    async with AsyncExitStack() as stack:
        yield Visitors(browser, account, stack, None if alone else profiles)
    account.check()


@pytest.fixture(scope="session")
def page_port() -> int:
    """The port of one test's server after the other: so the browser has the page's files."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture(autouse=True)
def _page_port(page_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving_module, "usual_port", page_port)


@pytest_asyncio.fixture(loop_scope="session")
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """A server on the offline model at full speed."""
    async with serving(settings(tmp_path / "t.db")) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def slow_client(tmp_path: Path) -> AsyncIterator[Client]:
    """A server whose model takes its time over each word: long enough to act in mid-turn."""
    async with serving(settings(tmp_path / "t.db", offline_word_seconds=0.03)) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def endpoint() -> AsyncIterator[StrictEndpoint]:
    """What plays the model of `scripted`."""
    async with StrictEndpoint() as endpoint:
        yield endpoint
        assert endpoint.refused == []


@pytest_asyncio.fixture(loop_scope="session")
async def scripted(tmp_path: Path, endpoint: StrictEndpoint) -> AsyncIterator[Client]:
    """A server on a model that says what the test has written down."""
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def counting_tools() -> CountingTools:
    """Tools that can be held and made to fail."""
    return CountingTools()


@pytest_asyncio.fixture(loop_scope="session")
async def counting_client(
    tmp_path: Path, endpoint: StrictEndpoint, counting_tools: CountingTools
) -> AsyncIterator[Client]:
    """A server with those tools, on a scripted model."""
    counting = endpoint_settings(tmp_path / "t.db", endpoint)
    async with serving(counting, counting_tools.catalogue) as client:
        yield client


OTHERS = (pytest.param(LOOKS[1], marks=pytest.mark.long),)


@pytest.fixture(params=[LOOKS[0], *OTHERS[: sample(1, 0)]])
def look(request: pytest.FixtureRequest) -> str:
    """Size and colours; a test that is about them asks for more with `parametrize`."""
    return str(request.param)


@pytest_asyncio.fixture(loop_scope="session")
async def visit(client: Client, visitors: Visitors, look: str) -> Visit:
    """The page on the fast server. Tabs go first, then the server: hence the order."""
    return await (await visitors(client.url, look)).open()


@pytest_asyncio.fixture(loop_scope="session")
async def slow_visit(slow_client: Client, visitors: Visitors, look: str) -> Visit:
    return await (await visitors(slow_client.url, look)).open()


@pytest_asyncio.fixture(loop_scope="session")
async def scripted_visit(scripted: Client, visitors: Visitors, look: str) -> Visit:
    return await (await visitors(scripted.url, look)).open()


@pytest_asyncio.fixture(loop_scope="session")
async def counting_visit(counting_client: Client, visitors: Visitors, look: str) -> Visit:
    return await (await visitors(counting_client.url, look)).open()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def page_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    """A server that has nothing to do but to serve the page: one for all tests."""
    async with serving(settings(tmp_path_factory.mktemp("page") / "t.db")) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def wired(page_server: Client, visitors: Visitors, look: str) -> Visit:
    """A tab, for the page whose calls `wire` answers."""
    return await visitors(page_server.url, look)


@pytest_asyncio.fixture(loop_scope="session")
async def wire(wired: Visit) -> AsyncIterator[ScriptedWire]:
    async with scripted_wire(wired.page) as wire:
        yield wire
