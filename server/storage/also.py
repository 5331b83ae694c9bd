"""Writes of other modules that the store performs in its own transaction."""

from collections.abc import Callable, Sequence
from typing import Any

Also = Sequence[Callable[[Any], object]]
"""Each gets the connection (`sqlalchemy.Connection`), and may be called again if the transaction
was undone."""


def perform(connection: Any, also: Also) -> None:
    for write in also:
        write(connection)
