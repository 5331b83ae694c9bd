"""How much tests try: a sample in `make test`, all of it in `make test-long`; repeats only in CI.

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


T = TypeVar("T")


def sample(whole: T, part: T) -> T:
    """`whole` in a long run, else `part`."""
    return whole if LONG else part


def repeat(value: object, name: str | None = None) -> ParameterSet:
    """A parameter that repeats a test in another look, engine or version. `make test` leaves it
    out; CI does not, nor does `make test ARGS=...` that names the file."""
    return pytest.param(value, id=name, marks=pytest.mark.repeat)


settings.register_profile(
    "turnstream",
    # Properties are checked by examples, not by the clock.
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=sample(100, 25),
    derandomize=not LONG,
)
settings.load_profile("turnstream")
