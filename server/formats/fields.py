"""Request bodies as pydantic models: their base, the types of fields, the sentence of a fault.

Reading is strict: `"1"` is not 1. A null is as good as a missing key. Of several faults the first
in the order of the model's fields is named. A list or an object of a client is read up to its first
fault, so that a body of bad items costs no more than its size.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from reprlib import Repr
from typing import Annotated, Any, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic import GetCoreSchemaHandler as Handler
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, ErrorDetails, core_schema

from turnstream.server.formats.json_text import dumps
from turnstream.server.turns.requests import InvalidRequest

THREAD_ID = "^[A-Za-z0-9_-]{1,128}$"
_THREAD_ID = re.compile(THREAD_ID)
_THREAD_REMEDY = "use 1 to 128 of A-Z, a-z, 0-9, _ and -, or leave it out for a new thread"
_MOST_NAMED = 3
_MAX_KEY_CHARS = 40
_KINDS = "one of "
"""Beginning of the message of a fault that a choice among models has found."""
_EXPECTED = {
    "string_type": "send a string",
    "string_too_short": "send a string that is not empty",
    "bool_type": "send true or false",
    "list_type": "send a JSON array",
    "dict_type": "send a JSON object",
    "model_type": "send a JSON object",
    "model_attributes_type": "send a JSON object",
    "missing": "send what it lacks",
}
"""Remedies, by pydantic's name of a fault."""

_repr = Repr()
_repr.maxstring = _repr.maxother = 60


@dataclass(frozen=True, slots=True)
class BodyLimits:
    max_message_chars: int
    """Bound of the text of a message, and of each other thing that a request adds, as JSON."""
    max_images: int = 10
    """Bound of one message."""
    max_image_bytes: int = 8_000_000
    """Bound of the `data:` URLs of one message's images, together."""
    takes_app_context: bool = True
    """False: texts of an app for the model have no effect."""


def shown(value: Any) -> str:
    return _repr.repr(value)


class Fault(ValueError):
    """A value that cannot be accepted. The sentence begins with the value's place; `rest` follows
    it."""

    def __init__(self, code: str, rest: str) -> None:
        super().__init__(rest)
        self.code = code
        self.rest = rest


@contextmanager
def at(where: str) -> Iterator[None]:
    """Name the place of a Fault. Raises InvalidRequest."""
    try:
        yield
    except Fault as fault:
        raise InvalidRequest(fault.code, f"{where} {fault.rest}") from None


@dataclass(frozen=True, slots=True)
class Otherwise:
    """Metadata of a field: the code of any fault of its value, and the remedy, which is to send one
    of its literals if it has some."""

    code: str
    remedy: str = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: Handler) -> CoreSchema:
        schema: Any = handler(source)
        remedy = self.remedy or f"send {' or '.join(schema['expected'])}"
        return core_schema.custom_error_schema(schema, self.code, custom_error_message=remedy)


class FirstFault:
    """Metadata of a list or an object: reading ends at the first fault."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Handler) -> Any:
        return {**handler(source), "fail_fast": True}


Tag = Callable[[Any], str | None]


def own_type(value: Any) -> str | None:
    """Return an object's `type`. In Python, so that other threads run between a list's items."""
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else None


@dataclass(frozen=True, slots=True)
class OneOf:
    """Metadata of a choice among models, each with its own `type`; any other type has the code."""

    code: str
    tag: Tag = own_type

    def __get_pydantic_core_schema__(self, source: Any, handler: Handler) -> CoreSchema:
        models = {type_of(model): model for model in get_args(source) or (source,)}
        choices = {_tagged(type): handler.generate_schema(one) for type, one in models.items()}
        return core_schema.tagged_union_schema(
            choices,
            lambda value: _tagged(self.tag(value)),
            custom_error_type=self.code,
            custom_error_message=f"{_KINDS}{', '.join(models)}",
        )


def _tagged(type: str | None) -> str | None:
    """Return the tag of a choice: a step to a fault, which no place in the body has."""
    return type and f"<{type}>"


def type_of(model: type[BaseModel]) -> str:
    """The literal that is the `type` of a model's objects."""
    return str(get_args(model.model_fields["type"].annotation)[0])


