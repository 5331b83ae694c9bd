"""Sizes of samples: least in `make test`, more in the full run of CI, all in `make test-long`.

Every test of Hypothesis carries the marker `long`, which is what `make test-long` selects
(`tests/conftest.py`); another test that uses `sample` says so itself.
"""

import os
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet
from hypothesis import HealthCheck, settings

LONG = os.environ.get("LONG_TESTS") == "1"
"""Set by `make test-long`."""
IN_CI = os.environ.get("CI", "").lower() in ("1", "true")

T = TypeVar("T")


def sample(whole: T, part: T, least: T | None = None) -> T:
    """`whole` in a long run, `part` in CI; else `least`, if there is one."""
    if LONG:
        return whole
    return part if IN_CI or least is None else least


def repeat(value: object, name: str | None = None) -> ParameterSet:
    """A parameter that repeats a test in another look, engine or version. `make test` leaves it
    out; CI does not, nor does `make test ARGS=...` that names the file."""
    return pytest.param(value, id=name, marks=pytest.mark.full)


settings.register_profile(
    "turnstream",
    # Properties are checked by examples, not by the clock.
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=sample(100, 15, 10),
    derandomize=not LONG,
)
settings.load_profile("turnstream")
