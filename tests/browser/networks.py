"""The network of one tab: slow, held up, or cut off. Other tabs of its browser keep theirs."""

import asyncio
from re import Pattern

from playwright.async_api import CDPSession, Route

from tests.browser.site import Visit

SLOW_MS = 300.0
"""To the first byte of each answer, on a slow one."""


class Network:
    def __init__(self, devtools: CDPSession) -> None:
        self._devtools = devtools

    async def cut(self) -> None:
        await self._is(offline=True)

    async def slow(self) -> None:
        """As in a train: 20 kB a second at the most."""
        await self._is(latency=SLOW_MS, bytes_a_second=20_000)

    async def whole(self) -> None:
        await self._is()

    async def _is(
        self, *, offline: bool = False, latency: float = 0, bytes_a_second: int = -1
    ) -> None:
        rates = dict.fromkeys(("downloadThroughput", "uploadThroughput"), bytes_a_second)
        given = {"offline": offline, "latency": latency, **rates}
        await self._devtools.send("Network.emulateNetworkConditions", given)


async def network_of(visit: Visit) -> Network:
    devtools = await visit.devtools()
    await devtools.send("Network.enable")
    return Network(devtools)


async def reconnect(visit: Visit) -> None:
    """The browser says that it is online: a tab then tries again what has failed."""
    await visit.page.evaluate("() => { dispatchEvent(new Event('online')) }")


class Held:
    """A request of the page that goes on, or fails, when the test lets it."""

    def __init__(self, *, fails: bool) -> None:
        self.arrived, self.go_on = asyncio.Event(), asyncio.Event()
        self._fails = fails

    async def __call__(self, route: Route) -> None:
        self.arrived.set()
        await self.go_on.wait()
        await (route.abort() if self._fails else route.continue_())


async def hold(visit: Visit, address: str | Pattern[str], *, fails: bool = False) -> Held:
    """The next request to this address."""
    held = Held(fails=fails)
    await visit.page.route(address, held, times=1)
    return held
