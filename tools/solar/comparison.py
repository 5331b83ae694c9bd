"""compare_loggers: loggers, sites or both side by side."""

from typing import Any, Literal

from turnstream.tools.contract import real_tool
from turnstream.tools.solar.answers import (
    BAR_FIELDS,
    SHARED_FIELDS,
    TABLE_FIELDS,
    Refusal,
    Result,
    answering,
    invalid,
    rounded,
    table,
)
from turnstream.tools.solar.days import Sums, read_due, read_sums, total
from turnstream.tools.solar.fleet import Fleet, open_fleet
from turnstream.tools.solar.targets import Target, find_target
from turnstream.tools.solar.windows import Window, find_window, require_data

_MAX_TARGETS = 20
_METRICS = {
    "specific_yield": ("specific_yield_kwh_per_kwp", "Specific yield (kWh/kWp)"),
    "energy": ("energy_kwh", "Energy (kWh)"),
    "performance_ratio": ("performance_ratio", "Performance ratio"),
    "coverage": ("coverage", "Share of readings received"),
}
_LABELS = {
    "name": "Name",
    "peak_kwp": "Peak (kWp)",
    "energy_kwh": "Energy (kWh)",
    "specific_yield_kwh_per_kwp": "Yield (kWh/kWp)",
    "performance_ratio": "Performance ratio",
    "coverage": "Data received",
}


@real_tool(
    client_fields=[
        *SHARED_FIELDS,
        *TABLE_FIELDS,
        *BAR_FIELDS,
        "metric",
        "compared",
        "best",
        "worst",
        "spread_percent",
    ],
    artifact=True,
    availability_tool="list_loggers",
)
@answering
def compare_loggers(
    targets: list[str | int] | None = None,
    start: str | None = None,
    end: str | None = None,
    metric: Literal["specific_yield", "energy", "performance_ratio", "coverage"] = "specific_yield",
) -> Result:
    """Compare inverters or sites with each other: energy, specific yield (kWh/kWp, IEC 61724-1:
    fair between sizes), performance ratio (fair between climates too) and share of readings
    received.

    Args:
        targets: 2 to 20 loggers or sites, by number or name (["site A", "site B"]). Default: all
            sites.
        start: First day, YYYY-MM-DD, local to each site. Default: 30 days up to `end`.
        end: Last day, included. Default: the last day of the data.
        metric: What the chart shows, and what best and worst are told by.
    """
    fleet = open_fleet()
    chosen = _targets(fleet, targets)
    window = find_window(fleet, start, end, days=30)
    notes = _without_data(fleet, chosen, window)
    due = read_due(fleet, window)
    rows = [_row(one, read_sums(fleet, one, window), due) for one in chosen]
    key, label = _METRICS[metric]
    ranked = sorted((row for row in rows if row[key] is not None), key=lambda row: -row[key])
    answer = {
        "status": "ok",
        "now": fleet.now,
        "window": window.described(),
        "metric": label,
        "compared": rows,
        "best": ranked[0]["name"] if ranked else None,
        "worst": ranked[-1]["name"] if ranked else None,
        "spread_percent": _spread(ranked, key),
        "notes": notes,
    }
    return answer, table(_LABELS, rows) | {
        "categories": [row["name"] for row in rows],
        "series": [{"name": label, "data": [row[key] for row in rows]}],
        "y_label": label,
    }


def _targets(fleet: Fleet, asked: list[str | int] | None) -> list[Target]:
    names = asked if asked is not None else [site.site_id for site in fleet.sites]
    if len(names) > _MAX_TARGETS:
        raise invalid("targets", f"{len(names)} are too many.", f"2 to {_MAX_TARGETS} names")
    found = {one.name: one for one in (find_target(fleet, name, "targets") for name in names)}
    if len(found) < 2:
        raise invalid("targets", "a comparison needs two.", f"2 to {_MAX_TARGETS} different names")
    return list(found.values())


def _without_data(fleet: Fleet, targets: list[Target], window: Window) -> list[str]:
    """A sentence for each target that has no data. Raises Refusal if none has any."""
    refusals = []
    for one in targets:
        try:
            require_data(fleet, one, window)
        except Refusal as refusal:
            refusals.append(refusal)
    if len(refusals) == len(targets):
        # Data at another time help more than none at all.
        raise min(refusals, key=lambda refusal: refusal.answer["status"] == "no_data")
    return [str(refusal) for refusal in refusals]


def _row(target: Target, sums: dict[int, Sums], due: dict[int, int]) -> dict[str, Any]:
    empty: dict[str, Any] = dict.fromkeys(_LABELS)
    if not sums:
        return empty | {"name": target.name}
    whole = total(target.loggers, sums, due)
    return empty | {"name": target.name, "peak_kwp": whole.peak_kwp} | whole.figures()


def _spread(ranked: list[dict[str, Any]], key: str) -> float | None:
    """Return how far the worst is below the best, in percent of the best."""
    if not ranked or not ranked[0][key]:
        return None
    best, worst = ranked[0][key], ranked[-1][key]
    return rounded((best - worst) / best * 100)
