"""The fleet's file, opened to be read and never written.

Each call opens a connection of its own: tools run in many threads, and an SQLite connection belongs
to one. The statements are constants; whatever comes from outside is a parameter.
"""

import functools
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class Site:
    """`number` is the owner in the keys of the table `plane`."""

    site_id: str
    name: str
    time_zone: str
    mounting: str
    number: int

    @property
    def label(self) -> str:
        return f"Site {self.site_id} ({self.name})"

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)


@dataclass(frozen=True, slots=True)
class Logger:
    """One inverter and its logger. Power in W, `gamma` a degree Celsius."""

    logger_id: int
    name: str
    site: Site
    rated_w: int
    strings_1: int
    strings_2: int
    string_w: int
    gamma: float
    commissioned: int | None  # local day, proleptic ordinal

    @property
    def peak_w(self) -> int:
        return (self.strings_1 + self.strings_2) * self.string_w

    @property
    def peak_kwp(self) -> float:
        return self.peak_w / 1000


@dataclass(frozen=True, slots=True)
class Fleet:
    """The members of the fleet in the file, and the days that it spans; `path` to ask it for
    more."""

    path: Path
    sites: tuple[Site, ...]
    loggers: tuple[Logger, ...]
    first_day: date
    last_day: date

    @property
    def now(self) -> str:
        """The beginning of the file's last quarter of an hour, local to every site."""
        return f"{self.last_day}T23:45"

    def rows(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return _rows(self.path, statement, parameters)


FLEET_FILE = Path(__file__).with_name("fleet.sqlite")


@functools.cache
def open_fleet(path: Path = FLEET_FILE) -> Fleet:
    """Read a file's masthead. Raises sqlite3.Error when there is no such file, or another's."""
    sites = [
        Site(*row)
        for row in _rows(
            path,
            "SELECT site_id, name, time_zone, mounting, number FROM site ORDER BY site_id",
        )
    ]
    by_id = {site.site_id: site for site in sites}
    loggers = [
        Logger(number, name, by_id[site_id], *plate)
        for number, name, site_id, *plate in _rows(
            path,
            "SELECT logger_id, name, site_id, rated_w, strings_1, strings_2, string_w, gamma,"
            " commissioned FROM logger ORDER BY logger_id",
        )
    ]
    meta = dict(_rows(path, "SELECT name, value FROM meta"))
    first, last = (date.fromisoformat(meta[name]) for name in ("first_day", "last_day"))
    return Fleet(path, tuple(sites), tuple(loggers), first, last)


def _rows(path: Path, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    # `immutable`: no locks and no journal beside a file that lies in an installed package.
    address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        return connection.execute(statement, parameters).fetchall()
