"""The order of a history's states, with which `useStream` finds what a message follows."""

import json
import random
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from turnstream.server.formats.langgraph.api.states import HistoryQuery, history_json
from turnstream.server.formats.langgraph.snapshot import SavedThread

Path = tuple[str, ...]
"""The ids of a branch's messages."""


def branched(chance: random.Random) -> list[Path]:
    """The branches of a thread that was edited at random, the thread itself first, then the latest;
    none is the beginning of another."""
    numbers = iter(range(1000))
    paths: list[Path] = [tuple(f"m{next(numbers)}" for _ in range(6))]
    for _ in range(chance.randint(1, 8)):
        left = chance.choice(paths)
        kept = left[: chance.randrange(len(left))]
        paths.insert(0, (*kept, *(f"m{next(numbers)}" for _ in range(chance.randint(1, 4)))))
    return paths


async def history(paths: Sequence[Path], limit: int = 1000) -> list[dict[str, Any]]:
    async def branches() -> AsyncIterator[SavedThread]:
        for place, path in enumerate(paths):
            messages = [{"id": id} for id in path]
            yield SavedThread("t", (), messages, head=str(place) if place else None)

    query = HistoryQuery(limit)
    states: list[dict[str, Any]] = json.loads(await history_json(branches(), query, ""))
    return states


def ids(state: dict[str, Any]) -> Path:
    return tuple(message["id"] for message in state["values"]["messages"])


def parent(state: dict[str, Any]) -> str | None:
    found: str | None = (state["parent_checkpoint"] or {}).get("checkpoint_id")
    return found


@pytest.mark.parametrize("seed", range(50))
async def test_the_last_state_with_a_message_is_the_one_that_ends_with_it(seed: int) -> None:
    paths = branched(random.Random(seed))
    length = len(paths[0]) + 1
    for limit in (1000, length, length + 3):
        states = await history(paths, limit)
        for place, id in enumerate(paths[0]):
            (*_, seen) = [state for state in states if id in ids(state)]
            assert ids(seen) == paths[0][: place + 1]


@pytest.mark.parametrize("seed", range(50))
async def test_the_first_state_behind_each_leads_to_the_thread(seed: int) -> None:
    paths = branched(random.Random(seed))
    for limit in (1000, len(paths[0]) + 3):
        states = await history(paths, limit)
        state, at = states[0], None
        while behind := [state for state in states if parent(state) == at]:
            state = behind[0]
            at = state["checkpoint"]["checkpoint_id"]
        assert ids(state) == ids(states[0]) == paths[0]


async def test_a_branch_that_goes_on_where_the_thread_ends_is_left_out() -> None:
    states = await history([("a", "b"), ("a", "b", "c"), ("a", "d")])
    assert [ids(state) for state in states] == [("a", "b"), ("a", "d"), ("a",), ()]


@pytest.mark.parametrize("seed", range(50))
async def test_a_history_has_each_state_of_each_branch_once(seed: int) -> None:
    paths = branched(random.Random(seed))
    found = [ids(state) for state in await history(paths)]
    assert len(found) == len(set(found))
    assert set(found) == {path[:count] for path in paths for count in range(len(path) + 1)}
