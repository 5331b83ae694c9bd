"""convert_units: right, also with offsets, and never stuck."""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.tools import ToolException
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import ValidationError

from tests.support.tool_invocation import (
    call,
    for_client,
    for_model,
    refusal,
)
from turnstream.tools.conversion import MAX_CHARS, convert
from turnstream.tools.units import convert_units


@pytest.mark.parametrize(
    ("value", "from_unit", "to_unit", "result"),
    [
        (5, "km", "m", 5000),
        (5, "km/h", "m/s", 5 / 3.6),
        (1, "mile", "km", 1.609344),
        (1, "feet", "inches", 12),
        (1, "m^2", "cm**2", 10_000),
        (1, "m²", "cm²", 10_000),
        (1, "m^-1", "1/km", 1000),
        (1, "m s^-1", "km/h", 3.6),
        (1, "m·s^-1", "km per hour", 3.6),
        (1, "J/(kg*K)", "kJ/(kg K)", 0.001),
        (1, "kWh", "MJ", 3.6),
        (1, "kilowatt_hour", "joule", 3.6e6),
        (1, "cubic meters", "liters", 1000),
        (1, "µm", "nm", 1000),
        (1, "kΩ", "ohm", 1000),
        (50, "%", "ppm", 500_000),
        (180, "°", "radian", math.pi),
        (20, "degC", "degF", 68),
        (20, "celsius", "fahrenheit", 68),
        (20, "Celsius", "Fahrenheit", 68),
        (20, "°C", "°F", 68),
        (0, "kelvin", "degC", -273.15),
        (-40, "degF", "degC", -40),
        (300, "K", "°C", 26.85),
        (9, "delta_degF", "delta_degC", 5),
        (1, "degC/m", "K/m", 1),
        (-2.5, "m", "cm", -250),
        (0, "m", "ft", 0),
        (10, "dBm", "mW", 10),
    ],
)
def test_a_value_is_converted(value: float, from_unit: str, to_unit: str, result: float) -> None:
    converted = for_model(convert_units, value=value, from_unit=from_unit, to_unit=to_unit)
    assert converted["result"] == pytest.approx(result)
    assert converted["value"] == value


def test_the_result_names_the_units_as_they_were_understood() -> None:
    assert for_client(convert_units, value=20, from_unit="°C", to_unit="degF") == {
        "value": 20,
        "from_unit": "degree_Celsius",
        "result": 68.0,
        "to_unit": "degree_Fahrenheit",
    }


def test_the_result_for_a_large_integer_can_be_saved_in_a_checkpoint() -> None:
    serializer = JsonPlusSerializer()
    message = call(convert_units, value=2**70, from_unit="m", to_unit="km")
    assert serializer.loads_typed(serializer.dumps_typed(message)).artifact == message.artifact


def test_capitals_of_a_symbol_are_kept() -> None:
    assert convert(1, "MW", "mW")["result"] == 1e9


def test_units_of_different_things_are_refused_with_both_dimensions() -> None:
    sentence = refusal(convert_units, value=1, from_unit="m", to_unit="kg")
    assert "meter ([length])" in sentence
    assert "kilogram ([mass])" in sentence


@pytest.mark.parametrize(
    ("unit", "meant"),
    [
        ("metr", "meter"),
        ("kilometrs", "kilometer"),
        ("fahrenhiet", "fahrenheit"),
        ("kwh", "kilowatt_hour"),
    ],
)
def test_an_unknown_unit_is_answered_with_what_may_be_meant(unit: str, meant: str) -> None:
    for pair in ({"from_unit": unit, "to_unit": "m"}, {"from_unit": "m", "to_unit": unit}):
        sentence = refusal(convert_units, value=1, **pair)
        assert repr(unit) in sentence
        assert meant in sentence


def test_an_unknown_unit_like_no_other_is_answered_with_how_to_write_units() -> None:
    assert '"km/h"' in refusal(convert_units, value=1, from_unit="wibble", to_unit="m")


def test_the_longest_unit_of_the_largest_powers_is_answered_at_once() -> None:
    unit = "*".join(["quettam^9"] * 6)
    assert len(unit) <= MAX_CHARS
    sentence = refusal(convert_units, value=1, from_unit=unit, to_unit=unit.replace("quettam", "m"))
    assert "not a finite number" in sentence or "cannot be converted" in sentence


@pytest.mark.parametrize(
    ("value", "from_unit", "to_unit"),
    [
        (math.nan, "m", "km"),
        (math.inf, "m", "km"),
        (-math.inf, "degC", "degF"),
        (1e308, "km", "mm"),
        (10**400, "m", "m"),
        (-5, "mW", "dBm"),
        (0, "mW", "dBm"),
    ],
)
def test_what_is_not_finite_is_refused(value: float, from_unit: str, to_unit: str) -> None:
    sentence = refusal(convert_units, value=value, from_unit=from_unit, to_unit=to_unit)
    assert "finite" in sentence or "cannot be converted" in sentence


@pytest.mark.parametrize("value", ["1", True, None])
def test_only_a_number_is_converted(value: Any) -> None:
    with pytest.raises(ValidationError):
        call(convert_units, value=value, from_unit="m", to_unit="km")


def test_threads_may_convert_at_once() -> None:
    units = ["km", "mile", "ft", "inch", "cm", "furlong", "yard", "light_year"] * 8
    with ThreadPoolExecutor(8) as pool:
        there = [result["result"] for result in pool.map(convert, [1] * 64, units, ["m"] * 64)]
        back = [result["result"] for result in pool.map(convert, there, ["m"] * 64, units)]
    assert back == pytest.approx([1] * len(units))


PLAIN = st.sampled_from(["m", "km", "s", "kg", "h", "in", "c", "e", "R", "k_B", "m2", "J"])
ODD = st.sampled_from(["degC", "°C", "%", "dB", "pH", "Np", "octave", "pi", "or", "nan", "squared"])
UNITS = PLAIN | ODD
POWERS = st.sampled_from(["", "", "^2", "**-9", " ^ 3", "²", "³"])
TIMES = st.sampled_from(["*", "/", " ", "·", " per ", " * "])
PRODUCTS = st.builds(
    lambda factors, times: times.join(map("".join, factors)),
    st.lists(st.tuples(UNITS, POWERS), min_size=1, max_size=4),
    TIMES,
)


@given(st.floats(), PRODUCTS | st.text(max_size=20), PRODUCTS)
def test_any_units_are_converted_to_a_finite_number_or_refused(
    value: float, from_unit: str, to_unit: str
) -> None:
    for target in (to_unit, from_unit):
        try:
            assert math.isfinite(convert(value, from_unit, target)["result"])
        except ToolException:
            continue
