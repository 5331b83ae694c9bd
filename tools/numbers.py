"""Numbers in the arguments of real tools."""

from typing import Annotated, TypeAlias

from pydantic import Strict, WithJsonSchema

Number: TypeAlias = Annotated[
    Annotated[int, Strict()] | Annotated[float, Strict()], WithJsonSchema({"type": "number"})
]
"""A JSON number: an int stays one, a bool or a numeric string is none."""
