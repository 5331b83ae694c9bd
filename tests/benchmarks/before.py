"""The start of the server, and a turn of the built-in graph, beside an earlier commit.

    make bench ARGS=before BEFORE=a-commit
    make bench ARGS=before BEFORE=a-commit NOW="TURNSTREAM_SEARCH=false TURNSTREAM_UNDO_SECONDS=0"

The commit is checked out beside; both servers run from this environment, on one model server. Its
folders must be parts of the package `turnstream`, as they are here. The turn is that of
`tests.benchmarks.turns`. `NOW` has settings for the server as it is, and none for the earlier one.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from tests.benchmarks.pairs import STARTS, Compared, Figures, Servers, compare
from tests.benchmarks.processes import PROJECT, SERVER, Process, started
from tests.benchmarks.turns import Load, Scenario, line, warm_up

SCENARIOS = (
    Scenario(Load(8, 3)),
    Scenario(Load(1, 6, is_paced=True)),
    Scenario(Load(8, 4, is_paced=True)),
)


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
def both(
    model: Process, earlier: Path, now: Mapping[str, str], start: int
) -> Iterator[tuple[Process, Process]]:
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
            own = now if project == PROJECT else {"PYTHONPATH": str(importable(project))}
            made[project] = stack.enter_context(started(SERVER, *options, **variables, **own))
        yield made[PROJECT], made[earlier]


def start_up(servers: Servers) -> Compared:
    """Compare how long both take until they are served, one after the other on a new database."""
    found = Compared()
    for start in range(STARTS):
        with servers(start) as (now, before):
            found.add([(_of_start(now), _of_start(before))])
    return found


def _of_start(server: Process) -> Figures:
    return {"start, ms": server.start_seconds * 1000, "CPU, ms": server.cpu_seconds() * 1000}


async def report(servers: Servers) -> None:
    of_turns = await compare(servers, [each.measure for each in SCENARIOS], warm_up, starts=6)
    titles = ("start", *map(str, SCENARIOS))
    for title, compared in zip(titles, (start_up(servers), *of_turns), strict=True):
        print(f"{title}: now : before, ratio (95 %)")
        for figure in compared.logarithms:
            print(f"  {line(compared, figure)}", flush=True)


def main() -> None:
    commit = os.environ.get("BEFORE")
    if not commit:
        sys.exit("Name the commit to compare with: make bench ARGS=before BEFORE=a-commit")
    settings = dict(each.split("=", 1) for each in os.environ.get("NOW", "").split())
    with checkout(commit) as earlier, started("tests.benchmarks.model") as model:
        asyncio.run(report(partial(both, model, earlier, settings)))


if __name__ == "__main__":
    main()
