"""The start of one process on a SQLite file: the modules that it imports, its seconds and memory.

    make bench ARGS=start

`core` has every extension off, `default` no setting at all, `users` recognises API keys. Imports
and lines are counted, so they are the same each time; seconds and memory are those of this machine,
the median of `STARTS` starts, until the server serves. The model is the offline one.
"""

import json
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

STARTS = 7
PROJECT = Path(__file__).parent.parent.parent
OFF = {
    **dict.fromkeys(("OPENAPI", "SEARCH", "VERSIONS"), "false"),
    **dict.fromkeys(("UNDO_SECONDS", "AUDIT_DAYS"), "0"),
}
SERVERS: Mapping[str, Mapping[str, str]] = {"core": OFF, "default": {}, "users": {"AUTH": "keys"}}
SERVING = f"""
import asyncio, sys
sys.path.append({str(PROJECT)!r})
from tests.benchmarks.start import figures
from turnstream.server.app import create

async def serve():
    app = create()
    async with app.router.lifespan_context(app):
        figures()

asyncio.run(serve())
"""


def figures() -> None:
    """Print those of this process as JSON."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    ours = {
        name.removeprefix("turnstream."): file
        for name, module in sys.modules.items()
        if name.startswith("turnstream.") and (file := getattr(module, "__file__", None))
    }
    lines = Counter[str]()
    for name, file in ours.items():
        lines[_room(name)] += len(Path(file).read_text(encoding="utf-8").splitlines())
    found = {
        "modules": len(sys.modules),
        "ours": len(ours),
        "lines": lines,
        "cpu": used.ru_utime + used.ru_stime,
        "memory": used.ru_maxrss / 1024,
    }
    print(json.dumps(found))


def _room(name: str) -> str:
    """The part of the project to which a module belongs."""
    part, _, rest = name.partition(".")
    folder = rest.partition(".")[0]
    return f"server.{folder}" if folder in ("extensions", "formats") else part


def start(settings: Mapping[str, str]) -> dict[str, Any]:
    given = {"MODEL": "offline", "DATABASE": "t.db", **settings}
    environment = {f"TURNSTREAM_{name}": value for name, value in given.items()}
    with TemporaryDirectory() as folder:
        begun = time.monotonic()
        command = [sys.executable, "-P", "-c", SERVING]
        said = subprocess.check_output(command, text=True, cwd=folder, env=environment)
        return {**json.loads(said), "seconds": time.monotonic() - begun}


def main() -> None:
    for name, settings in SERVERS.items():
        found = [start(settings) for _ in range(STARTS)]
        seconds, cpu, memory = (
            statistics.median(one[figure] for one in found)
            for figure in ("seconds", "cpu", "memory")
        )
        modules, ours, lines = (found[0][figure] for figure in ("modules", "ours", "lines"))
        rooms = ", ".join(f"{room} {lines[room]:,}" for room in sorted(lines))
        print(
            f"{name}: {ours} modules of ours of {modules}, {seconds:.2f} s, {cpu:.2f} s of CPU, "
            f"{memory:.0f} MB\n  lines: {rooms}",
            flush=True,
        )


if __name__ == "__main__":
    main()
