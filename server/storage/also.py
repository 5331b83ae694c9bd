"""Writes of others that join a transaction of the store: they are there with it, or not at all."""

from collections.abc import Callable, Sequence

from sqlalchemy import Connection

Also = Sequence[Callable[[Connection], object]]
"""May be called again if the transaction was undone."""


def perform(connection: Connection, also: Also) -> None:
    for write in also:
        write(connection)
