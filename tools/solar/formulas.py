"""The field's formulas, pure: plain numbers in, plain numbers out.

Units are in the names: kWh, kWp (DC power at standard test conditions), W/m2, kWh/m2.

Sources: IEC 61724-1:2021, "Photovoltaic system performance - Part 1: Monitoring" (yields,
performance ratio); A. Dobos, "PVWatts Version 5 Manual", NREL/TP-6A20-62641, 2014 (DC power,
inverter); IEA PVPS T16 "Best Practices Handbook" (forecast skill).
"""

from collections.abc import Sequence
from math import ceil, sqrt

G_STC = 1000.0  # W/m2
ETA_NOMINAL = 0.96  # inverter's nominal efficiency (PVWatts)
ETA_REFERENCE = 0.9637
DC_LOSS = 0.045  # wiring, mismatch, reflection: what a clean plant of this fleet loses before AC


def specific_yield(energy_kwh: float, peak_kwp: float) -> float:
    """Final yield Y_f = E / P0, in kWh/kWp (IEC 61724-1)."""
    return energy_kwh / peak_kwp


def performance_ratio(energy_kwh: float, peak_kwp: float, plane_kwh_m2: float) -> float | None:
    """PR = Y_f / Y_r = (E / P0) / (H / G_stc), a share (IEC 61724-1).

    H is the irradiation in the plane of the modules over the very intervals that E was measured
    in. For several plants give the sums of E and of P0 * H, with `peak_kwp` 1. With H corrected
    for temperature (each interval times 1 + gamma * (T_module - 25)) this is PR' at 25 degrees.
    None without irradiation.
    """
    if plane_kwh_m2 <= 0:
        return None
    return (energy_kwh / peak_kwp) / (plane_kwh_m2 * 1000 / G_STC)


def dc_power(peak_w: float, poa_w_m2: float, module_c: float, gamma: float) -> float:
    """P_dc = P0 * G / G_stc * (1 + gamma * (T - 25)), in W, before losses (PVWatts)."""
    return peak_w * poa_w_m2 / G_STC * (1 + gamma * (module_c - 25))


def inverter_power(dc_w: float, rated_w: float) -> float:
    """AC power in W: PVWatts' part-load curve, cut off at the rating and at zero."""
    full = rated_w / ETA_NOMINAL
    curve = -0.0162 * dc_w * dc_w / full - 0.0059 * full + 0.9858 * dc_w
    return min(rated_w, max(0.0, curve * ETA_NOMINAL / ETA_REFERENCE))


def expected_power(
    peak_w: float, rated_w: float, gamma: float, poa_w_m2: float, module_c: float
) -> float:
    """Return the power that a clean and healthy inverter delivers, in W, from what the site's
    sensors measure."""
    dc_w = dc_power(peak_w, poa_w_m2, module_c, gamma) * (1 - DC_LOSS)
    return inverter_power(dc_w, rated_w)


def savings(
    energy_kwh: float, tariff: float, feed_in: float, self_consumption: float
) -> tuple[float, float]:
    """(money not spent on energy that was used on site, money earned with energy that was sold)."""
    return energy_kwh * self_consumption * tariff, energy_kwh * (1 - self_consumption) * feed_in


def root_mean_square(errors: Sequence[float]) -> float:
    return sqrt(sum(error * error for error in errors) / len(errors))


def skill(errors: Sequence[float], reference_errors: Sequence[float]) -> float | None:
    """1 - RMSE / RMSE of the reference: 1 is perfect, 0 no better; None without a reference."""
    reference = root_mean_square(reference_errors)
    return 1 - root_mean_square(errors) / reference if reference > 0 else None


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed (nearest rank)."""
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]
