"""Server processes to measure, and what the operating system says of them."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO

PROJECT = Path(__file__).parent.parent.parent
SERVER = "turnstream.server"
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Process:
    pid: int
    url: str
    lines: list[int]
    """The bytes of each line that it has said since its URL."""
    start_seconds: float
    """The time until it said its URL."""

    def cpu_seconds(self) -> float:
        """User and system time so far, by the CPU clock that Linux has for the process."""
        return time.clock_gettime(~self.pid << 3 | 2)

    def cpu_ticks(self) -> float:
        """User and system time so far, in seconds, by the ticks of 10 ms in `/proc`."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory_bytes(self) -> int:
        """Resident memory."""
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self.pid}/status").read_text())
        assert found
        return int(found[1]) * 1024

    def said_bytes(self) -> int:
        """What it has said on stdout and stderr since its URL."""
        return sum(self.lines)

    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))


@contextmanager
def started(module: str, *arguments: str, **environment: str) -> Iterator[Process]:
    """`python -m module`, once it has said its URL."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TURNSTREAM_", "OPENAI_"))}
    begun = time.monotonic()
    child = subprocess.Popen(
        [sys.executable, *(["-P"] if module == SERVER else []), "-m", module, *arguments],
        cwd=PROJECT,
        env=clean | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert child.stdout is not None
    with child.stdout as said:
        try:
            url = _announced(child)
            start_seconds = time.monotonic() - begun
            # A pipe that nobody reads fills up, and holds the server up.
            lines: list[int] = []
            Thread(target=_drain, args=(said, lines), daemon=True).start()
            yield Process(child.pid, url, lines, start_seconds)
        finally:
            child.kill()
            child.wait()


def _drain(said: IO[str], lines: list[int]) -> None:
    with suppress(ValueError):  # closed at the end
        lines.extend(len(line.encode()) for line in said)


def _announced(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    said = []
    for line in child.stdout:
        said.append(line)
        found = re.search(r"http://[\d.]+:\d+\S*", line)
        if found:
            return found[0]
    raise RuntimeError("".join(said))
