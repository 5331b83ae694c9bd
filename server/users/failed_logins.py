"""Who tries credentials too often: failed logins by the client's address."""

import time
from collections import OrderedDict
from dataclasses import dataclass, field

from server.users.client_address import client_at
from server.users.rights import LimitExceeded

WINDOW_SECONDS = 60.0
MAX_ADDRESSES = 10_000
"""Addresses that are remembered; beyond that the ones whose window began first are forgotten."""


@dataclass(slots=True)
class FailedLogins:
    """`most` failures in a minute, which begins with the first; of an IPv6 address its /64."""

    most: int
    _windows: OrderedDict[str, tuple[float, int]] = field(default_factory=OrderedDict)
    """By network: when the window began, on the monotonic clock, and the failures in it. The
    oldest window first."""

    def check(self, address: str) -> None:
        """Raises LimitExceeded if the address has failed too often."""
        began, failures = self._window(client_at(address))
        if failures >= self.most:
            left = began + WINDOW_SECONDS - time.monotonic()
            raise LimitExceeded("max_failed_logins", self.most, max(1.0, left))

    def count(self, address: str) -> None:
        """Note a failure."""
        network = client_at(address)
        began, failures = self._window(network)
        self._windows[network] = (began, failures + 1)
        while len(self._windows) > MAX_ADDRESSES:
            self._windows.popitem(last=False)

    def __len__(self) -> int:
        """How many addresses are remembered."""
        return len(self._windows)

    def _window(self, network: str) -> tuple[float, int]:
        """The address's window, a new one if the last is over; drops all that are over."""
        now = time.monotonic()
        while self._windows and next(iter(self._windows.values()))[0] <= now - WINDOW_SECONDS:
            self._windows.popitem(last=False)
        return self._windows.get(network, (now, 0))
