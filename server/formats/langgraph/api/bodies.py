"""LangGraph SDK: what the bodies of several endpoints have in common."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

from pydantic import BeforeValidator, Field, WithJsonSchema
from typing_extensions import TypedDict

from turnstream.server.formats import fields
from turnstream.server.formats.fields import Fields, without_effect
from turnstream.server.http import chat, operations
from turnstream.server.http.operations import component, says
from turnstream.server.http.state import ApiRequest

Nothing = Annotated[dict[str, Any], Field(max_length=0)]
MAX_LISTED, LISTED = 1000, 10
"""Assistants, states or threads of an answer; LangGraph's own default."""
MAX_SEARCHED = 10_000
"""Threads that one search looks through, the newest."""
MAX_SELECTED = 30
"""Names of fields in a `select`."""
NEXT = "X-Pagination-Next"
"""The header with the offset of the next page."""
METADATA = BeforeValidator(lambda value: value or None), component("LangGraph.AnyMetadata")
AnyFields = TypeVar("AnyFields", bound=Fields)


def bounded(least: int, most: int, default: int) -> tuple[Any, ...]:
    remedy = fields.Otherwise("invalid_limit", f"ask for {least} to {most}")
    schema = WithJsonSchema(operations.whole_number(least, most, default))
    return Field(ge=least, le=most), fields.WHOLE, remedy, schema


Limit = Annotated[int, *bounded(1, MAX_LISTED, LISTED)]
Offset = Annotated[int, *bounded(0, MAX_SEARCHED, 0)]
Order = Annotated[Literal["asc", "desc"], fields.Otherwise("invalid_body")]
Select = Annotated[
    list[fields.Text],
    Field(max_length=MAX_SELECTED),
    fields.FirstFault(),
    says("The keys of the answer that are wanted; all without it."),
]


async def read_body(
    request: ApiRequest, model: type[AnyFields]
) -> tuple[AnyFields, dict[str, str]]:
    """Read a body. Return it with the header that names its keys without effect. Raises Problem,
    InvalidRequest."""

    def reading(body: Any) -> tuple[AnyFields, Sequence[str]]:
        asked = fields.read(model, body, request.state["body_limits"])
        return asked, [key for key in without_effect(body, model) if body[key]]

    (asked, ignored), _ = await request.state["bodies"].read(request, reading)
    return asked, chat.ignored_header(ignored)


def some_of(answer: Any) -> Any:
    """Return the type of an answer whose keys a `select` names."""
    make: Any = TypedDict
    name = answer.__name__.replace("LangGraph", "LangGraphSome")
    return make(name, get_type_hints(answer, include_extras=True), total=False)


def selected(answer: Mapping[str, Any], names: Sequence[str] | None) -> Mapping[str, Any]:
    """Keep the keys that are wanted."""
    return answer if names is None else {name: answer[name] for name in names if name in answer}


def has(kept: Any, wanted: Any) -> bool:
    """Compare as LangGraph does: an object has at least the values that are wanted."""
    if not isinstance(wanted, dict):
        return bool(kept == wanted)
    return isinstance(kept, dict) and all(
        name in kept and has(kept[name], value) for name, value in wanted.items()
    )
