"""The yield of a healthy plant: module temperature, and each input's DC power.

PVWatts (A. Dobos, "PVWatts Version 5 Manual", NREL/TP-6A20-62641, 2014) as pvlib implements it;
module temperature after Faiman (2008); reflection on the glass after ASHRAE.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pvlib  # type: ignore[import-not-found,import-untyped,unused-ignore]

from turnstream.tools.solar.build.sites import SEED, Logger
from turnstream.tools.solar.build.weather import Weather

WIRING_LOSS = 0.03  # with mismatch and light-induced degradation
ETA = 0.96  # nominal efficiency of the inverter
_SENSOR_NOISE = 0.004
_INPUT_NOISE = 0.003


@dataclass(frozen=True, slots=True)
class Plane:
    """A site's sensors, indexed by slot start in UTC, beside what truly reached the cells."""

    poa: pd.Series
    module_c: pd.Series
    effective: pd.Series
    cell_c: pd.Series


def sense(weather: Weather, number: int) -> Plane:
    """The sensors' readings of a site: whole W/m2 and whole degrees."""
    sky = weather.sky
    cell = pvlib.temperature.faiman(sky["poa_global"], sky["temp_air"], sky["wind_speed"])
    effective = sky["poa_direct"] * pvlib.iam.ashrae(sky["aoi"]) + sky["poa_diffuse"]
    draws = np.random.RandomState(SEED + 10 + number).standard_normal((2, len(sky)))
    return Plane(
        poa=(sky["poa_global"] * (1 + _SENSOR_NOISE * draws[0])).clip(lower=0).round(),
        module_c=(cell + 0.4 * draws[1]).round(),
        effective=effective.fillna(0).clip(lower=0),
        cell_c=cell,
    )


def potential(logger: Logger, plane: Plane) -> pd.DataFrame:
    """DC power of both inputs, in W, before limits and faults: columns dc1, dc2."""
    draws = np.random.RandomState(SEED + 100 + logger.logger_id).standard_normal(
        (2, len(plane.poa))
    )
    frame = pd.DataFrame(index=plane.poa.index)
    for index, strings in enumerate(logger.strings):
        label = strings * logger.string_w * (1 - logger.mismatch * index)
        power = pvlib.pvsystem.pvwatts_dc(plane.effective, plane.cell_c, label, logger.gamma)
        frame[f"dc{index + 1}"] = power * (1 - WIRING_LOSS) * (1 + _INPUT_NOISE * draws[index])
    return frame


def deliver(logger: Logger, dc: pd.DataFrame, limit_w: pd.Series) -> pd.DataFrame:
    """Readings from DC power: what is over the limit is not drawn. Columns ac_w, dc1_w, dc2_w.

    `limit_w` is the AC power that the inverter allows itself, slot by slot.
    """
    total = dc["dc1"] + dc["dc2"]
    own = pvlib.inverter.pvwatts(total, logger.rated_w / ETA, ETA)
    ac = np.minimum(own, limit_w)
    drawn = (ac / own.where(own > 0)).fillna(0) * np.minimum(
        1, (logger.rated_w / ETA / total.where(total > 0)).fillna(1)
    )
    asleep = own < 0.004 * logger.rated_w
    table = pd.DataFrame({"ac_w": ac, "dc1_w": dc["dc1"] * drawn, "dc2_w": dc["dc2"] * drawn})
    return table.mask(asleep, 0).clip(lower=0).round()
