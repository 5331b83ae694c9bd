"""The OpenAPI 3.1 document, made from the routes and the declarations of their endpoints.

A route without a declaration is left out; a test fails for it.
"""

import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema
from starlette.routing import Route
from starlette.types import ASGIApp

from turnstream.server.extensions.base import Extension
from turnstream.server.formats import Formats, body_schemas
from turnstream.server.formats.body_schemas import Schema, Served, an_object, choice, ref
from turnstream.server.formats.graph_values import ToolNames
from turnstream.server.formats.langgraph import schemas as langgraph
from turnstream.server.formats.langgraph.api import ApiKeyHeader
from turnstream.server.formats.langgraph.options import OMITTED
from turnstream.server.formats.metadata_schemas import INTERRUPT, any_of
from turnstream.server.http import operations as vocabulary
from turnstream.server.http.authenticated import Authenticated
from turnstream.server.http.guard import SAFE_METHODS
from turnstream.server.http.operations import TEXT, Answer, Operation, Shape
from turnstream.server.http.permitted import Permitted
from turnstream.server.turns import problem_codes
from turnstream.server.turns.problem_codes import Problems, by_status, pick

DESCRIPTION = """Serves a LangGraph graph to browsers. Errors are problems (RFC 9457) with a stable
`code`: LangGraph's SDK for Python raises them with their `code` and, as the message, their
`detail`. Whatever takes GET takes HEAD; another method is a 405 `method_not_allowed` with `Allow`,
an unknown address a 404 `not_found`."""
TAGS = {
    **dict.fromkeys(("threads", "export"), "threads"),
    **dict.fromkeys(("login", "logout", "me"), "callers"),
    "chat": "turns",
    "ag-ui": "ag-ui",
    "langgraph": "langgraph",
}
"""By the first segment of an address; the others are of the tag `server`."""
PROBLEM = "application/problem+json"
CALLER = "\0caller"
"""The place of the caller's id in the text that all callers share."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The properties of a server, and of a caller, that the document describes."""

    formats: Formats
    served: Served
    caller: str
    """The caller's id."""
    extensions: tuple[Extension, ...] = ()
    components: tuple[tuple[str, str], ...] = ()
    """The components that `render_ui_component` draws: names, and the schemas of their props as
    JSON."""
    routes: Sequence[Route] = field(default=(), compare=False)
    """The routes of the server; formats and extensions decide which."""

    @property
    def schemes(self) -> Mapping[str, Mapping[str, Any]]:
        """The security schemes; none while authentication is off."""
        found = dict[str, Mapping[str, Any]]()
        for each in self.extensions:
            found.update(each.security_schemes())
        return found


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method of a route."""

    method: str
    route: Route

    @property
    def handler(self) -> Any:
        return getattr(self.route.endpoint, self.method.lower())

    @property
    def operation(self) -> Operation:
        """The declaration; one without an id if there is none."""
        declared: Operation = getattr(self.handler, vocabulary.OPERATION, Operation("", {}))
        return declared

    @property
    def layers(self) -> set[type]:
        """The middleware of the route."""
        layers = set[type]()
        app: ASGIApp | None = self.route.app
        while app is not None:
            layers.add(type(app))
            app = getattr(app, "app", None)
        return layers


def endpoints(routes: Sequence[Route]) -> Iterator[Endpoint]:
    """Yield the methods of the routes, those without a declaration too."""
    for route in routes:
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            if hasattr(route.endpoint, method.lower()):
                yield Endpoint(method, route)


def encoded(subject: Subject) -> bytes:
    """Return the document of the subject's routes as JSON."""
    caller = json.dumps(subject.caller).encode()
    return shared_text(replace(subject, caller=CALLER)).replace(json.dumps(CALLER).encode(), caller)


@lru_cache(maxsize=16)
def shared_text(subject: Subject) -> bytes:
    """Return the document as JSON. It is kept for the next request."""
    return json.dumps(document(subject.routes, subject), separators=(",", ":")).encode()


def document(routes: Sequence[Route], subject: Subject) -> dict[str, Any]:
    declared = [one for one in endpoints(routes) if one.operation.id]
    types, components = _types([one.operation for one in declared])
    paths: dict[str, dict[str, Any]] = {}
    for one in declared:
        paths.setdefault(one.route.path, {})[one.method.lower()] = _described(one, subject)
    schemas = {**_components(subject), **_resolved(components, types)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "turnstream",
            "version": version("turnstream"),
            "description": DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": tag} for tag in dict.fromkeys(map(_tag, paths))],
        "paths": _resolved(paths, types),
        "components": _without_empty({"schemas": schemas, "securitySchemes": subject.schemes}),
    }


def _without_empty(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value}


def _tag(path: str) -> str:
    return TAGS.get(path.split("/")[1], "server")


