"""The fleet as it was planned: four sites, thirteen loggers, one of them not yet connected."""

from dataclasses import dataclass
from datetime import date

YEAR = 2024  # a leap year: the 29th of February is there
SEED = 61724


@dataclass(frozen=True, slots=True)
class Site:
    """The place of an array, its weather station, and the position of its modules. `tilt` in
    degrees, facing the equator; None: a single-axis tracker on a north-south axis.

    `tilt` in degrees, facing the equator; None: a single-axis tracker on a north-south axis.
    """

    site_id: str
    number: int
    name: str
    time_zone: str
    latitude: float
    longitude: float
    altitude: float
    station: str
    tilt: float | None

    @property
    def mounting(self) -> str:
        if self.tilt is None:
            return "single-axis tracker"
        return f"fixed, {self.tilt:g} degrees, south"


@dataclass(frozen=True, slots=True)
class Logger:
    """One inverter. `mismatch`: how much weaker its second input is than its label says."""

    logger_id: int
    site_id: str
    rated_w: int
    strings: tuple[int, int]
    string_w: int
    gamma: float
    mismatch: float
    commissioned: date | None = date(YEAR, 1, 1)

    @property
    def name(self) -> str:
        return f"Inverter {self.logger_id}"


SITES = (
    Site("A", 1, "Greensboro Depot", "America/New_York", 36.1, -79.95, 273, "greensboro", 10),
    Site("B", 2, "Miami Warehouse", "America/New_York", 25.8, -80.267, 2, "miami", 15),
    Site("C", 3, "Sand Point Harbor", "America/Anchorage", 55.317, -160.517, 7, "sand_point", 45),
    Site("D", 4, "Piedmont Farm", "America/New_York", 35.9, -80.1, 260, "greensboro", None),
)

LOGGERS = (
    Logger(1, "A", 20_000, (3, 3), 4_000, -0.0035, 0.004),
    Logger(2, "A", 20_000, (3, 3), 4_000, -0.0035, 0.011),
    Logger(3, "A", 25_000, (4, 4), 4_000, -0.0035, 0.007),
    Logger(4, "A", 20_000, (3, 3), 4_000, -0.0035, -0.005),
    Logger(5, "B", 20_000, (3, 3), 4_400, -0.0034, 0.009),
    Logger(6, "B", 27_600, (4, 4), 4_400, -0.0034, -0.008),
    Logger(7, "B", 17_000, (3, 3), 4_400, -0.0034, 0.003),
    Logger(8, "C", 12_000, (2, 2), 3_600, -0.0030, 0.006),
    Logger(9, "C", 12_000, (2, 2), 3_600, -0.0030, -0.004),
    Logger(10, "D", 30_000, (4, 4), 4_400, -0.0034, 0.005),
    Logger(11, "D", 30_000, (4, 4), 4_400, -0.0034, 0.010),
    Logger(12, "D", 30_000, (4, 4), 4_400, -0.0034, -0.006, date(YEAR, 5, 1)),
    Logger(13, "D", 30_000, (4, 4), 4_400, -0.0034, 0.000, None),
)
