"""A catalogue for tests of runs: tools that can be counted, held and made to fail."""

import asyncio
from collections import Counter, defaultdict
from typing import Any

from langgraph.prebuilt import ToolRuntime

from tests.support.waiting import WAIT_SECONDS
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool
from turnstream.tools.ui import render_ui_component, request_user_selection


class CountingTools:
    """Tools: `echo`, `hold` (until `release`), `report` (its progress, then as `hold`), `nap` (a
    moment), `stubborn` and `broken`.

    `calls` counts the executions of each by the word that it was given.
    """

    def __init__(self, nap_seconds: float = 0.01) -> None:
        self.calls: Counter[str] = Counter()
        self.cancelled: Counter[str] = Counter()
        self.release = asyncio.Event()
        self._nap_seconds = nap_seconds
        self._begun: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.catalogue = Catalogue(
            (
                self._echo(),
                self._hold(),
                self._report(),
                self._nap(),
                self._stubborn(),
                self._broken(),
            ),
            (render_ui_component, request_user_selection),
        )

    async def begun(self, word: str) -> None:
        """Wait until a tool runs with this word."""
        async with asyncio.timeout(WAIT_SECONDS):
            await self._begun[word].wait()

    def _begin(self, word: str) -> None:
        self.calls[word] += 1
        self._begun[word].set()

    def _echo(self) -> Any:
        @real_tool(client_fields=["word"])
        async def echo(word: str) -> dict[str, Any]:
            """Say a word back.

            Args:
                word: The word.
            """
            self._begin(word)
            return {"word": word}

        return echo

    def _hold(self) -> Any:
        @real_tool(client_fields=["word"])
        async def hold(word: str) -> dict[str, Any]:
            """Say a word back when the test lets it.

            Args:
                word: The word.
            """
            self._begin(word)
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                self.cancelled[word] += 1
                raise
            return {"word": word}

        return hold

    def _report(self) -> Any:
        @real_tool(client_fields=["word"])
        async def report(word: str, runtime: ToolRuntime[Any, Any]) -> dict[str, Any]:
            """Say how far the work is, and the word back when the test lets it.

            Args:
                word: The word.
                runtime: Where it is said.
            """
            self._begin(word)
            runtime.emit_output_delta({"written": f"half of {word}"})
            await self.release.wait()
            return {"word": word}

        return report

    def _nap(self) -> Any:
        @real_tool(client_fields=["word"])
        async def nap(word: str) -> dict[str, Any]:
            """Say a word back after a moment.

            Args:
                word: The word.
            """
            self._begin(word)
            await asyncio.sleep(self._nap_seconds)
            return {"word": word}

        return nap

    def _stubborn(self) -> Any:
        @real_tool(client_fields=["word"])
        async def stubborn(word: str) -> dict[str, Any]:
            """Wait on through the first cancellation, as careless code does.

            Args:
                word: The word.
            """
            self._begin(word)
            while not self.release.is_set():
                try:
                    await self.release.wait()
                except asyncio.CancelledError:
                    self.cancelled[word] += 1
                    if self.cancelled[word] > 1:
                        raise
            return {"word": word}

        return stubborn

    def _broken(self) -> Any:
        @real_tool(client_fields=["word"])
        async def broken(word: str) -> dict[str, Any]:
            """Fail.

            Args:
                word: The word.
            """
            self._begin(word)
            raise RuntimeError("a secret of the server")

        return broken