def _described(endpoint: Endpoint, subject: Subject) -> dict[str, Any]:
    operation = endpoint.operation
    summary, _, description = (inspect.getdoc(endpoint.handler) or "").partition("\n\n")
    said = {
        "operationId": operation.id,
        "summary": _line(summary).removesuffix("."),
        "description": _line(description),
        "tags": [_tag(endpoint.route.path)],
        "parameters": [*_parameters(endpoint)],
        "requestBody": _request_body(operation),
        "responses": _responses(operation, _problems(endpoint, subject)),
    }
    return {**_without_empty(said), "security": _security(endpoint, subject)}


def _line(text: str) -> str:
    return " ".join(text.split())


def _parameters(endpoint: Endpoint) -> Iterator[dict[str, Any]]:
    operation = endpoint.operation
    for name in endpoint.route.param_convertors:
        schema = _schema(operation.path.get(name, TEXT))
        yield {"name": name, "in": "path", "required": True, "schema": schema}
    for place, given in (("query", operation.query), ("header", operation.headers)):
        for name, one in given.items():
            described = {"schema": one.schema, "description": one.says}
            required = {"required": True} if one.is_required else {}
            yield {"name": name, "in": place, **required, **described}


def _request_body(operation: Operation) -> dict[str, Any]:
    if operation.body is None:
        return {}
    examples = {name: {"value": body} for name, body in operation.examples.items()}
    content = _without_empty({"schema": _schema(operation.body), "examples": examples})
    return {"required": True, "content": {vocabulary.JSON: content}}


def _responses(operation: Operation, problems: Problems) -> dict[str, Any]:
    good = {status: _answer(answer) for status, answer in _answers(operation).items()}
    bad = {status: _problem(status, codes) for status, codes in by_status(problems).items()}
    both = {status: _either(good[status], bad[status]) for status in good.keys() & bad.keys()}
    responses = {**good, **bad, **both}
    return {str(status): responses[status] for status in sorted(responses)}


def _answers(operation: Operation) -> Mapping[int, Answer]:
    given = operation.answers
    return {200: given} if isinstance(given, Answer) else given


def _answer(answer: Answer) -> dict[str, Any]:
    headers = {
        **{name: {"schema": TEXT, "required": True} for name in answer.headers},
        **{name: {"schema": TEXT} for name in answer.may_have},
    }
    content = {} if answer.shape is None else {answer.media_type: {"schema": _schema(answer.shape)}}
    said = {"description": answer.says, "headers": headers, "content": content}
    return _without_empty(said)


def _problem(status: int, codes: Sequence[str]) -> dict[str, Any]:
    of_these = {"properties": {"status": {"const": status}, "code": choice(*codes)}}
    seconds = {"schema": {"type": "integer", "minimum": 0}}
    return {
        "description": f"{HTTPStatus(status).phrase}: {', '.join(f'`{code}`' for code in codes)}.",
        **({"headers": {"Retry-After": seconds}} if status in (429, 503) else {}),
        "content": {PROBLEM: {"schema": {"allOf": [ref("Problem"), of_these]}}},
    }


def _either(answer: dict[str, Any], problem: dict[str, Any]) -> dict[str, Any]:
    """Describe a status that an answer and problems have."""
    return {
        **problem,
        "description": f"{answer['description']} Or {problem['description']}",
        "content": {**answer["content"], **problem["content"]},
    }


def _problems(endpoint: Endpoint, subject: Subject) -> Problems:
    """Return the problems of the operation, of reading its body, and of the middleware."""
    layers, is_safe = endpoint.layers, endpoint.method in SAFE_METHODS
    found = endpoint.operation.problems | problem_codes.CONNECTION | problem_codes.HOST
    found |= pick("internal_error", "limit_reached")
    if endpoint.operation.body is not None:
        found |= problem_codes.BODY
    if not is_safe or endpoint.route.path.endswith("/stream"):
        found |= pick("origin_not_allowed")
    if Authenticated in layers and subject.schemes:
        found |= problem_codes.CREDENTIALS | problem_codes.STORAGE | pick("limit_exceeded")
        if not is_safe:
            found |= pick("origin_required")
    if Permitted in layers and subject.schemes:
        found |= pick("forbidden", "limit_exceeded", "guard_failed")
        if "{thread_id}" in endpoint.route.path:
            found |= pick("thread_not_found")
    return found


def _security(endpoint: Endpoint, subject: Subject) -> list[dict[str, list[str]]]:
    if Authenticated not in endpoint.layers:
        return []
    taken = {"credentials", "session", *(["key"] if ApiKeyHeader in endpoint.layers else [])}
    return [{name: []} for name in subject.schemes if name in taken]


class _Schemas(body_schemas.BodySchemas):
    """Schemas of types. A TypedDict has no other keys, unless it is marked as open."""

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        made = super().typed_dict_schema(schema)
        del made["title"]
        if "description" in made:
            made["description"] = _line(made["description"])
        return {"additionalProperties": False, **made}

    def normalize_name(self, name: str) -> str:
        return name.removesuffix("Json").replace("LangGraph", "LangGraph.")


