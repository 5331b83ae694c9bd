"""Changes of a thread that a body asks for."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict

from turnstream.server.formats.fields import ClosedFields, Fault, Otherwise, Text, keys, read
from turnstream.server.formats.graph_values import ToolNames
from turnstream.server.http.operations import component, says
from turnstream.server.storage.titles import one_line

MAX_TITLE_CHARS = 200


def _title(title: str) -> str:
    if not 1 <= len(title.strip()) <= MAX_TITLE_CHARS:
        raise Fault(
            "invalid_title", f"has {len(title.strip())} characters: send 1 to {MAX_TITLE_CHARS}."
        )
    line = one_line(title)
    if not line:
        raise Fault("invalid_title", "has no character that can be seen: send a title.")
    return line


class ThreadChanges(ClosedFields):
    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    title: Annotated[
        Text,
        Otherwise("invalid_title", f"send a text of 1 to {MAX_TITLE_CHARS} characters"),
        AfterValidator(_title),
        component("NotBlank"),
        says(
            f"1 to {MAX_TITLE_CHARS} characters, blanks at its ends aside. What cannot be seen in "
            "it, or turns the text around it, is left out."
        ),
    ] = ""
    allowed_tools: Annotated[ToolNames, component("ToolNames")] | None = None
    pinned: bool = False
    archived: bool = False

    @classmethod
    def check_keys(cls, value: Mapping[str, Any]) -> None:
        super().check_keys(value)
        if not value:
            listed = ", ".join(keys(cls))
            raise Fault("invalid_body", f"changes nothing: send one or more of {listed}.")


def changes_of(body: Any) -> dict[str, Any]:
    """Checked. Raises InvalidRequest."""
    changes = read(ThreadChanges, body)
    given: dict[str, Any] = changes.model_dump(include=changes.model_fields_set)
    return given
