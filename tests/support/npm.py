"""The npm packages of a folder of tests, as its lock file has them.

`python -m tests.support.npm tests/clients`, which `make test` runs first, installs them: on a slow
line that takes longer than a test may. `make check` and `make page` do so with `tests/page`.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
CLIENTS, PAGE = TESTS / "clients", TESTS / "page"
NEEDS_NODE = {CLIENTS: "the real clients need", PAGE: "what builds and checks the page needs"}
INSTALL_SECONDS = 600
FETCH_RETRIES = "5"


class NotInstalled(Exception):
    """Why, in a sentence."""


def require(folder: Path) -> None:
    """Install the packages if need be; skip without Node, but never under CI."""
    try:
        install(folder)
    except NotInstalled as error:
        if _is_ci():
            pytest.fail(f"{error}; under CI none of these tests may be skipped")
        pytest.skip(str(error))


def install(folder: Path) -> None:
    """Raises NotInstalled."""
    missing = [name for name in ("node", "npm") if shutil.which(name) is None]
    if missing:
        names = " and no ".join(missing)
        raise NotInstalled(f"{NEEDS_NODE[folder]} Node.js: no {names} on the PATH")
    with (folder / ".installing").open("w") as lock:
        # Test processes that run side by side share what one of them installs.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_current(folder):
            _npm_ci(folder)


def main() -> int:
    """1 where something would fail for want of the packages; tests of clients skip, but in CI."""
    folder = Path(sys.argv[1]).absolute()
    try:
        install(folder)
    except NotInstalled as error:
        sys.stderr.write(f"Not installed: {error}\n")
        return int(folder != CLIENTS or _is_ci())
    return 0


def _installed(folder: Path) -> Path:
    """npm writes it last: what is installed."""
    return folder / "node_modules" / ".package-lock.json"


def _is_current(folder: Path) -> bool:
    installed, lock = _installed(folder), folder / "package-lock.json"
    return installed.exists() and installed.stat().st_mtime >= lock.stat().st_mtime


def _npm_ci(folder: Path) -> None:
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(
            [*command, "--fetch-retries", FETCH_RETRIES],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"npm ci took more than {INSTALL_SECONDS} s") from None
    if done.returncode != 0:
        raise NotInstalled(f"npm ci failed: {done.stderr[-2000:]}")
    _installed(folder).touch()


def _is_ci() -> bool:
    return os.environ.get("CI", "").lower() in ("1", "true")


if __name__ == "__main__":
    sys.exit(main())
