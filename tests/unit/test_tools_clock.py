"""get_current_time: the right wall clock, and a helpful answer to a wrong name."""

from datetime import UTC, datetime, timedelta
from zoneinfo import available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.tools import ToolException

from tests.support.tool_invocation import for_client, for_model, refusal
from turnstream.tools.clock import find_zone, get_current_time, time_in

WINTER = datetime(2025, 1, 15, 23, 30, 5, 999_999, tzinfo=UTC)
SUMMER = datetime(2025, 7, 15, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "now", "iso", "weekday", "offset"),
    [
        ("UTC", WINTER, "2025-01-15T23:30:05+00:00", "Wednesday", "+00:00"),
        ("Europe/Berlin", WINTER, "2025-01-16T00:30:05+01:00", "Thursday", "+01:00"),
        ("Europe/Berlin", SUMMER, "2025-07-15T14:00:00+02:00", "Tuesday", "+02:00"),
        ("America/New_York", SUMMER, "2025-07-15T08:00:00-04:00", "Tuesday", "-04:00"),
        ("Asia/Kathmandu", SUMMER, "2025-07-15T17:45:00+05:45", "Tuesday", "+05:45"),
        ("Etc/GMT+5", SUMMER, "2025-07-15T07:00:00-05:00", "Tuesday", "-05:00"),
    ],
)
def test_a_clock_shows_local_time_weekday_and_offset(
    zone: str, now: datetime, iso: str, weekday: str, offset: str
) -> None:
    assert time_in(zone, now) == {
        "timezone": zone,
        "iso": iso,
        "weekday": weekday,
        "utc_offset": offset,
    }


def test_the_tool_tells_the_time_of_now() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    told = datetime.fromisoformat(for_model(get_current_time, timezone="Asia/Tokyo")["iso"])
    assert before <= told <= datetime.now(UTC)
    assert told.utcoffset() == timedelta(hours=9)


def test_without_a_time_zone_it_is_utc() -> None:
    assert for_client(get_current_time)["timezone"] == "UTC"


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("AMERICA/NEW_YORK", "America/New_York"),
        ("America/New York", "America/New_York"),
        ("Tokyo", "Asia/Tokyo"),
        ("tokyo", "Asia/Tokyo"),
        ("new york", "America/New_York"),
        (" Los  Angeles ", "America/Los_Angeles"),
        ("utc", "UTC"),
        ("Etc/GMT+5", "Etc/GMT+5"),
    ],
)
def test_a_zone_is_found_by_its_name_or_its_city_in_any_case(name: str, zone: str) -> None:
    assert find_zone(name) == zone


def test_every_zone_is_found_by_its_own_name() -> None:
    zones = available_timezones() - {"Factory", "localtime"}
    assert {find_zone(zone) for zone in zones} == zones


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Tokio", "Asia/Tokyo"),
        ("Asia/Tokio", "Asia/Tokyo"),
        ("Berln", "Europe/Berlin"),
        ("Europe/Berln", "Europe/Berlin"),
        ("new yorc", "America/New_York"),
        ("Buenos Aires", "America/Argentina/Buenos_Aires or America/Buenos_Aires"),
    ],
)
def test_an_unknown_name_is_answered_with_what_may_be_meant(name: str, meant: str) -> None:
    sentence = refusal(get_current_time, timezone=name)
    assert repr(name) in sentence
    assert meant in sentence


def test_an_offset_is_not_taken_for_a_place_with_the_opposite_sign() -> None:
    assert "Etc/GMT" not in refusal(get_current_time, timezone="GMT+5")


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "../../etc/passwd",
        "/etc/passwd",
        "Europe/../Europe/Berlin",
        "/UTC",
        "Europe/Berlin\0",
        "\0",
        "\ud800",
        "Europe/",
        "localtime",
        "a" * 1_000_000,
        "Tokio " * 100_000,
    ],
)
def test_a_hostile_name_is_just_unknown(name: str) -> None:
    sentence = refusal(get_current_time, timezone=name)
    assert "is not the name of one time zone" in sentence
    assert "Use an IANA name such as Europe/Berlin" in sentence
    sentence.encode()


@given(st.text(max_size=80))
def test_any_text_names_a_zone_or_is_refused(name: str) -> None:
    try:
        zone = find_zone(name)
    except ToolException:
        return
    assert zone in available_timezones()
