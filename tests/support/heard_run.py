"""A run as its clients hear it while it lives, compared with what its log and its thread say after
it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace

from tests.support.backend import Backend
from tests.support.served_run import VARIANTS, ServedRun, without_versions
from tests.support.waiting import WAIT_SECONDS
from turnstream.server.runs.reader import LoggedRun, Progress
from turnstream.server.turns.chunks import Chunk
from turnstream.server.turns.messages import AssistantTurn, Turn
from turnstream.server.turns.requests import TurnRequest

LOOK_EVERY = 8
"""Batches of chunks between two hydrations of a live run."""


class HeardRun:
    """A request's run: a reader in every wire format from its first chunk on, and somebody who
    loads the thread now and then."""

    def __init__(self, inside: Backend, request: TurnRequest, thread: str) -> None:
        self.is_taken = False
        """Whether the client has heard that there is a run."""
        self._inside, self._request, self._thread = inside, request, thread
        self._chunks: list[Chunk] = []
        self._so_far: ServedRun | None = None
        self._looks: list[Progress] = []

    async def hear(self, on_chunk: Callable[[], None]) -> ServedRun:
        """Start the run and follow it to its end. Raises what `Backend.start` raises, and
        AssertionError where its readers do not agree."""
        run = await self._inside.start(self._request, self._thread)
        self.is_taken = True
        before = await self._inside.reader.turns_before(run.header)
        self._so_far = ServedRun(run, self._chunks, before, (), self._thread)
        live = {
            variant: asyncio.create_task(self._so_far.bytes_after(variant, 0))
            for variant in VARIANTS
        }
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._follow(run, on_chunk)
                await asyncio.gather(*live.values())
        finally:
            for reader in live.values():
                reader.cancel()
        served = replace(self._so_far, kept=await self._inside.turns(self._thread))
        await self._check(served, {variant: reader.result() for variant, reader in live.items()})
        return served

    async def _follow(self, run: LoggedRun, on_chunk: Callable[[], None]) -> None:
        number = 0
        async with aclosing(run.log.read(0)) as batches:
            async for batch in batches:
                for _, chunk in batch:
                    self._chunks.append(chunk)
                    on_chunk()
                if number % LOOK_EVERY == 0:
                    self._looks.append(await self._inside.reader.progress(run))
                number += 1

    @property
    def told(self) -> Sequence[Turn]:
        """The thread as its client has it by now."""
        return self._so_far.told if self._so_far else ()

    async def _check(self, served: ServedRun, live: Mapping[str, bytes]) -> None:
        served.check_chunks()
        for variant, said in live.items():
            assert said == await served.bytes_after(variant, 0)
            await served.check_format(variant)
            await served.check_cuts(variant, range(0, len(served.chunks), 5))
        for look in self._looks:
            told = replace(served, chunks=served.chunks[: look.last]).told
            assert without_versions(_begun(look.turns)) == without_versions(told)


def _begun(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """Without an answer that has not begun."""
    *others, last = turns
    begun = not isinstance(last, AssistantTurn) or last.steps or last.finish_reason
    return turns if begun else tuple(others)
