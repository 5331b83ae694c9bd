"""The solar fleet: a year of measurements, nine tools that answer from it, and three that plan
maintenance.

Of its packages only `build` needs pvlib; the tools read `fleet.sqlite`, which it made.
"""

from collections.abc import Collection

from langchain_core.tools import BaseTool

from turnstream.tools.solar.comparison import compare_loggers
from turnstream.tools.solar.curve import get_power_curve
from turnstream.tools.solar.errors import diagnose_error_codes
from turnstream.tools.solar.forecast import forecast_production
from turnstream.tools.solar.health import analyze_inverter_health
from turnstream.tools.solar.loggers import list_loggers
from turnstream.tools.solar.maintenance import (
    cancel_maintenance,
    list_maintenance,
    schedule_maintenance,
)
from turnstream.tools.solar.overview import get_fleet_overview
from turnstream.tools.solar.performance import calculate_performance_ratio
from turnstream.tools.solar.savings import calculate_financial_savings

SOLAR_TOOLS: tuple[BaseTool, ...] = (
    list_loggers,
    get_fleet_overview,
    analyze_inverter_health,
    get_power_curve,
    compare_loggers,
    calculate_financial_savings,
    calculate_performance_ratio,
    forecast_production,
    diagnose_error_codes,
    schedule_maintenance,
    list_maintenance,
    cancel_maintenance,
)

PROMPTS: tuple[str, ...] = (
    "How is the fleet doing?",
    "Show the power curve of inverter 3 last Tuesday",
    "Compare site A and B",
    "What did we save this year?",
    "What does error 3105 mean?",
    "Show the power curve of inverter 3 on 2026-03-01",
    "Schedule an inspection of inverter 3 on 2026-12-01",
)
"""Questions that only the tools of the fleet answer."""


def offers_demo(names: Collection[str]) -> bool:
    """Return whether all tools of the fleet are among these tools."""
    return all(tool.name in names for tool in SOLAR_TOOLS)
