"""Reading a request's JSON body, once, at the door."""

import json
from typing import Any

from starlette.requests import ClientDisconnect, Request

from server.http.problems import Problem
from tools import strict_json


async def read_json(request: Request[Any], max_bytes: int) -> tuple[Any, bytes]:
    """A request's JSON body, and its bytes, counted while they are read.

    Raises Problem: 415 for another content type (any page may send those to a local server), 413
    for too many bytes, 400 for a body that is not valid JSON.
    """
    content_type = request.headers.get("content-type", "")
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise Problem(
            415,
            "not_json",
            f"The content type is {content_type[:100]!r}; send JSON with "
            "'Content-Type: application/json'.",
        )
    body = await _read(request, max_bytes)
    try:
        return strict_json.read(body), body
    except ValueError as error:
        raise Problem(
            400,
            "malformed_json",
            f"The body is not JSON ({_reason(error)}). Send one JSON object in UTF-8.",
        ) from None


async def _read(request: Request[Any], max_bytes: int) -> bytes:
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > max_bytes:
                raise Problem(
                    413,
                    "body_too_large",
                    f"The body is larger than {max_bytes} bytes. Send less, or raise "
                    "TURNSTREAM_MAX_BODY_BYTES.",
                )
    except ClientDisconnect:
        raise Problem(400, "malformed_json", "The body broke off.") from None
    return bytes(body)


def _reason(error: ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 at byte {error.start}"
    if isinstance(error, json.JSONDecodeError) or str(error) == strict_json.TOO_DEEP:
        return str(error)
    return "it has NaN, an infinity, or a number of too many digits"
