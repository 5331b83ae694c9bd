"""Every answer that a test gets is compared with the OpenAPI document: its status, its media type,
its body, the code of a problem."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import httpx
import jsonschema_rs

from tests.support.routes import EXTENSIONS, ROUTES
from turnstream.server.extensions.openapi.document import Subject, document
from turnstream.server.formats import FORMATS
from turnstream.server.formats.body_schemas import Served
from turnstream.server.formats.fields import BodyLimits

_SERVED = Served(BodyLimits(32_000), ("chat",), ("offline",), ())
SUBJECT = Subject(FORMATS, _SERVED, "local", EXTENSIONS)
EVERYTHING = document(ROUTES, SUBJECT)
"""With all that a server may have."""
_ADDRESSES = [
    (re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))), path)
    for path in EVERYTHING["paths"]
]


def documented(answer: Mapping[str, Any]) -> list[str]:
    """The codes that the document has for an answer."""
    problem = answer.get("content", {}).get("application/problem+json")
    if problem is None:
        return []
    codes: list[str] = problem["schema"]["allOf"][1]["properties"]["code"]["enum"]
    return codes


def check_event(name: str, data: Any) -> None:
    """Raises ValidationError for an event of LangGraph's wire that the document does not have."""
    jsonschema_rs.validate({**_event_data()[name], "components": EVERYTHING["components"]}, data)


@cache
def _event_data() -> dict[str, Any]:
    return {
        event["properties"]["event"]["const"]: event["properties"]["data"]["contentSchema"]
        for event in EVERYTHING["components"]["schemas"]["LangGraph.Event"]["anyOf"]
    }


async def check(answer: httpx.Response) -> None:
    """Raises AssertionError for an answer that the document does not have."""
    request = answer.request
    place = _place(request.method, request.url.path)
    if place is None or answer.headers.get("x-content-type-options") != "nosniff":
        return  # a file of the page, or an answer of a proxy's own
    path, method = place
    told = EVERYTHING["paths"][path]
    kind = answer.headers.get("content-type", "").partition(";")[0]
    said = f"{request.method} {request.url}: {answer.status_code} {kind}"
    if method not in told:
        # A preflight is 200 or 400; whoever may not come hears nothing of methods.
        statuses = (200, 400) if method == "options" else ()
        assert answer.status_code in (*statuses, 401, 403, 405, 429, 503), said
        return
    responses = told[method]["responses"]
    assert str(answer.status_code) in responses, f"{said} is not in the document"
    content = responses[str(answer.status_code)].get("content", {})
    assert kind in content or (not kind and not content), f"{said} is not in the document"
    if kind in ("application/json", "application/problem+json") and request.method != "HEAD":
        await answer.aread()
        for problem in _misfits(path, method, answer.status_code, kind, answer.content):
            raise AssertionError(f"{said} does not fit the document: {problem}")


def _place(method: str, path: str) -> tuple[str, str] | None:
    for pattern, known in _ADDRESSES:
        if pattern.fullmatch(path):
            return known, "get" if method == "HEAD" else method.lower()
    return None


def _misfits(path: str, method: str, status: int, kind: str, body: bytes) -> Iterator[str]:
    validator = _validator(path, method, status, kind)
    return (error.message[:500] for error in validator.iter_errors(json.loads(body)))


@cache
def _validator(path: str, method: str, status: int, kind: str) -> jsonschema_rs.Validator:
    answer = EVERYTHING["paths"][path][method]["responses"][str(status)]
    schema = answer["content"][kind]["schema"]
    return jsonschema_rs.validator_for({**schema, "components": EVERYTHING["components"]})
