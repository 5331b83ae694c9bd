"""How much long tests try: a fixed sample in `make test`, all of it in `make test-long`.

A test that uses `sample` carries the marker `long`, which is what `make test-long` selects.
"""

import os

from hypothesis import HealthCheck, settings

LONG = os.environ.get("LONG_TESTS") == "1"
"""Set by `make test-long`."""

UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Properties are checked by examples, not by the clock."""


def sample(whole: int, part: int) -> int:
    """`whole` in a long run, else `part`."""
    return whole if LONG else part
