"""The server of a random history of approvals: it can be cut off at any instant, and lives on from
what its disk held then."""

import asyncio
import os
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.support.backend import Backend, backend
from tests.support.gated_tools import GatedTools
from tests.support.random_approvals import Cut
from tests.support.scripted_model import ScriptedModel
from turnstream.graphs.limits import Limits
from turnstream.server.storage.checkpointer import SqliteCheckpointer
from turnstream.server.storage.store import SqliteStore

LIMITS = Limits(max_steps=100, max_identical_calls=100)


class Moment:
    """The instant at which a run is cut off; nothing happens between it and `strike`."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self._cut: Cut | None = None
        self._left = 0
        self._strike: Callable[[], None] = lambda: None

    def arm(self, cut: Cut | None, strike: Callable[[], None]) -> None:
        """Of the run that begins now. None: it is left alone."""
        self.reached = asyncio.Event()
        self._cut, self._strike = cut, strike
        self._left = cut.after if cut else 0

    def disarm(self) -> bool:
        """Whether it has come."""
        self._cut = None
        return self.reached.is_set()

    def passed(self, what: Literal["payment", "write", "chunk"]) -> None:
        if self._cut is None or self._cut.at != what or self.reached.is_set():
            return
        self._left -= 1
        if self._left < 0:
            self._strike()
            self.reached.set()

    @contextmanager
    def watches_writes(self) -> Iterator[None]:
        """It passes before and after every write to a database."""
        methods = ((SqliteCheckpointer, "aput"), (SqliteCheckpointer, "aput_writes"))
        with pytest.MonkeyPatch.context() as patch:
            for owner, name in (*methods, (SqliteStore, "write")):
                patch.setattr(owner, name, self._watched(getattr(owner, name)))
            yield

    def _watched(self, method: Callable[..., Any]) -> Callable[..., Any]:
        async def watched(*given: Any, **named: Any) -> Any:
            self.passed("write")
            written = await method(*given, **named)
            self.passed("write")
            return written

        return watched


class PaidTools(GatedTools):
    """They tell `on_payment` of each payment. To make them takes long, so that they serve several
    servers, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.on_payment: Callable[[], None] = lambda: None

    def serve(self, ledger: Path, on_payment: Callable[[], None]) -> None:
        self.ledger, self.on_payment = ledger, on_payment
        self.release = asyncio.Event()

    def _paid(self, word: str) -> None:
        super()._paid(word)
        self.on_payment()


@dataclass(frozen=True)
class World:
    """A process of the server, and its disk: the database, and the ledger of the payments."""

    folder: Path
    tools: PaidTools
    model: ScriptedModel
    inside: Backend

    @property
    def paid(self) -> Counter[str]:
        ledger = self.folder / "ledger"
        return Counter(ledger.read_text().split() if ledger.exists() else ())

    def copy_to(self, folder: Path) -> None:
        """Its disk as it is at this instant."""
        shutil.copytree(self.folder, folder)


@asynccontextmanager
async def world(folder: Path, tools: PaidTools, moment: Moment) -> AsyncIterator[World]:
    """The server on a disk."""
    os.makedirs(folder, exist_ok=True)
    tools.serve(folder / "ledger", lambda: moment.passed("payment"))
    model = ScriptedModel.of()
    async with backend(
        folder / "t.db", model, catalogue=tools.catalogue, limits=LIMITS, audits=True
    ) as inside:
        yield World(folder, tools, model, inside)
