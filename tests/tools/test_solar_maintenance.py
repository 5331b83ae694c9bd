"""Planning, listing and cancelling maintenance visits, and the file that holds them."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, date, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest

from tests.support.serving import PROJECT, server_variables
from tests.support.solar_raw import ask, call
from tests.support.tool_invocation import refusal
from turnstream.tools.components import OUR_COMPONENTS
from turnstream.tools.contract import NEEDS_APPROVAL
from turnstream.tools.solar import visits
from turnstream.tools.solar.maintenance import (
    MAX_NOTE_CHARS,
    cancel_maintenance,
    list_maintenance,
    schedule_maintenance,
)
from turnstream.tools.solar.visits import DEFAULT_FILE, FILE_VARIABLE, add_visit, visits_file

VISIT = {"logger": 3, "date": "2026-12-01", "work": "inspection"}


def plan(**changes: Any) -> dict[str, Any]:
    """Schedule a visit: it as the model gets it."""
    visit: dict[str, Any] = ask("schedule_maintenance", **{**VISIT, **changes})["visit"]
    return visit


def listed(**filters: Any) -> list[str]:
    return [visit["id"] for visit in ask("list_maintenance", **filters)["visits"]]


def rows(file: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("SELECT * FROM visit ORDER BY number").fetchall()


def test_a_visit_is_a_row_of_the_file() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    visit = plan(logger="inverter 5", work="repair", note="  Bring a ladder.\n")
    created_at = visit.pop("created_at")
    assert before <= datetime.fromisoformat(created_at) <= datetime.now(UTC)
    assert visit == {
        "id": "M-1",
        "logger": "Inverter 5",
        "site": "B",
        "date": "2026-12-01",
        "work": "repair",
        "note": "Bring a ladder.",
        "state": "planned",
    }
    row = (1, 5, "2026-12-01", "repair", "Bring a ladder.", created_at, "planned")
    assert rows(visits_file()) == [row]


def test_the_client_sees_the_visit_that_the_model_sees() -> None:
    for tool, arguments in (
        ("schedule_maintenance", VISIT),
        ("cancel_maintenance", {"visit": "1"}),
    ):
        answer, client = call(tool, **arguments)
        assert client == answer
        assert answer["status"] == "ok"


def test_a_form_is_told_that_the_day_is_a_date() -> None:
    assert schedule_maintenance.args["date"]["format"] == "date"
    assert schedule_maintenance.args["date"]["description"].startswith("The day, YYYY-MM-DD")


def test_only_scheduling_needs_an_approval() -> None:
    tools = (schedule_maintenance, list_maintenance, cancel_maintenance)
    assert [(tool.metadata or {})[NEEDS_APPROVAL] for tool in tools] == [True, False, False]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"logger": "invertr 3"}, "logger: there is no 'invertr 3'. Did you mean Inverter 3 or "),
        ({"logger": 10**30}, "There is Inverter 1, Inverter 2, Inverter 3, "),
        ({"date": "2024-12-30"}, "date: 2024-12-30 is in the past; today is 2024-12-31."),
        ({"date": "0001-01-01"}, "Give today or a later day."),
        ({"date": "next Tuesday"}, "date: 'next Tuesday' is not a day as YYYY-MM-DD."),
        ({"date": "2025-02-29"}, "there is no day '2025-02-29'. Give a day as YYYY-MM-DD."),
        ({"date": "1" * 5000}, "is not a day as YYYY-MM-DD."),
        ({"note": "x" * (MAX_NOTE_CHARS + 1)}, "note: 501 characters are too many. Give up to 500"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_a_way_out(
    changes: dict[str, Any], sentence: str
) -> None:
    assert sentence in refusal(schedule_maintenance, **{**VISIT, **changes})
    assert listed() == []


def test_today_is_the_last_day_of_the_data_and_can_still_be_planned() -> None:
    assert plan(date="2024-12-31")["date"] == ask("list_loggers")["now"][:10]


def test_the_same_visit_is_refused_with_the_id_of_the_one_that_is_planned() -> None:
    first = plan()
    said = refusal(schedule_maintenance, **{**VISIT, "logger": "Inverter 3", "note": "Again"})
    assert f"is planned already: {first['id']}, inspection of Inverter 3 on 2026-12-01." in said
    assert listed() == [first["id"]]


@pytest.mark.parametrize("change", [{"logger": 4}, {"date": "2026-12-02"}, {"work": "cleaning"}])
def test_a_visit_that_differs_is_another_one(change: dict[str, Any]) -> None:
    assert [plan()["id"], plan(**change)["id"]] == ["M-1", "M-2"]


@pytest.mark.parametrize("written", ["M-1", "m-1", "M1", "1", " M-1 "])
def test_a_visit_is_cancelled_by_its_id(written: str) -> None:
    plan()
    visit = ask("cancel_maintenance", visit=written)["visit"]
    assert (visit["id"], visit["state"]) == ("M-1", "cancelled")
    assert listed() == []
    assert listed(state="cancelled") == ["M-1"]


def test_what_was_cancelled_can_be_planned_again_under_a_new_id() -> None:
    plan()
    ask("cancel_maintenance", visit="M-1")
    assert plan()["id"] == "M-2"
    assert listed(state="all") == ["M-1", "M-2"]


def test_a_visit_is_cancelled_once() -> None:
    plan()
    ask("cancel_maintenance", visit="M-1")
    said = refusal(cancel_maintenance, visit="M-1")
    assert said == ("The visit M-1 is cancelled already. list_maintenance has the planned ones.")


@pytest.mark.parametrize(
    "visit", ["M-2", "M-0", "", "M-", "inverter 3", "1 OR 1=1", "9" * 5000, "\ud800"]
)
def test_a_visit_that_is_not_there_is_not_cancelled(visit: str) -> None:
    plan()
    said = refusal(cancel_maintenance, visit=visit)
    assert said.startswith("There is no visit ")
    assert said.endswith(" list_maintenance has their ids.")
    assert listed() == ["M-1"]


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({}, ["M-2", "M-1", "M-3"]),
        ({"target": "inverter 3"}, ["M-2", "M-1"]),
        ({"target": "Miami"}, ["M-3"]),
        ({"target": "inverter 4"}, []),
        ({"start": "2026-05-01"}, ["M-1", "M-3"]),
        ({"end": "2026-06-01"}, ["M-2", "M-1"]),
        ({"start": "2026-06-01", "end": "2026-06-01"}, ["M-1"]),
        ({"state": "cancelled"}, ["M-4"]),
        ({"state": "all"}, ["M-4", "M-2", "M-1", "M-3"]),
    ],
)
def test_visits_are_listed_by_date_and_filtered(filters: dict[str, Any], ids: list[str]) -> None:
    plan(date="2026-06-01")
    plan(date="2026-03-01")
    plan(date="2026-09-01", logger=5)
    plan(date="2026-01-01")
    ask("cancel_maintenance", visit="M-4")
    assert listed(**filters) == ids


def test_an_unknown_target_and_days_backwards_are_refused() -> None:
    assert "Did you mean Site B" in refusal(list_maintenance, target="Mimi")
    said = refusal(list_maintenance, start="2026-02-01", end="2026-01-01")
    assert said.startswith("end: 2026-01-01 is before start 2026-02-01.")


def test_a_list_can_be_drawn_as_a_table_and_an_empty_one_cannot() -> None:
    _, client = call("list_maintenance")
    assert (OUR_COMPONENTS.drawable(client), client["count"]) == ([], 0)
    visit = plan(note="x" * MAX_NOTE_CHARS)
    _, client = call("list_maintenance")
    assert OUR_COMPONENTS.drawable(client) == ["table"]
    [row] = client["rows"]
    assert row == {name: visit[name] for name in row}


def test_a_long_list_tells_how_long_it_is() -> None:
    for days in range(250):
        add_visit(1, date(2026, 1, 1) + timedelta(days=days), "service", None)
    answer, client = call("list_maintenance")
    assert (answer["count"], len(answer["visits"]), len(client["rows"])) == (250, 20, 200)
    assert len(json.dumps(answer)) < 6000


@pytest.mark.parametrize(
    ("note", "stored"),
    [
        ("'); DROP TABLE visit; --", "'); DROP TABLE visit; --"),
        ("\ud800 and \x00", "\ufffd and \x00"),
        ("", None),
        ("  ", None),
    ],
)
def test_a_note_is_stored_as_text(note: str, stored: str | None) -> None:
    plan(note=note)
    assert [visit["note"] for visit in ask("list_maintenance")["visits"]] == [stored]


def test_without_a_variable_the_file_is_in_the_working_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for value in ("", None):
        if value is None:
            monkeypatch.delenv(FILE_VARIABLE)
        else:
            monkeypatch.setenv(FILE_VARIABLE, value)
        assert visits_file() == Path(DEFAULT_FILE)
    plan()
    assert [path.name for path in tmp_path.iterdir()] == [DEFAULT_FILE]


def test_the_variable_is_read_at_each_call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plan()
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "other.db"))
    assert listed() == []
    plan()
    assert len(rows(tmp_path / "other.db")) == 1


def test_no_test_and_no_server_of_a_test_writes_into_the_working_tree(tmp_path: Path) -> None:
    served = server_variables(tmp_path / "t.db", {})[FILE_VARIABLE]
    for file in (visits_file(), Path(served)):
        assert file.is_absolute()
        assert not file.is_relative_to(PROJECT)


def test_of_many_threads_that_plan_the_same_visit_one_does() -> None:
    with ThreadPoolExecutor(12) as pool:
        planned = list(
            pool.map(lambda _: add_visit(3, date(2026, 12, 1), "repair", None), range(24))
        )
    assert sorted(is_new for _, is_new in planned) == [False] * 23 + [True]
    assert {visit.visit_id for visit, _ in planned} == {"M-1"}
    assert len(rows(visits_file())) == 1


def test_between_the_look_and_the_write_nobody_else_can_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The clock is read in between."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Clock":
            with (
                closing(sqlite3.connect(visits_file(), timeout=0)) as other,
                pytest.raises(sqlite3.OperationalError, match="locked"),
            ):
                other.execute("BEGIN IMMEDIATE")
            return super().now(tz)

    plan()
    monkeypatch.setattr(visits, "datetime", Clock)
    assert plan(logger=4)["id"] == "M-2"


def test_the_file_itself_holds_no_planned_visit_twice() -> None:
    plan()
    with closing(sqlite3.connect(visits_file())) as connection:
        columns = "logger_id, day, work, created_at, state"
        again = f"INSERT INTO visit ({columns}) SELECT {columns} FROM visit"
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(again)


def test_the_id_of_a_row_that_is_deleted_by_hand_is_not_given_again() -> None:
    plan()
    with closing(sqlite3.connect(visits_file())) as connection, connection:
        connection.execute("DELETE FROM visit")
    assert plan()["id"] == "M-2"


PLANNER = """
import sys
from datetime import date
from turnstream.tools.solar.visits import add_visit
for day in range(1, 29):
    visit, is_new = add_visit(int(sys.argv[1]), date(2027, 2, day), "cleaning", None)
    assert is_new
    print(visit.number)
"""


def test_processes_plan_at_the_same_time_and_lose_no_visit() -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", PLANNER, logger], stdout=subprocess.PIPE, text=True)
        for logger in "123"
    ]
    said: Sequence[str] = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    numbers = [int(number) for words in said for number in words.split()]
    assert sorted(numbers) == list(range(1, 3 * 28 + 1))
    assert len(rows(visits_file())) == 3 * 28
