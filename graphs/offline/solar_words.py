"""The results of the solar tools, in words; their figures; and the chart that shows them best."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from turnstream.graphs.offline.figure import Figure, listed
from turnstream.graphs.offline.history import Result

MAX_NAMED = 3

Content = Mapping[str, Any]


def chart_title(result: Result) -> str:
    about = TITLES[result.tool]
    target = result.content.get("target")
    name = f" of {target['name']}" if target and target["kind"] != "fleet" else ""
    return f"{about}{name}{_days(result.content, ', {}', ', {} to {}')}"


def _days(content: Content, one: str, two: str) -> str:
    window = content.get("window")
    if not window:
        return ""
    start, end = window["start"], window["end"]
    return one.format(start) if start == end else two.format(start, end)


def _when(content: Content) -> str:
    return _days(content, "On {}", "From {} to {}")


def _name(content: Content) -> str:
    target = content["target"]
    return "the fleet" if target["kind"] == "fleet" else str(target["name"])


def _number(value: float | None) -> str:
    return "nothing" if value is None else f"{value:,.10g}"


def _list(content: Content) -> str:
    sites, count = content["sites"], content["count"]
    where = f"{len(sites)} sites" if len(sites) > 1 else sites[0]["name"]
    return f"There are {count} inverters on {where}; the data end on {content['now'][:10]}."


def _overview(content: Content) -> str:
    totals = content["totals"]
    did = (
        f"{_when(content)} the fleet made {_number(totals['energy_kwh'])} kWh "
        f"({totals['specific_yield_kwh_per_kwp']} kWh/kWp) at a performance ratio of "
        f"{totals['performance_ratio']}."
    )
    needy = [f"{item['logger']} ({item['problems']})" for item in content["attention"]]
    return (
        f"{did} {'These need' if len(needy) > 1 else 'This needs'} a look: {listed(needy)}."
        if (needy)
        else f"{did} No inverter needs a look."
    )


def _curve(content: Content) -> str:
    figures = content["figures"]
    return (
        f"{_when(content)} {_name(content)} made {_number(figures['energy_kwh'])} kWh, where "
        f"{_number(figures['expected_kwh'])} kWh were to be expected. Its peak was "
        f"{figures['peak_kw']} kW at {figures['peak_at'].replace('T', ' ')}."
    )


def _compare(content: Content) -> str:
    if content["best"] is None:
        return " ".join(["There is nothing to compare.", *content["notes"]])
    spread = content["spread_percent"]
    behind = f", {_number(spread)}% behind" if spread is not None else ""
    first = (
        f"{_when(content)}, by {content['metric']}: {content['best']} is first and "
        f"{content['worst']} last{behind}."
    )
    return " ".join([first, *content["notes"]])


def _savings(content: Content) -> str:
    tariff = content["assumptions"]["tariff_per_kwh"]
    return (
        f"{_when(content)} {_name(content)} made {_number(content['energy_kwh'])} kWh: worth "
        f"{_number(content['savings'])} {content['currency']}, and "
        f"{_number(content['co2_avoided_kg'])} kg of CO2 avoided. That assumes {tariff} "
        f"{content['currency']} a kWh."
    )


def _errors(content: Content) -> str:
    codes = content["codes"]
    if len(codes) > MAX_NAMED:
        worst = sorted(codes, key=lambda code: -code["occurrences"])[:MAX_NAMED]
        named = [f"{code['code']} ({code['occurrences']} times)" for code in worst]
        return (
            f"{_when(content)} {_name(content)} reported {content['occurrences']} errors, "
            f"{content['open']} of them still open; most often {listed(named)}."
        )
    return " ".join(map(_code, codes)) or f"{_when(content)} {_name(content)} reported no error."


def _code(code: Content) -> str:
    where = f" on {listed(code['loggers'])}" if code["loggers"] else ""
    return (
        f"{code['code']} means: {code['meaning']} ({code['severity']}). Possible causes: "
        f"{'; '.join(code['causes'])}. What to do: {code['action']} It occurred "
        f"{code['occurrences']} times{where}."
    )


def _health(content: Content) -> str:
    verdict = {
        "healthy": "is healthy",
        "attention": "needs attention",
        "fault": "has a fault that is not mended yet",
    }[content["condition"]]
    findings = [finding["detail"].rstrip(".") for finding in content["findings"][:MAX_NAMED]]
    more = len(content["findings"]) + content["more_findings"] - len(findings)
    told = [*findings, *([f"{more} more finding{'s' * (more > 1)}"] if more else [])]
    found = f" What I found: {'; '.join(told)}." if told else " I found nothing wrong."
    return f"{_when(content)}: {_name(content)} {verdict}.{found}"


def _ratio(content: Content) -> str:
    return (
        f"{_when(content)} {_name(content)} ran at a performance ratio of "
        f"{content['performance_ratio']} ({content['corrected_performance_ratio']} at 25 degrees)."
    )


def _forecast(content: Content) -> str:
    days = [
        f"{day['day']} {_number(day['forecast_kwh'])} kWh "
        f"({_number(day['low_kwh'])} to {_number(day['high_kwh'])})"
        for day in content["forecast"]
    ]
    skill = content["uncertainty"]["skill_against_persistence"]
    return (
        f"For {_name(content)} I expect: {listed(days)}. In brackets stands what 8 of 10 days keep "
        f"to; the method's skill against persistence is {skill}."
    )


def _worth(content: Content) -> list[Figure]:
    return [
        Figure("Energy", content["energy_kwh"], "kWh"),
        Figure("CO2 avoided", content["co2_avoided_kg"], "kg"),
        Figure("Savings", content["savings"], content["currency"]),
    ]


def _sums(content: Content) -> list[Figure]:
    sums = content.get("totals") or content["figures"]
    return [
        Figure("Yield", sums["specific_yield_kwh_per_kwp"], "kWh/kWp"),
        Figure("Performance ratio", sums["performance_ratio"]),
        Figure("Energy", sums["energy_kwh"], "kWh"),
    ]


def _counted(label: str, key: str, unit: str = "") -> Callable[[Content], list[Figure]]:
    return lambda content: [Figure(label, content[key], unit)]


def _yields(content: Content) -> list[Figure]:
    key = "specific_yield_kwh_per_kwp"
    return [Figure(row["name"], row[key], "kWh/kWp") for row in content["compared"]]


def _told(words: Callable[[Content], str]) -> Callable[[Result], str]:
    return lambda result: words(result.content)


def _shown(figures: Callable[[Content], Sequence[Figure]]) -> Callable[[Result], list[Figure]]:
    def of(result: Result) -> list[Figure]:
        return list(figures(result.content)) if result.content.get("status") == "ok" else []

    return of


TITLES: Mapping[str, str] = {
    "list_loggers": "Inverters",
    "get_fleet_overview": "Specific yield",
    "get_power_curve": "Power",
    "compare_loggers": "Comparison",
    "calculate_financial_savings": "Savings",
    "diagnose_error_codes": "Errors",
    "analyze_inverter_health": "Health",
    "calculate_performance_ratio": "Performance ratio",
    "forecast_production": "Production and forecast",
    "list_maintenance": "Maintenance",
}

CHARTS: Mapping[str, str] = {
    "list_loggers": "table",
    "get_fleet_overview": "bar_chart",
    "get_power_curve": "line_chart",
    "compare_loggers": "bar_chart",
    "calculate_financial_savings": "bar_chart",
    "diagnose_error_codes": "table",
    "analyze_inverter_health": "line_chart",
    "calculate_performance_ratio": "line_chart",
    "forecast_production": "line_chart",
    "list_maintenance": "table",
}
"""The component that a result is shown in when the user asked for none."""

WORDS: Mapping[str, Callable[[Result], str]] = {
    "list_loggers": _told(_list),
    "get_fleet_overview": _told(_overview),
    "get_power_curve": _told(_curve),
    "compare_loggers": _told(_compare),
    "calculate_financial_savings": _told(_savings),
    "diagnose_error_codes": _told(_errors),
    "analyze_inverter_health": _told(_health),
    "calculate_performance_ratio": _told(_ratio),
    "forecast_production": _told(_forecast),
}

FIGURES: Mapping[str, Callable[[Result], list[Figure]]] = {
    "list_loggers": _shown(_counted("Inverters", "count")),
    "get_fleet_overview": _shown(_sums),
    "get_power_curve": _shown(_sums),
    "compare_loggers": _shown(_yields),
    "calculate_financial_savings": _shown(_worth),
    "diagnose_error_codes": _shown(_counted("Errors", "occurrences")),
    "analyze_inverter_health": _shown(_sums),
    "calculate_performance_ratio": _shown(_counted("Performance ratio", "performance_ratio")),
    "forecast_production": _shown(_counted("Forecast", "total_kwh", "kWh")),
}
