"""Whether a figure grows, from its samples: pure functions."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

WARM_UP = 0.4
"""Of the time: caches fill, the first threads reach their age. It is not judged."""
NOISES = 3
"""A rise is one if it is so many times the median distance from the line."""

Points = Sequence[tuple[float, float]]
"""Seconds since the begin, and a figure."""


@dataclass(frozen=True)
class Figure:
    """One of the figures that are followed, and how far it may rise in the time that is judged."""

    name: str
    unit: str
    floor: float
    """In the figure's unit."""
    share: float = 0.0
    """Of the figure's median; the larger of both is allowed."""

    @property
    def title(self) -> str:
        return f"{self.name}, {self.unit}" if self.unit else self.name

    def allowed(self, middle: float) -> float:
        return max(self.floor, self.share * middle)


@dataclass(frozen=True)
class Trend:
    """A line through the points behind the warm-up, by Theil and Sen (the median of the slopes of
    all pairs), which single peaks do not bend."""

    middle: float
    rise: float
    """From the line's begin to its end."""
    noise: float
    """Median distance of the points from the line."""

    @classmethod
    def of(cls, points: Points) -> "Trend":
        """Of at least two points at different times."""
        slope = statistics.median(
            (later - sooner) / (end - begin)
            for (begin, sooner), (end, later) in combinations(points, 2)
            if end > begin
        )
        heights = [value - slope * at for at, value in points]
        base = statistics.median(heights)
        return cls(
            middle=statistics.median(value for _, value in points),
            rise=slope * (points[-1][0] - points[0][0]),
            noise=statistics.median(abs(height - base) for height in heights),
        )


@dataclass(frozen=True)
class Verdict:
    figure: Figure
    points: Points
    trend: Trend

    @property
    def grows(self) -> bool:
        return self.trend.rise > max(
            self.figure.allowed(self.trend.middle), NOISES * self.trend.noise
        )


def judge(figure: Figure, points: Points, seconds: float) -> Verdict:
    """Of a soak of so many seconds. Raises ValueError: too few points behind the warm-up."""
    judged = [point for point in points if point[0] >= WARM_UP * seconds]
    if len(judged) < 3:
        raise ValueError(f"{figure.name}: {len(judged)} samples are too few to judge")
    return Verdict(figure, points, Trend.of(judged))
