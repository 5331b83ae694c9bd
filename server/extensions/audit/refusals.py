"""Which refused requests are recorded: anybody can cause them, so only so many a minute.

What is left out is counted, by address, and the counts are recorded when the minute is over.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from turnstream.server.callers.addresses import client_at
from turnstream.server.turns.audit_records import AuditRecord

WINDOW_SECONDS = 60.0
MOST_OF_ONE = 10
"""Refusals of one address that are recorded in a minute; of IPv6, of its /64."""
MOST_OF_ALL = 100
MAX_ADDRESSES = 100
"""Addresses whose refusals are counted apart in a minute; those of the rest are counted together,
without an address."""
LEFT_OUT = "left_out"


class Refusals:
    """`record` takes those that are to be written."""

    def __init__(self, record: Callable[[AuditRecord], None]) -> None:
        self._record = record
        self._recorded: Counter[str] = Counter()
        self._left_out: Counter[str | None] = Counter()
        self._window: asyncio.TimerHandle | None = None

    def add(self, refusal: AuditRecord) -> None:
        if self._window is None:
            self._window = asyncio.get_running_loop().call_later(WINDOW_SECONDS, self.end_window)
        client = client_at(refusal.address or "")
        if self._recorded[client] < MOST_OF_ONE and self._recorded.total() < MOST_OF_ALL:
            self._recorded[client] += 1
            self._record(replace(refusal, address=(refusal.address or "")[:64] or None))
        elif client in self._left_out or len(self._left_out) < MAX_ADDRESSES:
            self._left_out[client] += 1
        else:
            self._left_out[None] += 1

    def end_window(self) -> None:
        """Record how many were left out; the next refusal begins another minute."""
        if self._window:
            self._window.cancel()
            self._window = None
        for client, count in self._left_out.items():
            self._record(AuditRecord("refusal", outcome=LEFT_OUT, count=count, address=client))
        self._left_out.clear()
        self._recorded.clear()
