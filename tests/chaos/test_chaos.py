"""A play for a few seconds with one seed; `make test-long` has longer ones, `make chaos` any."""

from pathlib import Path

import pytest

from tests.chaos.checks import judge
from tests.chaos.play import Plan, play
from tests.chaos.report import table, violations
from tests.chaos.stages import Stage, file_stage, shared_stage
from tests.support.samples import sample

pytestmark = pytest.mark.full


@pytest.mark.long
@pytest.mark.timeout(sample(600, 300))
async def test_one_server_that_is_killed_and_paused_keeps_the_laws(tmp_path: Path) -> None:
    plan = Plan(
        seed=3,
        threads=sample(100, 12),
        visitors=sample(16, 6),
        seconds=sample(60, 3),
        fault_gap_seconds=sample((2, 6), (1, 2)),
    )
    async with file_stage(tmp_path) as stage:
        await keeps_the_laws(plan, stage)


@pytest.mark.long
@pytest.mark.timeout(sample(600, 300))
async def test_three_workers_that_fail_in_turns_keep_the_laws(tmp_path: Path) -> None:
    plan = Plan(
        seed=4,
        workers=3,
        threads=sample(200, 12),
        visitors=sample(24, 6),
        seconds=sample(60, 4),
        lease_seconds=1.5,
        fault_gap_seconds=sample((0.5, 3), (0.3, 1)),
    )
    async with shared_stage(tmp_path, plan.workers, plan.lease_seconds) as stage:
        await keeps_the_laws(plan, stage)


async def keeps_the_laws(plan: Plan, stage: Stage) -> None:
    played = await play(plan, stage)
    judged = judge(played.history)
    told = "\n".join(violations(played.history, judged))
    assert not any(judged.values()), f"{told}\n{table(played, judged)}"
    assert played.history.faults
    assert played.history.readings
