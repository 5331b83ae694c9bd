"""The slow tests of a run, and those that take longer than tests of their folder should."""

from collections import Counter

import pytest

SLOWEST = 20
BUDGETS = {"unit": 0.2, "page": 0.2, "formats": 0.2, "runs": 1.0, "http": 2.0, "browser": 5.0}
"""Seconds of a test on a quiet machine, its set-up included, by folder of `tests`."""


def summarize(reporter: pytest.TerminalReporter) -> None:
    """Print them. Nothing fails: on a busy machine everything takes longer."""
    seconds = durations(reporter)
    if len(seconds) <= SLOWEST:
        return
    reporter.section(f"slowest {SLOWEST} of {len(seconds)} tests")
    for nodeid, took in seconds.most_common(SLOWEST):
        reporter.write_line(f"{took:6.1f} s  {nodeid}")
    by_folder: Counter[str] = Counter()
    for nodeid, took in seconds.items():
        by_folder[folder_of(nodeid)] += took
    told = ", ".join(f"{folder} {took:.0f} s" for folder, took in by_folder.most_common())
    reporter.section(f"all together: {told}")
    over = over_budget(seconds)
    counts = Counter(folder_of(nodeid) for nodeid in over)
    told = ", ".join(
        f"{counts[folder]} of {folder} ({budget} s)" for folder, budget in BUDGETS.items()
    )
    reporter.section(f"over their budget: {told}")
    for nodeid in over:
        reporter.write_line(f"{seconds[nodeid]:6.1f} s  {nodeid}")


def durations(reporter: pytest.TerminalReporter) -> Counter[str]:
    """Seconds of each test, its set-up and tear-down included."""
    seconds: Counter[str] = Counter()
    for reports in reporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid] += report.duration  # type: ignore[assignment]
    return seconds


def folder_of(nodeid: str) -> str:
    return nodeid.removeprefix("tests/").partition("/")[0]


def over_budget(seconds: Counter[str]) -> list[str]:
    """The tests over the budget of their folder, those that exceed it most first."""
    budget = {nodeid: BUDGETS.get(folder_of(nodeid), float("inf")) for nodeid in seconds}
    over = [nodeid for nodeid, took in seconds.items() if took > budget[nodeid]]
    return sorted(over, key=lambda nodeid: budget[nodeid] / seconds[nodeid])
