"""A year of weather in quarters of an hour, from the typical years that pvlib's package ships.

Sources, all in `pvlib/data`: `723170TYA.CSV` (TMY3, Greensboro NC), `12839.tm2` (TMY2, Miami FL),
`703165TY.csv` (TMY3, Sand Point AK). TMY2 and TMY3 are works of the National Renewable Energy
Laboratory for the US Department of Energy; pvlib is under the BSD 3-clause licence.

Each hour's measured irradiance is divided by that of a clear sky (Ineichen); the ratio, the
clear-sky index, is interpolated and multiplied by the clear sky of each quarter. So the sun's own
course stays exact, where interpolating the irradiance itself would cut off noon and smear dawn.
A seeded fluctuation, strongest under broken clouds, is laid over it, and each hour is scaled back
to the energy that was measured. The typical year has no 29 February: it repeats the 28th's clouds
under its own sun.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pvlib  # type: ignore[import-not-found,import-untyped,unused-ignore]

from turnstream.tools.solar.build.sites import SEED, YEAR, Site

_FILES = {"greensboro": "723170TYA.CSV", "miami": "12839.tm2", "sand_point": "703165TY.csv"}
_COLUMNS = ["ghi", "dhi", "temp_air", "wind_speed"]
_QUARTER = pd.Timedelta(minutes=15)
_DAYS_AHEAD = 14  # of clear sky after the year's end, for forecasts


@dataclass(frozen=True, slots=True)
class Weather:
    """The weather at the plant, a row a quarter of an hour, indexed by its start in UTC.

    `sky`: poa_direct, poa_diffuse, aoi, temp_air, wind_speed over the year;
    `clear_poa`: W/m2 in the array's plane under a clear sky, over the year and the days ahead.
    """

    sky: pd.DataFrame
    clear_poa: pd.Series


def local_midnight(day: date, time_zone: str) -> pd.Timestamp:
    return pd.Timestamp(datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(time_zone)))


def observe(site: Site) -> Weather:
    """The year's weather at a site, in the plane of its modules."""
    start = local_midnight(date(YEAR, 1, 1), site.time_zone).tz_convert("UTC")
    end = local_midnight(date(YEAR + 1, 1, 1), site.time_zone).tz_convert("UTC")
    ahead = pd.date_range(start, end + timedelta(days=_DAYS_AHEAD), freq=_QUARTER, inclusive="left")
    place = pvlib.location.Location(site.latitude, site.longitude, "UTC", site.altitude)
    middle = ahead + _QUARTER / 2
    sun = place.get_solarposition(middle).set_index(ahead)
    clear = place.get_clearsky(middle, model="ineichen").set_index(ahead)
    extra = pd.Series(pvlib.irradiance.get_extra_radiation(middle).to_numpy(), index=ahead)
    clear_poa = _in_plane(site, sun, extra, clear)
    year = ahead[ahead < end]
    sky = _quarters(site, _typical_year(site.station), clear["ghi"], year)
    sky = _with_beam(sky, sun.loc[year], extra.loc[year])
    plane = _in_plane(site, sun.loc[year], extra.loc[year], sky)
    return Weather(
        sky=plane.join(sky[["temp_air", "wind_speed"]]), clear_poa=clear_poa["poa_global"]
    )


def _typical_year(station: str) -> pd.DataFrame:
    """8760 rows in local standard time, the index at the start of each hour of `YEAR - 1`."""
    path = Path(pvlib.__file__).parent / "data" / _FILES[station]
    if path.suffix == ".tm2":
        frame, meta = pvlib.iotools.read_tmy2(path)
        frame = frame.rename(columns={"GHI": "ghi", "DHI": "dhi"})
        frame["temp_air"] = frame["DryBulb"] / 10
        frame["wind_speed"] = frame["Wspd"] / 10
    else:
        frame, meta = pvlib.iotools.read_tmy3(path, map_variables=True)
    hours = pd.date_range(f"{YEAR - 1}-01-01", periods=8760, freq="h")
    typical: pd.DataFrame = frame[_COLUMNS].astype(float).set_axis(hours, axis=0)
    typical.attrs["offset"] = float(meta["TZ"])
    return typical


