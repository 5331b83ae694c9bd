"""calculate_financial_savings: what the energy was worth, and the carbon dioxide it spared."""

import re
from collections.abc import Sequence
from typing import Any

from turnstream.tools.contract import real_tool
from turnstream.tools.solar.answers import (
    BAR_FIELDS,
    SHARED_FIELDS,
    TABLE_FIELDS,
    Result,
    answering,
    invalid,
    rounded,
    shown,
    table,
)
from turnstream.tools.solar.days import Daily, read_daily, read_due, read_sums, total
from turnstream.tools.solar.fleet import open_fleet
from turnstream.tools.solar.formulas import savings
from turnstream.tools.solar.targets import find_target
from turnstream.tools.solar.windows import ONE_YEAR, find_window, require_data

_MAX_PRICE = 1000.0
_CURRENCY = re.compile(r"[A-Z]{3}")
_DAILY_UP_TO = 31  # days; longer windows are summed up by month


@real_tool(
    client_fields=[
        *SHARED_FIELDS,
        *TABLE_FIELDS,
        *BAR_FIELDS,
        "energy_kwh",
        "savings",
        "avoided_purchase",
        "sales",
        "currency",
        "co2_avoided_kg",
        "assumptions",
    ],
    artifact=True,
    availability_tool="list_loggers",
)
@answering
def calculate_financial_savings(
    target: str | int = "fleet",
    start: str | None = None,
    end: str | None = None,
    tariff_per_kwh: float = 0.13,
    feed_in_per_kwh: float = 0.04,
    self_consumption: float = 1.0,
    co2_kg_per_kwh: float = 0.373,
    currency: str = "USD",
) -> Result:
    """What solar energy saved: energy used on site times the tariff, plus energy sold times the
    feed-in price; and the CO2 avoided. The defaults are assumptions (about the US average of
    commercial electricity prices in 2024 by the EIA, and of grid emissions in 2022 by the EPA's
    eGRID): say so, or give the user's own.

    Args:
        target: "fleet", a site or a logger, by number or name.
        start: First day, YYYY-MM-DD, local to each site. Default: the 1 January before `end`.
        end: Last day, included. Default: the last day of the data.
        tariff_per_kwh: Price of energy that need not be bought, 0 to 1000.
        feed_in_per_kwh: Price paid for energy that is sold, 0 to 1000.
        self_consumption: Share of the energy that is used on site, 0 to 1.
        co2_kg_per_kwh: Emissions of the grid's energy, 0 to 1000.
        currency: Three capital letters (ISO 4217).
    """
    assumptions = {
        "tariff_per_kwh": tariff_per_kwh,
        "feed_in_per_kwh": feed_in_per_kwh,
        "self_consumption": self_consumption,
        "co2_kg_per_kwh": co2_kg_per_kwh,
    }
    _check(assumptions, currency)
    fleet = open_fleet()
    one = find_target(fleet, target)
    window = find_window(fleet, start, end, days=ONE_YEAR)
    require_data(fleet, one, window)
    whole = total(one.loggers, read_sums(fleet, one, window), read_due(fleet, window))
    prices = (tariff_per_kwh, feed_in_per_kwh, self_consumption)
    bought, sold = savings(whole.energy_kwh, *prices)
    rows = _rows(
        read_daily(fleet, one, window), prices, co2_kg_per_kwh, by_day=window.days <= _DAILY_UP_TO
    )
    answer = {
        "status": "ok",
        "now": fleet.now,
        "target": one.described(),
        "window": window.described(),
        "coverage": rounded(whole.coverage, 3),
        "energy_kwh": rounded(whole.energy_kwh),
        "savings": rounded(bought + sold, 2),
        "avoided_purchase": rounded(bought, 2),
        "sales": rounded(sold, 2),
        "currency": currency,
        "co2_avoided_kg": rounded(whole.energy_kwh * co2_kg_per_kwh),
        "assumptions": assumptions,
    }
    return answer, _shown(rows, currency)


def _check(assumptions: dict[str, float], currency: str) -> None:
    """Raises Refusal for what is out of bounds, or no number at all (NaN, infinity)."""
    for name, value in assumptions.items():
        most = 1.0 if name == "self_consumption" else _MAX_PRICE
        if not 0 <= value <= most:  # NaN is not
            raise invalid(name, f"{shown(value)} is out of bounds.", f"0 to {most:g}")
    if not _CURRENCY.fullmatch(currency):
        raise invalid("currency", f"{shown(currency)} is no currency.", "three capital letters")


def _shown(rows: Sequence[dict[str, Any]], currency: str) -> dict[str, Any]:
    labels = {
        "period": "Period",
        "energy_kwh": "Energy (kWh)",
        "savings": f"Savings ({currency})",
        "co2_kg": "CO2 avoided (kg)",
    }
    return table(labels, rows) | {
        "categories": [row["period"] for row in rows],
        "series": [{"name": f"Savings ({currency})", "data": [row["savings"] for row in rows]}],
        "y_label": currency,
    }


def _rows(
    days: Sequence[Daily], prices: tuple[float, float, float], co2: float, *, by_day: bool
) -> list[dict[str, Any]]:
    energy: dict[str, float] = {}
    for day in days:
        period = str(day.date)[: 10 if by_day else 7]
        energy[period] = energy.get(period, 0.0) + day.energy_kwh
    return [
        {
            "period": period,
            "energy_kwh": rounded(kwh),
            "savings": rounded(sum(savings(kwh, *prices)), 2),
            "co2_kg": rounded(kwh * co2),
        }
        for period, kwh in sorted(energy.items())
    ]
