"""Whatever happens to calls that wait for an approval, each runs at most once for each approval."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import Phase, given, settings

from tests.support.approval_play import Player
from tests.support.approval_world import PaidTools
from tests.support.random_approvals import Event, histories
from tests.support.samples import sample

TOOLS = PaidTools()


@pytest.fixture(scope="module", autouse=True)
def _quiet() -> Iterator[None]:
    """Models that fail, and tools that break, are meant to be logged."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


# Shrinking takes longer than any test may.
@settings(max_examples=sample(250, 15, 6), phases=set(Phase) - {Phase.shrink, Phase.explain})
@given(histories())
def test_a_gated_call_runs_as_approved_and_at_most_once_for_each_approval(
    history: list[Event],
) -> None:
    with TemporaryDirectory() as folder:
        asyncio.run(Player(Path(folder), TOOLS).play(history))