def depends_on_server(what: str) -> WithJsonSchema:
    """The schema of a field that `turnstream.server.formats.body_schemas` makes for a server."""
    return WithJsonSchema({"x-served": what})


def fitting_json(value: Any, limits: BodyLimits) -> Any:
    """Return the value if it can be stored and sent on as JSON. Raises Fault."""
    if not value:
        return value
    try:
        text = dumps(value)
        text.encode()
    except UnicodeEncodeError:
        raise Fault("invalid_text", "has half a surrogate pair: send whole characters.") from None
    except (ValueError, RecursionError):
        raise Fault(
            "invalid_json_value",
            "is not plain JSON (NaN, an infinity, or nested too deep): send JSON.",
        ) from None
    if len(text) > limits.max_message_chars:
        raise Fault(
            "value_too_long",
            f"has {len(text)} characters as JSON: send at most {limits.max_message_chars}.",
        )
    return value


FITTING_JSON = AfterValidator(lambda value, info: fitting_json(value, info.context))


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Text = Annotated[str, StringConstraints(min_length=0)]
"""A string of whole characters: a bound of its length has pydantic look for half pairs."""
Json = Annotated[Any, FITTING_JSON]
JsonObject = Annotated[dict[str, Any], FITTING_JSON]
WHOLE = BeforeValidator(_whole)
"""In front of a bounded integer: 3.0 is one too, as JSON Schema has it."""
ShortText = Annotated[Text, FITTING_JSON, depends_on_server("short text")]
ThreadId = Annotated[str, Field(pattern=THREAD_ID), Otherwise("invalid_thread_id", _THREAD_REMEDY)]
NewMessageId = Annotated[
    str,
    Field(pattern="^[A-Za-z0-9_-]{1,64}$"),
    Otherwise("invalid_message_id", "a message's id has 1 to 64 of A-Z, a-z, 0-9, _ and -"),
]
"""The id that a client gives a new message: without a dot, as the server's own have one."""
HeldMessageId = Annotated[
    str,
    Field(pattern="^[A-Za-z0-9_.-]{1,128}$"),
    Otherwise("invalid_message_id", "send the id of a message of the thread"),
]
"""The id of a message that the thread is to hold, whoever gave it."""


class Fields(BaseModel):
    """An object of a body; unknown keys are ignored."""

    model_config = ConfigDict(strict=True, frozen=True, defer_build=True)


class CamelFields(Fields):
    """An object whose keys are camelCase."""

    model_config = ConfigDict(alias_generator=to_camel)


class ClosedFields(Fields):
    """An object that has no unknown keys: a mistyped one would be ignored."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _before(cls, value: Any) -> Any:
        if isinstance(value, dict):
            cls.check_keys(value)
        return value

    @classmethod
    def check_keys(cls, value: Mapping[str, Any]) -> None:
        """Raises Fault."""
        known = keys(cls)
        if value.keys() <= known:
            return
        unknown = sorted(value.keys() - known)
        named = ", ".join([shown(key) for key in unknown[:_MOST_NAMED]])
        more = ", ..." if len(unknown) > _MOST_NAMED else ""
        word = "key" if len(unknown) == 1 else "keys"
        listed = f"the keys are {', '.join(known)}"
        raise Fault("unknown_key", f"has the unknown {word} {named}{more}: {listed}.")


@cache
def keys(model: type[BaseModel]) -> Set[str]:
    """List the keys of an object, in the order of the model's fields."""
    return {field.alias or name: None for name, field in model.model_fields.items()}.keys()


AnyFields = TypeVar("AnyFields", bound=Fields)


