"""`make bench`: all figures, or those that are named (`make bench ARGS="turns storage"`).

`quick` has every headline figure, of fewer runs, in three minutes.
`before` is measured only if it is named: `make bench ARGS=before BEFORE=a-commit`.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

BENCHMARKS = (
    "turns",
    "storage",
    "streams",
    "tools",
    "mcp",
    "page",
    "attack",
    "users",
    "observation",
    "growth",
    "subagents",
    "workers",
    "start",
    "scenes",
)
NAMED = ("before", "long_page", "quick")
COMMANDS: Mapping[str, Sequence[Sequence[str]]] = {
    "page": (("page",), ("long_page",)),
    "quick": (("turns", "--quick"), ("storage", "--quick"), ("page",)),
}
"""The modules and options behind a name; every other name is a module's."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS + NAMED))
    names = parser.parse_args().names
    unknown = set(names) - {*BENCHMARKS, *NAMED}
    if unknown:
        known = ", ".join(BENCHMARKS + NAMED)
        parser.error(f"no benchmark {', '.join(unknown)}: there are {known}")
    chosen = names or BENCHMARKS
    commands = [each for name in chosen for each in COMMANDS.get(name, ((name,),))]
    return min(sum(measure(*command) for command in commands), 1)


def measure(name: str, *options: str) -> int:
    """Measure in a process of its own, which has nothing that another benchmark left behind."""
    print(f"== {name}", flush=True)
    begun = time.monotonic()
    status = subprocess.call([sys.executable, "-m", f"tests.benchmarks.{name}", *options])
    print(f"took {time.monotonic() - begun:.0f} s", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
