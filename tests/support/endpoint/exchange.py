"""One request, and what became of it."""

import asyncio
from dataclasses import dataclass, field

from tests.support.endpoint.refusal import Body, Refusal


@dataclass
class Exchange:
    body: Body = field(default_factory=dict)
    refusal: Refusal | None = None
    completed: bool = False
    """All of the reply was sent, whatever its end; False: the client left before."""
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def open(self) -> bool:
        return self.arrived.is_set() and not self.closed.is_set()

    def arrive(self, body: Body) -> None:
        self.body = body
        self.arrived.set()

    def close(self, *, completed: bool) -> None:
        """The first close counts."""
        if not self.closed.is_set():
            self.completed = completed
            self.closed.set()
