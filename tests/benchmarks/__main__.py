"""`make bench`: all figures, or those that are named (`make bench ARGS="turns storage"`).

`before` is measured only if it is named: `make bench ARGS=before BEFORE=a-commit`.
"""

import argparse
import subprocess
import sys

BENCHMARKS = (
    "turns",
    "storage",
    "streams",
    "tools",
    "mcp",
    "page",
    "long_page",
    "attack",
    "users",
    "observation",
    "growth",
    "workers",
)
NAMED = ("before",)
TOGETHER = {"page": ("page", "long_page")}
"""What a name stands for, if that is more than itself."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS + NAMED))
    names = parser.parse_args().names
    unknown = set(names) - {*BENCHMARKS, *NAMED}
    if unknown:
        known = ", ".join(BENCHMARKS + NAMED)
        parser.error(f"no benchmark {', '.join(unknown)}: there are {known}")
    failed = 0
    chosen = [each for name in names for each in TOGETHER.get(name, (name,))]
    for name in chosen or BENCHMARKS:
        print(f"== {name}", flush=True)
        # Each in a process of its own: none measures what another left behind.
        failed += subprocess.call([sys.executable, "-m", f"tests.benchmarks.{name}"])
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
