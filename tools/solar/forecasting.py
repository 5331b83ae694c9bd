"""A forecast of daily energy, and how good it was on days that it had not seen. Pure.

The *clear-sky index* k of a day is its energy over what the same modules would give all day under a
clear sky (at a performance ratio of 1). The forecast for `lead` days ahead is

    k = m + rho(lead) * (k_today - m),    energy = k * clear-sky energy of that day

with m the mean of k over the last 21 days: today's weather, fading into that of the season. rho is
fitted by least squares on the first two thirds of the history. The last third is held back: on it
the forecast is measured, against persistence (the energy of the day itself, said again for the
days ahead). The interval is made of the errors of the 30 forecasts before, as far as they were
known: it follows the season, and is measured on the held-back days too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from turnstream.tools.solar.formulas import root_mean_square, skill

MIN_DAYS = 60  # of history
MAX_LEAD = 7
LOW = 0.1  # share of outcomes below the interval; above it as many
_MEMORY_DAYS = 21
_MIN_REMEMBERED = 10
_TRAINING_SHARE = 2 / 3
_SPREAD_DAYS = 30


@dataclass(frozen=True, slots=True)
class Skill:
    """On the held-back days, in kWh; `covered`: the share of them inside the interval."""

    days: int
    rmse: float
    persistence_rmse: float
    skill: float | None
    covered: float


@dataclass(frozen=True, slots=True)
class Forecast:
    day: int
    low: float
    energy: float
    high: float


@dataclass(frozen=True, slots=True)
class _Pair:
    """A day to forecast, and what is known at its origin, some days before."""

    day: int
    mean: float
    today: float
    truth: float
    origin: int


def split(index: Mapping[int, float]) -> int:
    """The first day that is held back. `index`: k by day."""
    days = sorted(index)
    return days[int(len(days) * _TRAINING_SHARE)]


def fit(index: Mapping[int, float]) -> dict[int, float]:
    """rho by lead, 1 to MAX_LEAD, from the days before the split."""
    cut = split(index)
    training = {day: k for day, k in index.items() if day < cut}
    means = _means(training)
    return {lead: _rho(_pairs(training, means, lead)) for lead in range(1, MAX_LEAD + 1)}


def measure(
    index: Mapping[int, float], clear: Mapping[int, float], rhos: Mapping[int, float], ahead: int
) -> Skill:
    """Forecast each held-back day from 1 to `ahead` days before. `clear`: kWh by day."""
    cut, means = split(index), _means(index)
    errors, naive, inside = [], [], 0
    for lead in range(1, ahead + 1):
        pairs = _pairs(index, means, lead)
        missed = [one.truth - _central(rhos[lead], one.mean, one.today) for one in pairs]
        for place, (one, miss) in enumerate(zip(pairs, missed, strict=True)):
            if one.day < cut:
                continue
            errors.append(miss * clear[one.day])
            naive.append(one.truth * clear[one.day] - one.today * clear[one.origin])
            # What is forecast from `origin` knows no outcome after it.
            low, high = _spread(missed[: max(1, place - lead + 1)])
            inside += low <= miss <= high
    return Skill(
        sum(day >= cut for day in index),
        root_mean_square(errors),
        root_mean_square(naive),
        skill(errors, naive),
        inside / len(errors),
    )


def predict(
    index: Mapping[int, float],
    clear: Mapping[int, float],
    rhos: Mapping[int, float],
    days: Sequence[int],
) -> list[Forecast]:
    """From the last day of `index` that has a mean; what is further ahead counts as MAX_LEAD."""
    means = _means(index)
    origin = max(means)
    found = []
    for day in days:
        lead = min(MAX_LEAD, day - origin)
        pairs = _pairs(index, means, lead)
        low, high = _spread(
            [one.truth - _central(rhos[lead], one.mean, one.today) for one in pairs]
        )
        central = _central(rhos[lead], means[origin], index[origin])
        bounds = (max(0.0, k) * clear[day] for k in (central + low, central, central + high))
        found.append(Forecast(day, *bounds))
    return found


def _rho(pairs: Sequence[_Pair]) -> float:
    """Least squares through the origin, of anomalies on anomalies."""
    squares = sum((one.today - one.mean) ** 2 for one in pairs)
    products = sum((one.today - one.mean) * (one.truth - one.mean) for one in pairs)
    return min(1.0, max(0.0, products / squares)) if squares else 0.0


def _spread(errors: Sequence[float]) -> tuple[float, float]:
    """Bounds by rank among n + 1: the error to come is one more like the ones before."""
    recent = sorted(errors[-_SPREAD_DAYS:])
    low = int(LOW * (len(recent) + 1))
    return recent[max(0, low - 1)], recent[min(len(recent), len(recent) + 1 - low) - 1]


def _central(rho: float, mean: float, today: float) -> float:
    return mean + rho * (today - mean)


def _means(index: Mapping[int, float]) -> dict[int, float]:
    """The mean up to each day, where it has enough days behind it."""
    found = {}
    for origin in index:
        back = range(origin - _MEMORY_DAYS + 1, origin + 1)
        known = [index[day] for day in back if day in index]
        if len(known) >= _MIN_REMEMBERED:
            found[origin] = sum(known) / len(known)
    return found


def _pairs(index: Mapping[int, float], means: Mapping[int, float], lead: int) -> list[_Pair]:
    """Every day of the index that can be forecast from `lead` days before, in order."""
    return [
        _Pair(day, means[day - lead], index[day - lead], truth, day - lead)
        for day, truth in sorted(index.items())
        if day - lead in means
    ]
