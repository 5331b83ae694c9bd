"""The cost of a turn of the built-in graph beside an earlier commit.

    make bench ARGS=before BEFORE=a-commit

The commit is checked out beside; both servers run from this environment, on one model server. Its
folders must be parts of the package `turnstream`, as they are here. The turn is that of
`tests.benchmarks.turns`.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from tests.benchmarks.pairs import report_difference
from tests.benchmarks.processes import PROJECT, SERVER, Process, started
from tests.benchmarks.turns import cpu_of_turns


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        git = ("git", "-C", str(PROJECT), "worktree")
        place = Path(folder, "before")
        subprocess.run([*git, "add", "--quiet", "--detach", place, commit], check=True)
        try:
            yield place
        finally:
            subprocess.run([*git, "remove", "--force", place], check=True)


def importable(earlier: Path) -> Path:
    """A folder to be searched first: in it a checkout is the package `turnstream`."""
    place = earlier / "build" / "importable"
    package = place / "turnstream"
    package.mkdir(parents=True, exist_ok=True)
    for part in ("server", "graphs", "tools", "static", ".package/__init__.py"):
        link = package / Path(part).name
        if not link.is_symlink() and (earlier / part).exists():
            link.symlink_to(earlier / part)
    return place


@contextmanager
def both(model: Process, earlier: Path, start: int) -> Iterator[tuple[Process, Process]]:
    """The server as it is, and as it was."""
    variables = {
        "OPENAI_BASE_URL": model.url,
        "OPENAI_API_KEY": "test",
        # A setting of later versions; earlier ones pass it over.
        "TURNSTREAM_MAX_NEW_THREADS": "1000000",
    }
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        made: dict[Path, Process] = {}
        for project in (PROJECT, earlier) if start % 2 else (earlier, PROJECT):
            database = str(folder / f"{len(made)}.db")
            options = ("--port", "0", "--model", "scripted", "--database", database)
            found = {} if project == PROJECT else {"PYTHONPATH": str(importable(project))}
            made[project] = stack.enter_context(started(SERVER, *options, **variables, **found))
        yield made[PROJECT], made[earlier]


async def compare(earlier: Path, at_once: int) -> None:
    with started("tests.benchmarks.model") as model:
        await report_difference(
            f"{at_once} at once",
            partial(both, model, earlier),
            partial(cpu_of_turns, at_once=at_once),
        )


async def main() -> None:
    commit = os.environ.get("BEFORE")
    if not commit:
        sys.exit("Name the commit to compare with: make bench ARGS=before BEFORE=a-commit")
    with checkout(commit) as earlier:
        for at_once in (1, 8):
            await compare(earlier, at_once)


if __name__ == "__main__":
    asyncio.run(main())
