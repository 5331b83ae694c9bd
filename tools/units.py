"""The tool that converts physical units."""

from typing import Any

from turnstream.tools.contract import real_tool
from turnstream.tools.numbers import Number


@real_tool(client_fields=["value", "from_unit", "result", "to_unit"])
def convert_units(value: Number, from_unit: str, to_unit: str) -> dict[str, Any]:
    """Convert a value from one physical unit to another.

    Args:
        value: The number to convert.
        from_unit: Its unit: a name or symbol, with * / and ^ if compound, such as "km/h", "kWh",
            "m^2", "degC" or "fahrenheit".
        to_unit: The unit to convert to.
    """
    from turnstream.tools.conversion import convert

    return convert(value, from_unit, to_unit)
