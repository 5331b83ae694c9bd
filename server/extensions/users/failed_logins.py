"""Failed logins by the client's address: whoever tries credentials too often has to wait."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from turnstream.server.callers.addresses import client_at
from turnstream.server.callers.rights import LimitExceeded
from turnstream.server.extensions.users.faults import KeyNotAskedFor

WINDOW_SECONDS = 60.0
MAX_ADDRESSES = 10_000
"""Addresses that are remembered; beyond that the ones whose window began first are forgotten."""


@dataclass(slots=True)
class _Window:
    began: float
    """On the monotonic clock."""
    free: asyncio.Semaphore
    """Has a slot for each failure that is still allowed, less the attempts under way."""
    failures: int = 0
    attempts: int = 0
    """Attempts under way, and those that wait for a slot."""


@dataclass(slots=True)
class FailedLogins:
    """`most` failures in a minute, which begins with the first; of an IPv6 address its /64."""

    most: int
    _windows: OrderedDict[str, _Window] = field(default_factory=OrderedDict)
    """By network; the oldest window first."""

    @asynccontextmanager
    async def attempt(self, address: str) -> AsyncIterator[None]:
        """Count a failure unless the block ends without an exception, or with KeyNotAskedFor.
        Raises LimitExceeded if the address has failed too often.

        So many attempts at most are under way as could still fail: further ones wait, so that
        parallel attempts never look at more credentials than `most`.
        """
        network = client_at(address)
        window = self._window(network)
        window.attempts += 1
        try:
            await window.free.acquire()
            self._check(window)
            try:
                yield
            except KeyNotAskedFor:
                window.free.release()
                raise
            except BaseException:
                window.failures += 1
                self._pass_on_refusal(window)
                raise
            window.free.release()
        finally:
            window.attempts -= 1
            self._forget_unneeded(network, window)

    def __len__(self) -> int:
        """The number of addresses that are remembered."""
        return len(self._windows)

    def _check(self, window: _Window) -> None:
        if window.failures >= self.most:
            self._pass_on_refusal(window)
            left = window.began + WINDOW_SECONDS - time.monotonic()
            raise LimitExceeded("max_failed_logins", self.most, max(1.0, left))

    def _pass_on_refusal(self, window: _Window) -> None:
        """Once the limit is reached, let the next attempt that waits find that out."""
        if window.failures >= self.most:
            window.free.release()

    def _window(self, network: str) -> _Window:
        """The address's window, a new one if the last is over; drops all that are over."""
        now = time.monotonic()
        while self._windows and next(iter(self._windows.values())).began <= now - WINDOW_SECONDS:
            self._windows.popitem(last=False)
        window = self._windows.get(network)
        if window is None:
            window = self._windows[network] = _Window(now, asyncio.Semaphore(self.most))
        return window

    def _forget_unneeded(self, network: str, window: _Window) -> None:
        if not window.attempts and not window.failures and self._windows.get(network) is window:
            del self._windows[network]
        while len(self._windows) > MAX_ADDRESSES:
            self._windows.popitem(last=False)
