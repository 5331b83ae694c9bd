"""Tools whose calls a person must approve, which can be counted and held."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.backend import THREAD, Backend
from tests.support.counting_tools import CountingTools
from tests.support.run_chunks import RunChunks
from turnstream.server.turns.requests import ApprovalAnswer, TurnRequest
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool


class GatedTools(CountingTools):
    """Beside those of `CountingTools`: `pay`, `pay_slowly` (until `release`), and `spend`, which
    needs an approval from 10 on. `ledger`: a file that gets a line for each payment."""

    def __init__(self, ledger: Path | None = None) -> None:
        super().__init__()
        self.ledger = ledger
        self.catalogue = Catalogue(
            (*self.catalogue.real, self._pay(), self._pay_slowly(), self._spend()),
            self.catalogue.ui,
        )

    def _paid(self, word: str) -> None:
        self._begin(word)
        if self.ledger:
            with self.ledger.open("a") as file:
                file.write(f"{word}\n")

    def _pay(self) -> Any:
        @real_tool(client_fields=["paid"], needs_approval=True)
        async def pay(word: str) -> dict[str, Any]:
            """Pay.

            Args:
                word: For what.
            """
            self._paid(word)
            return {"paid": word, "account": "for the model alone"}

        return pay

    def _pay_slowly(self) -> Any:
        @real_tool(client_fields=["paid"], needs_approval=True)
        async def pay_slowly(word: str) -> dict[str, Any]:
            """Pay when the test lets it.

            Args:
                word: For what.
            """
            self._paid(word)
            await self.release.wait()
            return {"paid": word}

        return pay_slowly

    def _spend(self) -> Any:
        def is_much(args: Mapping[str, Any], user: Mapping[str, Any]) -> bool:
            if args["amount"] < 0:
                raise RuntimeError("a secret of the server")
            return bool(args["amount"] >= 10 and user["identity"] != "chief")

        @real_tool(client_fields=["spent"], needs_approval=is_much)
        async def spend(amount: int) -> dict[str, Any]:
            """Spend money.

            Args:
                amount: How much.
            """
            self._paid(str(amount))
            return {"spent": amount}

        return spend


def approvals(*items: tuple[Any, ...], **fields: Any) -> TurnRequest:
    """Decisions: `(call id, approved, reason?, args?, approval id?)`."""
    return TurnRequest(approvals=tuple(ApprovalAnswer(*item) for item in items), **fields)


async def decide(backend: Backend, *items: tuple[Any, ...], thread: str = THREAD) -> RunChunks:
    """The run that the decisions start, to its end."""
    return RunChunks(await backend.turn(approvals(*items), thread))
