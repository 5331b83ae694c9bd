"""A server whose database has a small disk to itself, which a test can fill and empty."""

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.serving import Process, process

_MOUNT = 'mount -t tmpfs -o size="$1" tmpfs "$2" && shift 2 && exec "$@"'


def _with_a_mount(folder: Path, size: str) -> Sequence[str]:
    """Runs the program behind it where `folder` is a disk of its own; nobody else sees it."""
    become_root = () if os.geteuid() == 0 else ("--map-root-user",)
    return ("unshare", *become_root, "--mount", "sh", "-c", _MOUNT, "sh", size, str(folder))


def disks_can_be_made(folder: Path) -> bool:
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run([*_with_a_mount(folder, "1m"), "true"], capture_output=True, check=False)
    return tried.returncode == 0


@dataclass(frozen=True)
class SmallDisk:
    server: Process
    folder: Path
    """The disk, as this process sees it."""

    def fill(self) -> None:
        """To its last byte."""
        with (self.folder / "ballast").open("ab", buffering=0) as ballast:
            for size in (65536, 4096, 1):
                try:
                    while ballast.write(bytes(size)) == size:
                        pass
                except OSError:
                    continue

    def empty(self) -> None:
        (self.folder / "ballast").unlink()


@asynccontextmanager
async def server_on_a_small_disk(
    folder: Path, size: str, **environment: str
) -> AsyncIterator[SmallDisk]:
    prefix = _with_a_mount(folder, size)
    async with process(folder / "t.db", prefix=prefix, **environment) as server:
        yield SmallDisk(server, Path(f"/proc/{server.pid}/root/{folder}"))
