"""The slow tests that a run ends with, and the processes that its tests are spread over."""

import io
from collections import Counter

import pytest

from tests.conftest import FoldersTogether
from tests.support.costs import SLOWEST, summarize


def summary(seconds: dict[str, float]) -> str:
    """Print the summary of a run whose tests took so long, half of it in their set-up."""
    config = pytest.Config.fromdictargs({}, ["-p", "no:cacheprovider"])
    printed = io.StringIO()
    reporter = pytest.TerminalReporter(config, printed)
    for nodeid, took in seconds.items():
        for when in ("setup", "call"):
            report = pytest.TestReport(
                nodeid, ("", 0, ""), {}, "passed", None, when, duration=took / 2
            )
            reporter.stats.setdefault("passed", []).append(report)
    summarize(reporter)
    return printed.getvalue()


def test_the_slowest_tests_are_listed_and_those_over_the_budget_of_their_folder() -> None:
    fast = {f"tests/unit/test_a.py::test_{n}": 0.1 for n in range(SLOWEST)}
    slow = {"tests/unit/test_b.py::test_slow": 0.3, "tests/http/test_c.py::test_in_time": 1.9}
    said = summary({**fast, **slow})
    slowest, _, over = said.partition("over their budget: 1 of unit (0.2 s), 0 of page")
    assert "0 of http (2.0 s)" in over
    assert "all together: unit 2 s, http 2 s" in slowest
    assert slowest.index("test_in_time") < slowest.index("test_slow")
    assert slowest.count("::") == SLOWEST
    assert [line for line in over.splitlines() if "::" in line] == [
        "   0.3 s  tests/unit/test_b.py::test_slow"
    ]


def test_a_few_tests_are_not_summed_up() -> None:
    assert summary({"tests/unit/test_a.py::test_slow": 9.0}) == ""


def test_browser_tests_have_two_processes_of_one_size_and_a_file_stays_in_one() -> None:
    spread = object.__new__(FoldersTogether)
    sizes = {"tests/browser/test_a.py": 5, "tests/browser/test_b.py": 3, "tests/browser/c.py": 2}
    spread.collection = [f"{file}::test_{n}" for file, size in sizes.items() for n in range(size)]
    spread.collection += ["tests/clients/test_d.py::test_1", "tests/unit/test_e.py::test_1"]
    groups = {nodeid: spread._split_scope(nodeid) for nodeid in spread.collection}
    browser = [group for nodeid, group in groups.items() if "browser" in nodeid]
    assert Counter(Counter(browser).values()) == {5: 2}
    assert len({groups[f"tests/browser/test_a.py::test_{n}"] for n in range(5)}) == 1
    assert groups["tests/clients/test_d.py::test_1"] == "tests/clients/0"
    assert groups["tests/unit/test_e.py::test_1"] == "tests/unit/test_e.py::test_1"
