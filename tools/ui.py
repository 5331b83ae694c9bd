"""The tools that live in the browser: `render_ui_component` and `request_user_selection`.

`parameters` is what the model sees. It is flat, since providers refuse `oneOf` and `allOf` at the
top; the descriptions say the rest, and validation holds it. The description of a tool stays below
the 1024 characters that providers take; that of a property has no such limit.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

from turnstream.tools.catalogue import Catalogue
from turnstream.tools.components import OUR_COMPONENTS, SETTING, Component, Components
from turnstream.tools.contract import UITool
from turnstream.tools.selection import MAX_OPTIONS, Kind, check_answer, validate_selection

logger = logging.getLogger(__name__)

RENDER_DESCRIPTION = """\
Show something to the user in the chat: a chart, a table, cards, a report or an alert. It ends \
your turn; do not repeat its content as text. The description of props says what each component \
takes."""

SELECTION_DESCRIPTION = """\
Ask the user to choose, when you cannot go on without: one option (single), several (multiple), a \
date or a date_range, or several values at once (form). It ends your turn; the answer comes in the \
next. single and multiple need options, form needs fields. The answer is {value}, {values}, \
{date}, {start, end}, {answers} or {cancelled: true}."""

DATE = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}


def _flat(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


OPTION = _flat(
    {
        "value": {"type": "string", "minLength": 1, "description": "Unique; what you get back."},
        "label": {"type": "string", "description": "What the user reads."},
        "description": {"type": "string"},
    },
    ["value"],
)

SELECTION_PARAMETERS = _flat(
    {
        "kind": {"type": "string", "enum": list(get_args(Kind))},
        "prompt": {
            "type": "string",
            "minLength": 1,
            "maxLength": 500,
            "description": "The question.",
        },
        "options": {"type": "array", "minItems": 1, "maxItems": MAX_OPTIONS, "items": OPTION},
        "default": {"type": "string", "description": "A value of the options, or a date."},
        "min_selected": {"type": "integer", "minimum": 0},
        "max_selected": {"type": "integer", "minimum": 1},
        "min_date": DATE,
        "max_date": DATE,
        "fields": {
            "type": "object",
            "description": "JSON Schema of an object; each property becomes a field: string "
            "(format date, time, date-time, email or uri), number, integer, boolean or enum. "
            "title is its label, default what it holds at first.",
        },
    },
    ["kind", "prompt"],
)


def render_tool(components: Components) -> UITool:
    """Return `render_ui_component` for these components."""
    return UITool(
        name="render_ui_component",
        description=RENDER_DESCRIPTION,
        parameters=components.parameters,
        validate=components.validate,
        drawable=components.drawable,
    )


render_ui_component = render_tool(OUR_COMPONENTS)


def with_components(catalogue: Catalogue, components: Sequence[Component]) -> Catalogue:
    """Return the catalogue, whose `render_ui_component` draws these components beside ours."""
    if not components:
        return catalogue
    if render_ui_component not in catalogue.ui:
        logger.warning(
            "%(setting)s: no model can draw its components, since the catalogue has no "
            "render_ui_component of turnstream.tools.ui",
            {"setting": SETTING},
        )
    more = render_tool(Components([*OUR_COMPONENTS.by_name.values(), *components]))
    return replace(
        catalogue, ui=tuple(more if tool is render_ui_component else tool for tool in catalogue.ui)
    )


request_user_selection = UITool(
    name="request_user_selection",
    description=SELECTION_DESCRIPTION,
    parameters=SELECTION_PARAMETERS,
    validate=lambda args, _points: validate_selection(args),
    check_answer=check_answer,
)
