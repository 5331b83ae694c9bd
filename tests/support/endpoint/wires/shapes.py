"""The shape of a body as a pydantic model: a provider's own validation, with no lenience."""

from collections.abc import Callable
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from tests.support.endpoint import rules
from tests.support.endpoint.refusal import Body, Refusal


class Strict(BaseModel):
    """Unknown keys are refused and no value is converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


Shape = TypeVar("Shape", bound=BaseModel)


def shaped(
    shape: type[Shape], body: Body, sentence: Callable[[ErrorDetails], str]
) -> Shape | Refusal:
    """The body in its shape, or its first fault in the provider's words."""
    for refused in rules.text_is_unicode(body):
        return refused
    try:
        return shape.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        return Refusal(sentence(first), ".".join(map(str, first["loc"])), first["type"])
