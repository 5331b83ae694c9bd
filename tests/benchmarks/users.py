"""What API keys, a policy with every limit and the audit cost a turn, beside a server without.

The turn is that of `tests.benchmarks.turns`; both servers ask one model server.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.benchmarks.pairs import report_difference
from tests.benchmarks.processes import PROJECT, SERVER, Process, started
from tests.benchmarks.turns import cpu_of_turns

POLICY = """
default_role = "user"

[roles.user]
tools = ["*"]

[roles.user.limits]
requests_per_minute = 1000000
live_runs = 1000
open_streams = 1000
new_threads_per_day = 1000000
tokens_per_day = 1000000000
tool_calls_per_day = { "*" = 1000000 }
"""


def new_key(database: Path) -> str:
    made = subprocess.run(
        [sys.executable, "-P", "-m", SERVER, "keys", "add", "ann"],
        cwd=PROJECT,
        env={**os.environ, "TURNSTREAM_DATABASE": str(database)},
        check=True,
        capture_output=True,
        text=True,
    )
    return made.stdout.strip()


async def compare(model: Process, at_once: int) -> None:
    keys: dict[int, str] = {}
    """By process: the server that has one wants it."""

    @contextmanager
    def servers(start: int) -> Iterator[tuple[Process, Process]]:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            policy, database = folder / "policy.toml", folder / "users.db"
            policy.write_text(POLICY)
            key = new_key(database)

            def server(database: Path, *options: str) -> Process:
                variables = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "test"}
                common = ("--port", "0", "--model", "scripted", "--max-new-threads", "1000000")
                named = ("--database", str(database), *common, *options)
                return stack.enter_context(started(SERVER, *named, **variables))

            made: dict[bool, Process] = {}
            for with_users in (True, False) if start % 2 else (False, True):
                options = ("--auth", "keys", "--policy", str(policy)) if with_users else ()
                path = database if with_users else folder / "local.db"
                made[with_users] = server(path, *options)
            keys[made[True].pid] = key
            yield made[True], made[False]

    async def cpu_seconds(server: Process) -> float:
        key = keys.get(server.pid)
        headers = {"Authorization": f"Bearer {key}"} if key else None
        return await cpu_of_turns(server, at_once, headers)

    await report_difference(f"{at_once} at once", servers, cpu_seconds)


async def main() -> None:
    with started("tests.benchmarks.model") as model:
        for at_once in (1, 8):
            await compare(model, at_once)


if __name__ == "__main__":
    asyncio.run(main())
