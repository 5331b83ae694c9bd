"""How much of our own code one thread runs: counted, so it is the same on every machine."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
OURS = tuple(str(ROOT / folder) for folder in ("server", "graphs", "tools"))


class Calls:
    """Calls that our code made, of functions in C too: `isinstance` of each message is one."""

    count = 0


@contextmanager
def counted_calls() -> Iterator[Calls]:
    """Count the calls of the thread that enters this; what other threads do is not counted."""
    calls = Calls()

    def count(frame: FrameType, event: str, _arg: Any) -> None:
        if event in ("call", "c_call") and frame.f_code.co_filename.startswith(OURS):
            calls.count += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(before)
