"""node_modules beside this file, as the lock file has it."""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
INSTALLED = HERE / "node_modules" / ".package-lock.json"
"""npm writes it last: what is installed."""

LOCK = HERE / ".installing"
INSTALL_SECONDS = 300


def require_clients() -> None:
    """Install the clients if need be; skip without Node, but never under CI."""
    missing = [name for name in ("node", "npm") if shutil.which(name) is None]
    if missing:
        _give_up(f"the real clients need Node.js: no {' and no '.join(missing)} on the PATH")
    with LOCK.open("w") as lock:
        # Test processes that run side by side share what one of them installs.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_current():
            _install()


def _is_current() -> bool:
    lock = HERE / "package-lock.json"
    return INSTALLED.exists() and INSTALLED.stat().st_mtime >= lock.stat().st_mtime


def _install() -> None:
    done = subprocess.run(
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        _give_up(f"npm ci failed: {done.stderr[-2000:]}")
    INSTALLED.touch()


def _give_up(reason: str) -> None:
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(f"{reason}; under CI none of these tests may be skipped")
    pytest.skip(reason)