def read(
    model: type[AnyFields], value: Any, limits: BodyLimits | None = None, where: str = ""
) -> AnyFields:
    """Read an object; `where` is its place in the body. A missing key is read like a null, so that
    both have one code. Raises InvalidRequest."""
    try:
        # As `model_validate` does, which costs as much again as a small object.
        found: AnyFields = model.__pydantic_validator__.validate_python(value, context=limits)
        return found
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
    if fault["type"] != "missing":
        raise _refusal(fault, where)
    try:
        return model.model_validate(_with_null(value, _path(fault)), context=limits)
    except ValidationError as error:
        raise _refusal(error.errors(include_url=False)[0], where) from None


def _with_null(value: Any, path: Sequence[int | str]) -> Any:
    """Copy a body with a null at a place that it does not have."""
    step, *rest = path
    inner = _with_null(value[step], rest) if rest else None
    if isinstance(value, list) and isinstance(step, int):
        return [*value[:step], inner, *value[step + 1 :]]
    return {**value, step: inner}


def _path(fault: ErrorDetails) -> Sequence[int | str]:
    """The keys and indices that lead to a value. Among a fault's steps are tags of choices, too."""
    return [step for step in fault["loc"] if step != "[key]" and not str(step).startswith("<")]


def _refusal(fault: ErrorDetails, root: str) -> InvalidRequest:
    kind, given, context = fault["type"], fault["input"], fault.get("ctx", {})
    where = _place(_path(fault), root)
    code, rest = "invalid_body", f"is {shown(given)}: {_EXPECTED.get(kind, fault['msg'])}."
    match kind:
        case "value_error":
            code, rest = context["error"].code, context["error"].rest
        case "too_long" | "string_too_long":
            unit = "items" if kind == "too_long" else "characters"
            rest = f"has {len(given)} {unit}: send at most {context['max_length']}."
        case "string_unicode":
            code = "invalid_text"
            rest = f"has half a surrogate pair, in {shown(given)}: send whole characters."
        case _ if fault["msg"].startswith(_KINDS):
            return _unknown_type(kind, given, where, fault["msg"])
        case _ if kind not in _EXPECTED:
            code = kind
    return InvalidRequest(code, f"{where} {rest}")


def _unknown_type(code: str, given: Any, where: str, kinds: str) -> InvalidRequest:
    if not isinstance(given, dict):
        return InvalidRequest("invalid_body", f"{where} is {shown(given)}: send a JSON object.")
    kind = given.get("type")
    if not isinstance(kind, str):
        return InvalidRequest("invalid_body", f"{where}.type is {shown(kind)}: send a string.")
    return InvalidRequest(code, f"{where} is of the type {shown(kind)}: send {kinds}.")


def _place(path: Sequence[int | str], root: str) -> str:
    """The name of a value in a sentence, as `messages[2].parts`."""
    place = root
    for step in path:
        if isinstance(step, str) and step.isidentifier() and len(step) <= _MAX_KEY_CHARS:
            place += f".{step}" if place else step
        else:
            place += f"[{step if isinstance(step, int) else shown(step)}]"
    return place or "The body"


def without_effect(
    value: Mapping[str, Any], model: type[BaseModel], where: str = "", read: Sequence[str] = ()
) -> list[str]:
    """List the keys of an object that neither its model nor its format reads, with their place."""
    others = value.keys() - keys(model)
    return [f"{where}{key}" for key in others if value[key] is not None and key not in read]


def an_object(value: Any, where: str = "") -> Mapping[str, Any]:
    """Return a JSON object as it is. Raises InvalidRequest."""
    if not isinstance(value, dict):
        place = where or "The body"
        raise InvalidRequest("invalid_body", f"{place} is {shown(value)}: send a JSON object.")
    fields: Mapping[str, Any] = value
    return fields


def thread_id(value: Any, where: str = "The thread's id") -> str:
    """Raises InvalidRequest."""
    if not isinstance(value, str) or not _THREAD_ID.fullmatch(value):
        raise InvalidRequest("invalid_thread_id", f"{where} is {shown(value)}: {_THREAD_REMEDY}.")
    return value
