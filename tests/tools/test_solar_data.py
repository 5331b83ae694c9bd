"""The fleet's file: what is in it, that it is the one that was built, and that nobody writes it."""

import hashlib
import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

from tests.support.solar_raw import TRUTH_FILE, YEAR, ask, loggers, query, readings, sky
from turnstream.tools.solar.build.file import content_hash, write
from turnstream.tools.solar.fleet import FLEET_FILE, open_fleet
from turnstream.tools.solar.formulas import expected_power
from turnstream.tools.solar.readings import read_readings
from turnstream.tools.solar.windows import Window, find_day

TRUTH = json.loads(TRUTH_FILE.read_text(encoding="utf-8"))


def test_the_shipped_file_is_the_one_that_the_build_recorded() -> None:
    assert hashlib.sha256(FLEET_FILE.read_bytes()).hexdigest() == TRUTH["file_sha256"]
    assert content_hash(FLEET_FILE) == TRUTH["content_sha256"]


def test_the_file_is_small_enough_to_ship() -> None:
    assert FLEET_FILE.stat().st_size < 8_000_000


def test_the_same_rows_make_the_same_bytes_whatever_order_they_come_in(tmp_path: Path) -> None:
    tables: dict[str, list[tuple[object, ...]]] = {
        "meta": [("first_day", "2024-01-01"), ("last_day", "2024-01-01")],
        "plane": [(40_000 + slot, slot % 900, 20) for slot in range(2000)],
    }
    backwards = {name: rows[::-1] for name, rows in tables.items()}
    one, two = tmp_path / "one.sqlite", tmp_path / "two.sqlite"
    write(one, tables)
    write(two, tables)
    write(two, backwards)
    assert one.read_bytes() == two.read_bytes()
    assert content_hash(one) == content_hash(two)


def test_the_file_says_nothing_of_the_faults_that_were_laid_into_it() -> None:
    names = set(query("SELECT name FROM sqlite_master WHERE type = 'table'")["name"])
    assert names == {
        "meta", "site", "logger", "reading", "plane", "event", "site_day", "logger_day",
    }  # fmt: skip


def test_each_local_day_has_its_slots_also_when_the_clocks_change() -> None:
    days = query("SELECT * FROM site_day")
    first, last = (find_day("day", YEAR[name]).toordinal() for name in ("start", "end"))
    inside = days[days["day"].between(first, last)]
    assert inside.groupby("site_id").size().eq(366).all()
    other = inside[inside["slots"] != 96]
    found = {
        (site, str(pd.Timestamp.fromordinal(day).date()), slots)
        for site, day, slots in other[["site_id", "day", "slots"]].itertuples(index=False)
    }
    assert found == {
        (site, day, slots)
        for site in "ABCD"
        for day, slots in (("2024-03-10", 92), ("2024-11-03", 100))
    }


def test_a_logger_without_a_gap_has_every_quarter_of_the_leap_year() -> None:
    counts = readings().groupby("logger_id").size()
    assert counts[2] == 366 * 96
    own = readings()[readings()["logger_id"] == 2]
    assert (own["day"] == "2024-02-29").sum() == 96


def test_the_days_sums_are_those_of_the_readings() -> None:
    frame = readings()
    rated, total_dc = frame["rated_w"], frame["dc1_w"] + frame["dc2_w"]
    bright = (frame["poa"] >= 400) & (frame["ac_w"] > 0) & (frame["ac_w"] < 0.97 * rated)
    clipped = frame["ac_w"] >= 0.995 * rated
    own = pd.DataFrame(
        {
            "logger_id": frame["logger_id"],
            "day": frame["day"],
            "intervals": 1,
            "ac_sum": frame["ac_w"],
            "poa_sum": frame["poa"],
            "corrected_sum": frame["corrected"],
            "idle": (frame["poa"] >= 100) & (frame["ac_w"] == 0),
            "clipped": clipped,
            "clipped_sum": frame["corrected"] * clipped,
            "bright": bright,
            "bright_sum": frame["corrected"] * bright,
            "bright_dc1": frame["dc1_w"] * bright,
            "bright_dc2": frame["dc2_w"] * bright,
        }
    )
    expected = own.groupby(["logger_id", "day"]).sum()
    expected["peak_w"] = frame.groupby(["logger_id", "day"])["ac_w"].max()
    stored = query("SELECT * FROM logger_day")
    stored["day"] = [str(pd.Timestamp.fromordinal(day).date()) for day in stored["day"]]
    stored = stored.set_index(["logger_id", "day"]).sort_index()
    assert list(stored.index) == list(expected.index)
    for name in expected.columns:
        assert (stored[name] - expected[name]).abs().max() <= 0.5, name
    assert (total_dc >= frame["ac_w"]).all()


def test_the_measurements_are_physical() -> None:
    frame = readings()
    assert (frame["ac_w"] <= frame["rated_w"]).all()
    assert (frame[["ac_w", "dc1_w", "dc2_w"]] >= 0).all(axis=None)
    assert (frame.loc[frame["poa"] == 0, "ac_w"] == 0).all()
    assert sky()["poa"].between(0, 1500).all()
    assert sky()["module_c"].between(-40, 90).all()
    yields = frame.groupby("logger_id")["ac_w"].sum() / 4000 / loggers()["peak_kwp"]
    whole_year = yields.drop(index=[12, 13])
    assert whole_year.between(800, 1900).all()
    assert whole_year[[5, 6]].min() > whole_year[[1, 2]].max() > whole_year[[8, 9]].max()


def test_expected_power_is_the_same_in_sql_and_in_python() -> None:
    fleet = open_fleet()
    one = fleet.loggers[6]
    window = Window(find_day("start", "2024-06-14"), find_day("end", "2024-06-16"))
    module = sky()[sky()["number"] == one.site.number].set_index("slot")["module_c"]
    found = read_readings(fleet, one, window)
    assert len(found) == 3 * 96
    for slot in found:
        own = expected_power(one.peak_w, one.rated_w, one.gamma, slot.poa, float(module[slot.slot]))
        assert slot.expected_w == pytest.approx(own, abs=1e-6)
    assert max(slot.expected_w for slot in found) == one.rated_w


def test_a_healthy_inverter_delivers_what_is_expected_of_it() -> None:
    days = query("SELECT logger_id, SUM(ac_sum) AS ac, SUM(expected_sum) AS expected"
                 " FROM logger_day GROUP BY logger_id").set_index("logger_id")  # fmt: skip
    ratio = days["ac"] / days["expected"]
    assert ratio[[2, 4, 6, 7, 9, 12]].between(0.97, 1.03).all()


def test_the_file_cannot_be_written_through_the_fleet() -> None:
    fleet = open_fleet()
    before = FLEET_FILE.stat()
    for statement in ("DELETE FROM reading", "CREATE TABLE t (x)", "PRAGMA user_version = 7"):
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            fleet.rows(statement)
    ask("list_loggers")
    after = FLEET_FILE.stat()
    assert (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size)
    assert not list(FLEET_FILE.parent.glob("fleet.sqlite-*"))


def test_a_missing_file_is_an_error_and_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError):
        open_fleet(tmp_path / "none.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_a_path_with_odd_characters_is_opened_as_it_is(tmp_path: Path) -> None:
    odd = tmp_path / "a?mode=rwc#b%20c.sqlite"
    odd.write_bytes(FLEET_FILE.read_bytes())
    assert len(open_fleet(odd).loggers) == 13


def test_many_threads_get_the_same_answer_at_once() -> None:
    alone = ask("get_fleet_overview")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask("get_fleet_overview"), range(24)))
    assert all(answer == alone for answer in answers)
