"""`make chaos`: servers under random use while they are killed, paused and cut off.

    make chaos ARGS="--minutes 10"
    make chaos ARGS="--requests 20000 --seed 7"

Three workers share a Postgres and a Redis that are started for it; `--workers 1` is one process on
a SQLite file. The exit code is 1 if a check is violated; the seed and what was seen of the thread
are printed.
"""

import argparse
import asyncio
import pickle
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.checks import judge
from tests.chaos.play import Plan, Played, play
from tests.chaos.report import table, violations
from tests.chaos.stages import file_stage, shared_stage


def plan(arguments: Sequence[str] | None = None) -> tuple[Plan, Path | None]:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--requests", type=int)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--threads", type=int, default=200)
    parser.add_argument("--visitors", type=int, default=24, help="at once")
    parser.add_argument("--lease", type=float, default=1.5, help="seconds")
    parser.add_argument("--folder", type=Path, help="keep the history and the servers' logs here")
    named = parser.parse_args(arguments)
    if named.minutes is None and named.requests is None:
        named.minutes = 5.0
    seconds = None if named.minutes is None else named.minutes * 60
    made = Plan(
        named.seed,
        named.workers,
        named.threads,
        named.visitors,
        named.requests,
        seconds,
        named.lease,
    )
    return made, named.folder


async def perform(made: Plan, folder: Path) -> Played:
    if made.workers == 1:
        async with file_stage(folder) as alone:
            return await play(made, alone)
    async with shared_stage(folder, made.workers, made.lease_seconds) as shared:
        return await play(made, shared)


def main() -> int:
    made, kept = plan()
    print(f"seed {made.seed}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = kept or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        played = asyncio.run(perform(made, folder))
    if kept:
        (kept / "history.pickle").write_bytes(pickle.dumps(played.history))
    judged = judge(played.history)
    print("\n".join(violations(played.history, judged)))
    print(table(played, judged))
    if any(judged.values()):
        print(f"violated; again with --seed {made.seed}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
