"""What grows with use: the list with the threads in it, a thread with its turns and branches.

Each operation at several sizes, in milliseconds (medians), and as the ratio of the last size to the
first. The list is paged by key and should stay flat; of a long thread a read or a turn may grow as
the thread does, and no faster. No HTTP: the server's own work alone, with real checkpoints.
"""

import asyncio
import gc
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sqlalchemy import Connection, insert

from tests.support.backend import Backend, backend, chunks_of, chunks_until, key_of, message
from tests.support.long_threads import history
from turnstream.graphs.offline import OfflineChatModel
from turnstream.server.callers.principal import Principal
from turnstream.server.formats import DEFAULT
from turnstream.server.runs.retention import DAY_SECONDS
from turnstream.server.storage.store import SqliteStore
from turnstream.server.storage.tables import activities, threads
from turnstream.server.turns.chunks import TextDelta
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.pages import WHOLE, TurnPage
from turnstream.server.turns.requests import Branch, TurnRequest
from turnstream.tools.threads import beside_loop

LISTED = (1_000, 10_000, 100_000)
"""Threads of the whole server."""
OWN = (100, 1_000, 10_000)
"""Those of one user among them."""
TURNS = (50, 500, 5_000)
BRANCHES = (10, 100, 1_000)
REPEATS = 9

ANN = Principal("ann")
OLD = "2020-01-01T00:00:00.000+00:00"

Operation = Callable[[], Awaitable[Any]]


def fill(connection: Connection, owner: str, first: int, count: int) -> None:
    """Threads in the list, as runs that have finished leave them."""
    ids = [f"filled-{number}" for number in range(first, first + count)]
    entry = {"owner": owner, "title": "Hello", "created_at": OLD, "updated_at": OLD}
    ended = {"run_id": "r", "run_state": "finished", "graph": "test"}
    connection.execute(insert(threads), [{**entry, **ended, "id": id} for id in ids])
    connection.execute(insert(activities), [{"owner": owner, "thread_id": id} for id in ids])


async def timed(operation: Operation, repeats: int = REPEATS) -> float:
    """Milliseconds."""
    taken = []
    for _ in range(repeats):
        gc.collect()
        start = time.perf_counter()
        await operation()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1000


@contextmanager
def watched(held: list[float]) -> Iterator[None]:
    """The CPU seconds of each piece of work that the loop does at once."""
    run = asyncio.Handle._run

    def timed_run(handle: asyncio.Handle) -> None:
        start = time.thread_time()
        run(handle)
        held.append(time.thread_time() - start)

    with patch.object(asyncio.Handle, "_run", timed_run):
        yield


async def held(operation: Operation, repeats: int = REPEATS) -> tuple[float, float]:
    """Milliseconds of the event loop: the longest piece, and all."""
    longest, whole = [], []
    for _ in range(repeats):
        gc.collect()
        pieces: list[float] = []
        await asyncio.sleep(0)
        with watched(pieces):
            await asyncio.create_task(_awaited(operation))
        longest.append(max(pieces))
        whole.append(sum(pieces))
    return statistics.median(longest) * 1000, statistics.median(whole) * 1000


async def _awaited(operation: Operation) -> None:
    await operation()


def report(what: str, sizes: Sequence[int], rows: Sequence[Mapping[str, float]]) -> None:
    print(f"{what}: {' / '.join(f'{size:,}' for size in sizes)}")
    for name in rows[0]:
        values = [row[name] for row in rows]
        shown = " / ".join(f"{value:.2f}" for value in values)
        print(f"  {name}, ms: {shown}; ratio {values[-1] / values[0]:.2f}")


async def list_grows(folder: Path) -> None:
    rows, filled, own, deleted = [], 0, 0, iter(range(OWN[0]))
    async with backend(folder / "list.db", OfflineChatModel(word_seconds=0)) as inside:
        store = store_of(inside)
        for all_threads, all_own in zip(LISTED, OWN, strict=True):
            others = filled - own
            await store.write(fill, "others", others, all_threads - all_own - others)
            await store.write(fill, ANN.owner, own, all_own - own)
            filled, own = all_threads, all_own
            rows.append(await of_the_list(inside, store, deleted))
    report("threads in the list, a tenth of them one user's", LISTED, rows)


