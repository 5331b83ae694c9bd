"""When a soak says that a figure grows."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.benchmarks.soak.trends import Figure, Points, Trend, Verdict, judge

FIGURE = Figure("figure", "MiB", floor=10, share=0.1)
SECONDS = 100.0


def verdict(points: Points) -> Verdict:
    return judge(FIGURE, points, SECONDS)


def noisy(slope: float, noise: float, base: float = 50) -> Points:
    chance = Random(1)
    return [(float(at), base + slope * at + chance.uniform(-noise, noise)) for at in range(100)]


def test_a_steady_rise_beyond_the_allowed_grows() -> None:
    assert verdict(noisy(0.3, 1)).grows


def test_a_rise_within_the_allowed_does_not() -> None:
    assert not verdict(noisy(0.1, 1)).grows


def test_of_a_large_figure_a_share_is_allowed() -> None:
    assert not verdict(noisy(0.3, 1, base=500)).grows


def test_noise_alone_does_not_grow() -> None:
    assert not verdict(noisy(0, 100)).grows


def test_what_falls_does_not_grow() -> None:
    assert not verdict(noisy(-1, 1, base=200)).grows


def test_the_warm_up_is_not_judged() -> None:
    points = [(float(at), 500.0 if at >= 40 else at * 10.0) for at in range(100)]
    assert not verdict(points).grows


def test_single_peaks_do_not_bend_the_line() -> None:
    points = [(float(at), 1000.0 if at > 95 else 50.0) for at in range(100)]
    assert not verdict(points).grows


@given(
    slope=st.floats(-100, 100),
    base=st.floats(0, 1e6),
    times=st.lists(st.integers(0, 10_000), min_size=2, max_size=30, unique=True),
)
def test_the_rise_of_a_line_is_its_own(slope: float, base: float, times: list[int]) -> None:
    points = [(float(at), base + slope * at) for at in sorted(times)]
    span = points[-1][0] - points[0][0]
    assert Trend.of(points).rise == pytest.approx(slope * span, rel=1e-6, abs=1e-3)


def test_too_few_samples_are_an_error_and_no_pass() -> None:
    with pytest.raises(ValueError, match="too few"):
        verdict([(10.0, 1.0), (50.0, 1.0), (60.0, 1.0)])
