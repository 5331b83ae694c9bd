"""LangGraph SDK: options that are refused, since to ignore them would change the result."""

from typing import Any

from pydantic import AfterValidator, WithJsonSchema

from turnstream.server.formats.fields import Fault

OMITTED: dict[str, Any] = {"enum": [None, False, 0, "", [], {}]}
"""The schema of a key that is as good as missing, where every other value is refused."""


def refused(remedy: str = "leave it out") -> tuple[Any, ...]:
    """Annotate a field that may only be as good as missing."""

    def omitted(value: Any) -> None:
        if value:
            raise Fault("unsupported_option", f"is not supported: {remedy}.")

    return AfterValidator(omitted), WithJsonSchema(OMITTED)