async def of_the_list(
    inside: Backend, store: SqliteStore, filled: Iterator[int]
) -> dict[str, float]:
    first = await store.page(ANN.owner, 1)
    newest, _, place = (first.cursor or "").partition(".")
    deep = f"{newest}.{int(place) - OWN[0] // 2}"

    async def post() -> None:
        await inside.turn(message(), None, ANN)

    async def delete() -> None:
        await inside.runs.delete(ThreadKey(ANN.owner, f"filled-{next(filled)}"))

    async def old() -> None:
        await store.idle(time.time() - DAY_SECONDS, time.time(), 50)

    return {
        "first page": await timed(lambda: store.page(ANN.owner, 30)),
        "a later page": await timed(lambda: store.page(ANN.owner, 30, deep)),
        "page of a state": await timed(lambda: store.page(ANN.owner, 30, state="waiting")),
        "post a new thread": await timed(post),
        "delete a thread": await timed(delete),
        "look for 50 old threads": await timed(old),
    }


async def thread_grows(folder: Path) -> None:
    rows = []
    async with backend(folder / "turns.db", OfflineChatModel(word_seconds=0)) as inside:
        for turns in TURNS:
            thread = f"of-{turns}-turns"
            await inside.checkpoints.add(key_of(thread), history(turns))
            rows.append(await of_a_thread(inside, thread))
    report("turns of a thread", TURNS, rows)


async def of_a_thread(inside: Backend, thread: str) -> dict[str, float]:
    state = await inside.state(thread)
    newest = TurnPage(50)
    ids = [turn.id for turn in inside.reader.shown(state)]
    middle = TurnPage(50, before=ids[len(ids) // 2])

    async def hydrate(page: TurnPage) -> None:
        state = await inside.state(thread)
        shown = await beside_loop(len(state.messages), lambda: inside.reader.page(state, page)[0])
        await beside_loop(len(shown), lambda: DEFAULT.snapshot(shown))

    async def post() -> None:
        await inside.turn(message(), thread)

    async def first_word() -> float:
        """Milliseconds."""
        gc.collect()
        start = time.perf_counter()
        run = await inside.start(message(), thread)
        await chunks_until(run, lambda chunks: any(isinstance(c, TextDelta) for c in chunks))
        taken = time.perf_counter() - start
        await chunks_of(run)
        return taken * 1000

    page_longest, page_whole = await held(lambda: hydrate(newest))
    all_longest, all_whole = await held(lambda: hydrate(WHOLE), 3)
    turn_longest, turn_whole = await held(post, 3)
    return {
        "hydrate the newest 50 messages": await timed(lambda: hydrate(newest)),
        "hydrate 50 from the middle": await timed(lambda: hydrate(middle)),
        "hydrate all": await timed(lambda: hydrate(WHOLE), 3),
        "a turn": await timed(post, 3),
        "its first word": statistics.median([await first_word() for _ in range(3)]),
        "of that on the event loop, of the newest 50": page_whole,
        "of that on the event loop, of all": all_whole,
        "of that on the event loop, of a turn": turn_whole,
        "in one piece, of the newest 50": page_longest,
        "in one piece, of all": all_longest,
        "in one piece, of a turn": turn_longest,
        "delete": await timed(lambda: inside.runs.delete(key_of(thread)), 1),
    }


async def branches_grow(folder: Path) -> None:
    """A thread whose last answer was made anew again and again: its checkpoints add up."""
    rows, thread, made = [], "branches", 0
    again = TurnRequest(branch=Branch("regenerate", None))
    async with backend(folder / "branches.db", OfflineChatModel(word_seconds=0)) as inside:

        async def branch() -> None:
            await inside.turn(again, thread)

        for words in ("First", "Second"):
            await inside.turn(message(words), thread)
        for branches in BRANCHES:
            while made < branches:
                await branch()
                made += 1
            rows.append(
                {
                    "load": await timed(lambda: inside.state(thread)),
                    "one more branch": await timed(branch),
                }
            )
        deleted = await timed(lambda: inside.runs.delete(key_of(thread)), 1)
    report("branches of a thread", BRANCHES, rows)
    print(f"  delete it at the end, ms: {deleted:.2f}")


def store_of(inside: Backend) -> SqliteStore:
    assert isinstance(inside.store, SqliteStore)
    return inside.store


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        await list_grows(Path(folder))
        await thread_grows(Path(folder))
        await branches_grow(Path(folder))


if __name__ == "__main__":
    asyncio.run(main())
