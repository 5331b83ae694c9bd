"""What the document says of one operation, and how."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from turnstream.server.http.openapi.problems import Source, together
from turnstream.server.protocols.body_schemas import Schema, choice, ref

JSON, EVENTS, LINES = "application/json", "text/event-stream", "application/x-ndjson"
PROBLEM = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that is no problem; without a schema it has no body. `headers` it always has, and
    `may_have` sometimes."""

    says: str
    schema: Schema | None = None
    media_type: str = JSON
    headers: Mapping[str, Schema] = field(default_factory=dict)
    may_have: Mapping[str, Schema] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Example:
    """A request that a fresh server answers with this status. Tests send each of them."""

    status: int
    body: Any = None
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one address. What its route's middleware answers is not listed here."""

    id: str
    summary: str
    answers: Mapping[int, Answer]
    problems: Sequence[Source] = ()
    description: str = ""
    parameters: Sequence[Mapping[str, Any]] = ()
    """Those of the address aside, whose schemas `path` has."""
    path: Mapping[str, Schema] = field(default_factory=dict)
    body: Schema | None = None
    examples: Mapping[str, Example] = field(default_factory=dict)
    """By name; the name says what they ask for."""


def query(name: str, schema: Schema, says: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema, "description": says}


def header(name: str, schema: Schema, says: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "schema": schema, "description": says}


def described(
    operation: Operation, tag: str, sources: Sequence[Source], security: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The operation as an OpenAPI object; `sources` are those of its route too."""
    parameters = [
        *(
            {"name": name, "in": "path", "required": True, "schema": schema}
            for name, schema in operation.path.items()
        ),
        *operation.parameters,
    ]
    return {
        "operationId": operation.id,
        "summary": operation.summary,
        **({"description": operation.description} if operation.description else {}),
        "tags": [tag],
        **({"parameters": parameters} if parameters else {}),
        **_request_body(operation),
        "responses": _responses(operation, sources),
        "security": [*security],
    }


def _request_body(operation: Operation) -> dict[str, Any]:
    if operation.body is None:
        return {}
    examples = {
        name: {"value": example.body}
        for name, example in operation.examples.items()
        if example.body is not None and example.status < HTTPStatus.BAD_REQUEST
    }
    content = {"schema": operation.body, **({"examples": examples} if examples else {})}
    return {"requestBody": {"required": True, "content": {JSON: content}}}


def _responses(operation: Operation, sources: Sequence[Source]) -> dict[str, Any]:
    good = {status: _answer(answer) for status, answer in operation.answers.items()}
    bad = {status: _problem(status, codes) for status, codes in together(sources).items()}
    both = {status: _either(good[status], bad[status]) for status in good.keys() & bad.keys()}
    responses = {**good, **bad, **both}
    return {str(status): responses[status] for status in sorted(responses)}


def _answer(answer: Answer) -> dict[str, Any]:
    headers = {
        **{name: {"schema": schema, "required": True} for name, schema in answer.headers.items()},
        **{name: {"schema": schema} for name, schema in answer.may_have.items()},
    }
    content = {} if answer.schema is None else {answer.media_type: {"schema": answer.schema}}
    return {
        "description": answer.says,
        **({"headers": headers} if headers else {}),
        **({"content": content} if content else {}),
    }


def _problem(status: int, codes: Sequence[str]) -> dict[str, Any]:
    of_these = {"properties": {"status": {"const": status}, "code": choice(*codes)}}
    return {
        "description": f"{HTTPStatus(status).phrase}: {', '.join(f'`{code}`' for code in codes)}.",
        **({"headers": {"Retry-After": {"schema": _SECONDS}}} if status in (429, 503) else {}),
        "content": {PROBLEM: {"schema": {"allOf": [ref("Problem"), of_these]}}},
    }


_SECONDS: Schema = {"type": "integer", "minimum": 0}


def _either(answer: dict[str, Any], problem: dict[str, Any]) -> dict[str, Any]:
    """A status that some answers and some problems have."""
    return {
        **problem,
        "description": f"{answer['description']} Or {problem['description']}",
        "content": {**answer["content"], **problem["content"]},
    }
