"""What API keys, a policy with limits and the audit cost a turn, in paired rounds.

The turn is that of `tests.benchmarks.turns`; both servers ask one model server, and take turns in
being measured first.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.benchmarks.pairs import report_difference
from tests.benchmarks.processes import PROJECT, Process, started
from tests.benchmarks.turns import WORDS, batch

BATCHES = 3
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
        [sys.executable, "-m", "server", "keys", "add", "ann"],
        cwd=PROJECT,
        env={**os.environ, "TURNSTREAM_DATABASE": str(database)},
        check=True,
        capture_output=True,
        text=True,
    )
    return made.stdout.strip()


async def compare(at_once: int) -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        endpoint = ("--words", str(WORDS), "--tool-call")
        model = stack.enter_context(started("tests.support.endpoint", *endpoint))
        policy, database = folder / "policy.toml", folder / "users.db"
        policy.write_text(POLICY)
        headers = {"Authorization": f"Bearer {new_key(database)}"}

        def server(database: Path, *options: str) -> Process:
            variables = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "test"}
            common = ("--port", "0", "--model", "scripted", "--max-new-threads", "1000000")
            named = ("--database", str(database), *common, *options)
            return stack.enter_context(started("server", *named, **variables))

        with_users = server(database, "--auth", "keys", "--policy", str(policy))
        without = server(folder / "local.db")

        async def cpu_seconds(process: Process) -> float:
            given = headers if process is with_users else None
            rounds = [await batch(process, at_once, given) for _ in range(BATCHES)]
            return sum(each.cpu_seconds for each in rounds)

        await report_difference(f"{at_once} at once", with_users, without, cpu_seconds)


async def main() -> None:
    for at_once in (1, 8):
        await compare(at_once)


if __name__ == "__main__":
    asyncio.run(main())