def _types(operations: Sequence[Operation]) -> tuple[Mapping[Shape, Schema], Mapping[str, Schema]]:
    """Return the schemas of all declared types, and the components that they refer to."""
    answers = [answer for one in operations for answer in _answers(one).values()]
    shapes = [shape for one in answers for shape in (one.shape, *one.mentions)]
    shapes += [one.body for one in operations]
    types = dict.fromkeys(one for one in shapes if not isinstance(one, str | dict | None))
    made, rest = TypeAdapter.json_schemas(
        [(one, "validation", TypeAdapter(one)) for one in types],
        ref_template=ref("{model}")["$ref"],
        schema_generator=_Schemas,
    )
    return {one: schema for (one, _), schema in made.items()}, rest["$defs"]


def _schema(shape: Shape) -> Any:
    """Return the schema of a value; `_resolved` puts that of a type in its place."""
    return ref(shape) if isinstance(shape, str) else shape


def _resolved(value: Any, types: Mapping[Shape, Schema]) -> Any:
    """Put references and schemas in the places of names and types."""
    if isinstance(value, list):
        return [_resolved(one, types) for one in value]
    if not isinstance(value, dict):
        return _resolved(types[value], types) if value in types else value
    rest = {key: _resolved(one, types) for key, one in value.items()}
    return {**ref(name), **rest} if (name := rest.pop(vocabulary.COMPONENT, "")) else rest


def _components(subject: Subject) -> dict[str, Schema]:
    """Return the components that no type declares."""
    checkpoint_id = langgraph.CHECKPOINT_ID
    checkpoint = an_object((), checkpoint_id=checkpoint_id)
    configured = an_object(["configurable"], configurable=checkpoint)
    bare = {**checkpoint, "not": {"required": ["configurable"]}}
    return {
        **_of_formats(subject),
        **_of_drawings(subject),
        "Confirmation": body_schemas.closed_object(["confirm"], confirm={"const": subject.caller}),
        "Interrupt": INTERRUPT,
        "LangGraph.AnyMetadata": any_of(OMITTED, {"type": "object"}),
        "LangGraph.Before": any_of(checkpoint_id, configured, bare),
        "LangGraph.Values": langgraph.values(),
        "NotBlank": {"type": "string", "pattern": body_schemas.NOT_BLANK},
        "Problem": _any_problem(),
        "Protocol": choice(*subject.formats.wire_formats),
        "ThreadId": body_schemas.THREAD_ID,
        "ToolNames": TypeAdapter(ToolNames).json_schema(schema_generator=body_schemas.BodySchemas),
    }


def _of_drawings(subject: Subject) -> dict[str, Schema]:
    """Return the schemas of the props of each component, and that of what is drawn: the result of a
    call of `render_ui_component`."""
    if not subject.components:
        return {}
    props = {f"Component.{name}": json.loads(schema) for name, schema in subject.components}
    calls = [
        an_object(
            ["component", "props"],
            component={"const": name},
            props=ref(f"Component.{name}"),
            note=TEXT,
        )
        for name, _ in subject.components
    ]
    return {**props, "ComponentCall": any_of(*calls)}


def _of_formats(subject: Subject) -> dict[str, Schema]:
    """Return the schemas of bodies, of what they are made of, and of messages. `ChatBody` is any
    body of `POST /chat`, and `Message` that of any wire format."""
    schemas = [(format.body, format.schemas()) for format in subject.formats.all]
    models = [model for _, one in schemas for model in one.MODELS]
    found = body_schemas.components(subject.served, models)
    of_chat: dict[str, Schema] = {}
    others: dict[str, Schema] = {}
    for body, one in schemas:
        (of_chat if body and body.recognises else others).update(one.bodies(found))
        others.update(one.components())
    messages = [ref(f"Message.{name}") for name in subject.formats.wire_formats]
    whole = {"ChatBody": any_of(*map(ref, of_chat)), "Message": any_of(*messages)}
    return {**of_chat, **others, **whole, **found}


def _any_problem() -> Schema:
    """Describe the problem of any operation, which names its own statuses and codes. The further
    members belong to single codes."""
    members = ("limit", "run_id", "stream_url", "stop_url", "run_state", "updated_at")
    return {
        **an_object(
            ["type", "title", "status", "code", "detail"],
            type={"const": "about:blank"},
            status={"type": "integer"},
            code={"oneOf": _codes()},
            id={**TEXT, "description": "Of the entry in the server's log."},
            login={"type": "boolean"},
            value={"type": "number"},
            new_messages={"type": "array", "items": TEXT},
            **dict.fromkeys(("title", "detail", *members), TEXT),
        ),
        "description": "A problem as of RFC 9457.",
    }


def _codes() -> list[Schema]:
    """List the codes with the meaning and the remedy of each of their statuses."""
    sentences: dict[str, list[str]] = {}
    for one in sorted(problem_codes.ALL):
        sentences.setdefault(one.code, []).append(f"{one.status}: {one.sentences}")
    return [{"const": code, "description": " ".join(all)} for code, all in sentences.items()]
