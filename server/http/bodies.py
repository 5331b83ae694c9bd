"""Reading a request's JSON body, once, at the door, within bounds of size."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

from server.http.byte_budget import ByteBudget
from server.http.problems import Problem
from tools import strict_json
from tools.json_size import ValueCount

T = TypeVar("T")

ASIDE_BYTES = 1_000_000
"""A larger body is read on another thread, so that others have their turn meanwhile."""

MAX_ANONYMOUS_BYTES = 20_000
"""Bytes of a body whose sender is not recognised yet."""
ANONYMOUS_SHARE = 50
"""All such bodies have a fiftieth of the room of the others, beside it."""


class Bodies:
    """`max_values` bounds the time that a body takes, which its bytes do not: `[],[],[],...` takes
    a hundred times as long as a text of the same size. `max_together` is for all bodies that are
    being read."""

    def __init__(self, max_bytes: int, max_values: int, max_together: int) -> None:
        self.max_bytes = max_bytes
        self._max_values = max_values
        self._room = ByteBudget("MAX_BODIES_BYTES", max_together)

    @property
    def together(self) -> int:
        """Bytes of all bodies that are being read."""
        return self._room.held

    async def read(self, request: Request[Any], make: Callable[[Any], T]) -> tuple[T, bytes]:
        """What `make` makes of a request's JSON, and the body's bytes.

        Raises what `make` raises, and Problem: 415 for another content type (any page may send
        those to a local server), 413 for too much, 400 for what is not valid JSON, 503 while there
        is no room for the body.
        """
        _check_content_type(request)
        held = bytearray()
        try:
            await self._receive(request, held)
            body = bytes(held)
            if len(body) > ASIDE_BYTES:
                return await asyncio.to_thread(lambda: make(_value(body))), body
            return make(_value(body)), body
        finally:
            self._room.give_back(len(held))

    async def _receive(self, request: Request[Any], body: bytearray) -> None:
        values, counted = ValueCount(), 0
        try:
            async for piece in request.stream():
                self._check_size(len(body) + len(piece))
                self._room.take(len(piece))
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


def anonymous_bodies(max_together: int) -> Bodies:
    """Bodies of callers who may be anybody: small, and apart from those of known callers, whom a
    flood of them takes no room."""
    together = max(max_together // ANONYMOUS_SHARE, MAX_ANONYMOUS_BYTES)
    return Bodies(MAX_ANONYMOUS_BYTES, MAX_ANONYMOUS_BYTES, together)


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
    if isinstance(error, json.JSONDecodeError) or str(error) == strict_json.TOO_DEEP:
        return str(error)
    return "it has NaN, an infinity, or a number of too many digits"
