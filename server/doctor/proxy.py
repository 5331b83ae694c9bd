"""Examines the way from browsers to a server that runs, with the stream of `GET /health/stream`."""

import json
from collections.abc import Sequence
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import httpx

from turnstream.server.http.info import LAST_EVENT
from turnstream.server.storage.findings import Finding

NO_WAY = "see that the proxy runs, has its certificate and passes requests to the server's port"
CODES = {
    "origin_not_allowed": "pages of this address may not call the server: have the proxy pass Host "
    "and X-Forwarded-Proto on, and name its address in TURNSTREAM_TRUSTED_PROXIES",
    "host_not_allowed": "the server does not know this name: add {host} to "
    "TURNSTREAM_ALLOWED_HOSTS, and have the proxy pass Host on",
    "limit_reached": "the server has as many streams open as it may: try again in a moment",
}


async def examine_proxy(url: str, http: httpx.AsyncClient) -> Sequence[Finding]:
    """Read the stream as a page at `url` would. It takes TURNSTREAM_PING_SECONDS, as long as a
    stream is ever silent."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    headers = {"Origin": origin, "Accept-Encoding": "gzip"}
    address = f"{parts.scheme}://{parts.netloc}{path}/health/stream"
    asked_at = monotonic()
    try:
        async with http.stream("GET", address, headers=headers) as answer:
            refusal = await _refusal(answer, str(parts.hostname))
            if refusal:
                return [refusal]
            found = _headers(answer, path)
            return [*found, *await _events(answer, parts.scheme, asked_at)]
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        text = f"{origin}{path} cannot be reached ({type(error).__name__}): {NO_WAY}"
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        text = (
            f"{origin}{path} answers as this server never does ({type(error).__name__}): {NO_WAY}"
        )
    return [Finding("fault", "proxy", text)]


async def _refusal(answer: httpx.Response, host: str) -> Finding | None:
    """Return the fault, if the answer is not the stream of our server."""
    kind = answer.headers.get("content-type", "").partition(";")[0]
    if answer.status_code == 200 and kind == "text/event-stream":
        return None
    code = ""
    if kind == "application/problem+json":
        problem: dict[str, Any] = json.loads(await answer.aread())
        code = problem.get("code", "")
    if code in CODES:
        return Finding("fault", "proxy", CODES[code].format(host=host))
    if answer.status_code in (302, 303, 401):
        text = "a login proxy stands in front: let /health/stream pass to have the rest examined"
        return Finding("warning", "proxy", text)
    said = f"{answer.status_code} {code or kind or 'without a content type'}"
    text = f"GET /health/stream is answered with {said}, not by this server: {NO_WAY}"
    return Finding("fault", "proxy", text)


def _headers(answer: httpx.Response, path: str) -> list[Finding]:
    found = []
    if "content-encoding" in answer.headers:
        text = "event streams are compressed: switch that off for text/event-stream"
        found.append(Finding("warning", "proxy", text))
    place = urlsplit(answer.headers.get("location", "")).path
    if place != f"{path}/health/stream":
        text = (
            f"the server believes to be below {place.removesuffix('/health/stream') or '/'!r}, and "
            f"is below {path or '/'!r}: set TURNSTREAM_PATH_PREFIX, or have the proxy send "
            "X-Forwarded-Prefix"
        )
        found.append(Finding("fault", "proxy", text))
    return found


async def _events(answer: httpx.Response, scheme: str, asked_at: float) -> list[Finding]:
    """Read both events, which are as far apart as events ever are: the first one comes at once."""
    read, first_at = b"", 0.0
    try:
        async for data in answer.aiter_bytes():
            first_at = first_at or monotonic()
            read += data
    except httpx.ReadTimeout:
        text = (
            "the second event has not come in time: examine with the TURNSTREAM_PING_SECONDS of "
            "the server, or have the proxy pass on the end of a stream"
        )
        return [Finding("fault", "proxy", text)]
    except httpx.TransportError:
        pass  # It was cut off: the last event is missing.
    seconds = monotonic() - asked_at
    if LAST_EVENT not in read:
        text = (
            f"a silent stream is cut off after {seconds:.0f} seconds: have the proxy wait longer "
            "between two reads, or set TURNSTREAM_PING_SECONDS to less"
        )
        return [Finding("fault", "proxy", text)]
    found = []
    if first_at - asked_at > seconds / 2:
        text = (
            "event streams are buffered: words come all at once. Have the proxy heed "
            "X-Accel-Buffering, or switch its buffering off for text/event-stream"
        )
        found.append(Finding("fault", "proxy", text))
    seen: dict[str, str] = json.loads(read.partition(b"data: ")[2].partition(b"\n")[0])
    if seen["scheme"] != scheme:
        text = (
            f"the server takes {scheme}:// for {seen['scheme']}://: have the proxy send "
            "X-Forwarded-Proto, and name its address in TURNSTREAM_TRUSTED_PROXIES"
        )
        found.append(Finding("fault", "proxy", text))
    if seen["http_version"] == "1.0":
        text = (
            "the proxy speaks HTTP/1.0 to the server, so that a broken stream looks like one that "
            "has ended: have it speak 1.1"
        )
        found.append(Finding("warning", "proxy", text))
    return found or [Finding("ok", "proxy", "streams events as they come, and keeps silent ones")]
