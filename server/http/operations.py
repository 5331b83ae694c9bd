"""The vocabulary in which endpoints declare their operations: plain data, which nothing reads
before an extension makes a document of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from pydantic import Field, WithJsonSchema

from turnstream.server.turns.problem_codes import NO_PROBLEMS, Problems

JSON, EVENTS, LINES = "application/json", "text/event-stream", "application/x-ndjson"
COMPONENT = "x-component"
OPERATION = "operation"
"""The attribute of a method that has its declaration."""

Schema = dict[str, Any]
Shape = Any
"""The form of a value: a type, a JSON Schema, or the name of a component. A TypedDict becomes a
component, `ThreadJson` as `Thread`; it has no other keys, unless it is marked as open."""
Method = TypeVar("Method", bound=Callable[..., Any])

Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}


def says(text: str) -> Any:
    """Annotate a type with its description."""
    return Field(description=text)


def refer(name: str) -> Schema:
    """Return the schema of a component."""
    return {COMPONENT: name}


def component(name: str) -> WithJsonSchema:
    """Annotate a type that has the schema of a component."""
    return WithJsonSchema(refer(name))


def one_of(values: Sequence[str]) -> Schema:
    return {"enum": [*values]}


def list_of(name: str, most: int) -> Schema:
    """Return the schema of a list of a component."""
    return {"type": "array", "maxItems": most, "items": refer(name)}


def whole_number(least: int, most: int, default: int) -> Schema:
    return {"type": "integer", "minimum": least, "maximum": most, "default": default}


@dataclass(frozen=True, slots=True)
class Answer:
    """A response that is no problem. It always has `headers`, and sometimes `may_have`."""

    says: str
    shape: Shape = None
    """None: the response has no body."""
    media_type: str = JSON
    headers: Sequence[str] = ()
    may_have: Sequence[str] = ()
    mentions: Sequence[Shape] = ()
    """Further types that `says` names by their components."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the query, or a header."""

    says: str
    schema: Schema = field(default_factory=lambda: TEXT)
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """A declaration, as the decorator of an endpoint's method. The docstring of the method is the
    summary and, after a blank line, the description. Problems of the route's middleware, and of
    reading a body, are not listed."""

    id: str
    answers: Answer | Mapping[int, Answer]
    """By status; a single answer has 200."""
    problems: Problems = NO_PROBLEMS
    query: Mapping[str, Parameter] = field(default_factory=dict)
    headers: Mapping[str, Parameter] = field(default_factory=dict)
    path: Mapping[str, Shape] = field(default_factory=dict)
    """The parameters of the address that cannot be any text."""
    body: Shape = None
    examples: Mapping[str, Any] = field(default_factory=dict)
    """Bodies that a fresh server accepts, by name."""

    def __call__(self, method: Method) -> Method:
        setattr(method, OPERATION, self)
        return method
