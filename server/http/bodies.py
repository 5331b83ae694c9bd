"""Reading a request's JSON body, once, at the door, within bounds of size."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

from turnstream.server.callers.addresses import client_at
from turnstream.server.callers.principal import Principal
from turnstream.server.http.authenticated import PRINCIPAL
from turnstream.server.http.byte_budget import ByteBudget, Share, callers_budget
from turnstream.server.http.problems import Problem
from turnstream.tools import strict_json
from turnstream.tools.json_size import ValueCount

T = TypeVar("T")

ROOM_SETTING = "MAX_BODIES_BYTES"

ASIDE_BYTES = 1_000_000
"""A larger body is read on another thread, so that others have their turn meanwhile."""

MAX_ANONYMOUS_BYTES = 12_000
"""Bytes of a body whose sender is not recognised yet: a credential of 10,000 characters, and the
JSON around it."""
ANONYMOUS_SHARE = 50
"""Anonymous bodies have room of their own: a fiftieth of what the other bodies have."""
ADDRESS_SHARE = 50
"""The bodies from one address may take a fiftieth of the room for anonymous bodies."""


class Bodies:
    """`max_values` bounds the time that a body takes, which its bytes do not: `[],[],[],...` takes
    a hundred times as long as a text of the same size. `room` is for all bodies that are being
    read; only the bytes that have come take room."""

    def __init__(self, max_bytes: int, max_values: int, room: ByteBudget) -> None:
        self.max_bytes = max_bytes
        self._max_values = max_values
        self._room = room

    @property
    def together(self) -> int:
        """Bytes of all bodies that are being read."""
        return self._room.held

    async def read(self, request: Request[Any], make: Callable[[Any], T]) -> tuple[T, bytes]:
        """Read a request's JSON. Returns the value that `make` makes of it, and the body's bytes.

        Raises what `make` raises, and Problem: 415 for another content type (any page may send
        those to a local server), 413 for too much, 400 for what is not valid JSON, 503 while there
        is no room for the body.
        """
        _check_content_type(request)
        held, sender = bytearray(), _sender(request)
        try:
            await self._receive(request, held, sender)
            body = bytes(held)
            if len(body) > ASIDE_BYTES:
                return await asyncio.to_thread(lambda: make(_value(body))), body
            return make(_value(body)), body
        finally:
            self._room.give_back(len(held), sender)

    async def _receive(self, request: Request[Any], body: bytearray, sender: str) -> None:
        values, counted = ValueCount(), 0
        try:
            async for piece in request.stream():
                self._check_size(len(body) + len(piece))
                self._room.take(len(piece), sender)
                body += piece
                if len(body) > self._max_values:  # each value takes a byte or more
                    values.feed(bytes(body[counted:]))
                    counted = len(body)
                    self._check_values(values.count)
        except ClientDisconnect:
            raise Problem(400, "malformed_json", "The body broke off.") from None

    def _check_size(self, size: int) -> None:
        if size > self.max_bytes:
            raise _too_large(f"is larger than {self.max_bytes} bytes", "MAX_BODY_BYTES")

    def _check_values(self, count: int) -> None:
        if count > self._max_values:
            raise _too_large(f"has more than {self._max_values} JSON values", "MAX_BODY_VALUES")


def callers_bodies(
    max_bytes: int, max_values: int, max_together: int, *, knows_callers: bool
) -> Bodies:
    """Bodies of callers who are recognised, or of all callers without authentication."""
    room = callers_budget(ROOM_SETTING, max_together, are_known=knows_callers, least_each=max_bytes)
    return Bodies(max_bytes, max_values, room)


def anonymous_bodies(max_together: int) -> Bodies:
    """Bodies of callers who may be anybody: small, and with a budget of their own, so that a flood
    of them leaves room for known callers. Each address has a share, so that a flood from one leaves
    room for the others."""
    together = max(max_together // ANONYMOUS_SHARE, MAX_ANONYMOUS_BYTES)
    of_address = max(together // ADDRESS_SHARE, MAX_ANONYMOUS_BYTES)
    room = ByteBudget(
        ROOM_SETTING,
        max_together,
        part=Share("All callers who log in", together),
        each=Share("Each address that logs in", of_address),
    )
    return Bodies(MAX_ANONYMOUS_BYTES, MAX_ANONYMOUS_BYTES, room)


def _sender(request: Request[Any]) -> str:
    """The caller's id, or the address of a caller who is not recognised yet."""
    caller: Principal | None = request.scope.get(PRINCIPAL)
    if caller:
        return caller.id
    return client_at(request.client.host if request.client else "")


def _too_large(how: str, setting: str) -> Problem:
    detail = f"The body {how}. Send less, or raise TURNSTREAM_{setting}."
    return Problem(413, "body_too_large", detail)


def _check_content_type(request: Request[Any]) -> None:
    content_type = request.headers.get("content-type", "")
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise Problem(
            415,
            "not_json",
            f"The content type is {content_type[:100]!r}; send JSON with "
            "'Content-Type: application/json'.",
        )


def _value(body: bytes) -> Any:
    try:
        return strict_json.read(body)
    except ValueError as error:
        raise Problem(
            400,
            "malformed_json",
            f"The body is not JSON ({_reason(error)}). Send one JSON object in UTF-8.",
        ) from None


def _reason(error: ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 at byte {error.start}"
    if isinstance(error, json.JSONDecodeError | strict_json.TooDeepError):
        return str(error)
    return "it has NaN, an infinity, or a number of too many digits"