def _quarters(
    site: Site, typical: pd.DataFrame, clear_ghi: pd.Series, year: pd.DatetimeIndex
) -> pd.DataFrame:
    """The typical year's hours laid on the real year's quarters: ghi, dhi, temperature, wind."""
    standard = (year + pd.Timedelta(hours=typical.attrs["offset"])).tz_localize(None)
    leap_day = (standard.month == 2) & (standard.day == 29)
    asked = np.where(leap_day, standard - pd.Timedelta(days=1), standard)
    hour = pd.DatetimeIndex(asked).floor("h").map(lambda at: at.replace(year=YEAR - 1))
    hourly = typical.loc[hour].set_axis(year, axis=0)
    group = pd.Series(standard.floor("h"), index=year)

    clear = clear_ghi.loc[year]
    clear_hour = clear.groupby(group).transform("mean")
    seen = clear_hour > 20
    index = _smooth((hourly["ghi"] / clear_hour).where(seen), group).clip(0, 1.3)
    index *= 1 + _flicker(site, index)
    ghi = index * clear
    scale = hourly["ghi"] / ghi.groupby(group).transform("mean").where(lambda mean: mean > 1)
    ghi = ghi * scale.fillna(1).clip(0.5, 2)
    diffuse = _smooth((hourly["dhi"] / hourly["ghi"]).where(seen & (hourly["ghi"] > 5)), group)
    return pd.DataFrame(
        {
            "ghi": ghi,
            "dhi": ghi * diffuse.clip(0.02, 1),
            "temp_air": _smooth(hourly["temp_air"], group),
            "wind_speed": _smooth(hourly["wind_speed"], group),
        }
    )


def _smooth(hourly: pd.Series, group: pd.Series) -> pd.Series:
    """A value an hour, repeated on its quarters, drawn as a line between the hours' middles."""
    minutes = (group.index.to_series() - group.index[0]) / pd.Timedelta(minutes=1) + 7.5
    middle = minutes.groupby(group).transform("mean")
    first = ~group.duplicated() & hourly.notna()
    return pd.Series(
        np.interp(minutes.to_numpy(), middle[first].to_numpy(), hourly[first].to_numpy()),
        index=hourly.index,
    )


def _flicker(site: Site, index: pd.Series) -> pd.Series:
    """Relative fluctuation within the hour; none under a clear or a fully covered sky."""
    draw = np.random.RandomState(SEED + site.number).standard_normal(len(index))
    part = index.clip(0, 1)
    return pd.Series(np.clip(draw, -2.5, 2.5), index=index.index) * 0.5 * part * (1 - part)


def _with_beam(sky: pd.DataFrame, sun: pd.DataFrame, extra: pd.Series) -> pd.DataFrame:
    """The beam follows from closure: ghi = dhi + dni * cos(zenith); low suns have none."""
    cosine = np.cos(np.radians(sun["apparent_zenith"]))
    beam = ((sky["ghi"] - sky["dhi"]) / cosine.where(cosine > 0.05)).fillna(0)
    return sky.assign(dni=beam.clip(lower=0).clip(upper=0.8 * extra))


def _in_plane(site: Site, sun: pd.DataFrame, extra: pd.Series, sky: pd.DataFrame) -> pd.DataFrame:
    """Irradiance on the modules (Hay-Davies): poa_global, poa_direct, poa_diffuse, aoi."""
    zenith, azimuth = sun["apparent_zenith"], sun["azimuth"]
    if site.tilt is None:
        turned = pvlib.tracking.singleaxis(zenith, azimuth, 0, 180, 60, True, 0.35)
        tilt, facing = turned["surface_tilt"].fillna(0), turned["surface_azimuth"].fillna(180)
    else:
        tilt = pd.Series(site.tilt, index=sun.index)
        facing = pd.Series(180.0, index=sun.index)
    plane = pvlib.irradiance.get_total_irradiance(
        tilt,
        facing,
        zenith,
        azimuth,
        sky["dni"],
        sky["ghi"],
        sky["dhi"],
        dni_extra=extra,
        model="haydavies",
    )
    aoi = pvlib.irradiance.aoi(tilt, facing, zenith, azimuth)
    sums: pd.DataFrame = plane[["poa_global", "poa_direct", "poa_diffuse"]].fillna(0)
    return sums.assign(aoi=aoi)
