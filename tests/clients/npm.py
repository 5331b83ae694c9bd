"""node_modules beside this file, as the lock file has it.

`python -m tests.clients.npm`, which `make test` runs first, installs it: on a slow line that takes
longer than a test may.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
INSTALLED = HERE / "node_modules" / ".package-lock.json"
"""npm writes it last: what is installed."""

LOCK = HERE / ".installing"
INSTALL_SECONDS = 600
FETCH_RETRIES = "5"


class NotInstalled(Exception):
    """Why, in a sentence."""


def require_clients() -> None:
    """Install the clients if need be; skip without Node, but never under CI."""
    try:
        install()
    except NotInstalled as error:
        if _is_ci():
            pytest.fail(f"{error}; under CI none of these tests may be skipped")
        pytest.skip(str(error))


def install() -> None:
    """Raises NotInstalled."""
    missing = [name for name in ("node", "npm") if shutil.which(name) is None]
    if missing:
        names = " and no ".join(missing)
        raise NotInstalled(f"the real clients need Node.js: no {names} on the PATH")
    with LOCK.open("w") as lock:
        # Test processes that run side by side share what one of them installs.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_current():
            _npm_ci()


def main() -> int:
    """1 where the tests would fail for want of the clients; where they skip, it says so."""
    try:
        install()
    except NotInstalled as error:
        sys.stderr.write(f"Tests of real clients cannot run: {error}\n")
        return int(_is_ci())
    return 0


def _is_current() -> bool:
    lock = HERE / "package-lock.json"
    return INSTALLED.exists() and INSTALLED.stat().st_mtime >= lock.stat().st_mtime


def _npm_ci() -> None:
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(
            [*command, "--fetch-retries", FETCH_RETRIES],
            cwd=HERE,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"npm ci took more than {INSTALL_SECONDS} s") from None
    if done.returncode != 0:
        raise NotInstalled(f"npm ci failed: {done.stderr[-2000:]}")
    INSTALLED.touch()


def _is_ci() -> bool:
    return os.environ.get("CI", "").lower() in ("1", "true")


if __name__ == "__main__":
    sys.exit(main())
