"""The tools that live in the browser: `render_ui_component` and `request_user_selection`.

`parameters` is what the model sees. It is flat, since providers refuse `oneOf` and `allOf` at the
top; the description says the rest, and validation holds it.
"""

from typing import Any, get_args

from turnstream.tools.components import Component, validate_render
from turnstream.tools.contract import UITool
from turnstream.tools.selection import MAX_OPTIONS, Kind, check_answer, validate_selection

RENDER_DESCRIPTION = """\
Show something to the user in the chat: a chart, a table, cards, a report or an alert. It ends \
your turn; do not repeat its content as text. Props of each component (? means optional; every \
component takes title?):
- line_chart: x (2 to 500 numbers, or ISO 8601 local times without offset), series (1 to 8 of \
{name, data}; data has one number or null for each x), x_label?, y_label?, time_zone?
- bar_chart: categories (1 to 40 strings), series (1 to 8 of {name, data}; data has one number or \
null for each category), x_label?, y_label?
- table: columns (1 to 20 of {key, label?, align?: left or right}), rows (up to 200 objects from \
column key to string, number, boolean or null)
- metric_cards: cards (1 to 12 of {label, value: number, string or null, unit?, delta?: string, \
tone?})
- report: markdown (up to 20000 characters)
- alert: message, tone?
tone is info, success, warning or danger. No other props."""

SELECTION_DESCRIPTION = """\
Ask the user to choose, when you cannot go on without: one option (single), several (multiple), a \
date or a date_range. It ends your turn; the answer comes in the next. single and multiple need \
options. The answer is {value}, {values}, {date}, {start, end} or {cancelled: true}."""

DATE = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}


def _flat(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


RENDER_PARAMETERS = _flat(
    {
        "component": {"type": "string", "enum": list(get_args(Component))},
        "props": {"type": "object", "description": "What the component shows."},
        "data_from": {
            "type": "string",
            "minLength": 1,
            "description": "Id of an earlier tool call of this turn (or the tool's name: its last "
            "call) whose points fill x and series, categories and series, or columns and rows. "
            "Use it wherever a result offers it, and leave those out of props.",
        },
    },
    ["component", "props"],
)

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
    },
    ["kind", "prompt"],
)

render_ui_component = UITool(
    name="render_ui_component",
    description=RENDER_DESCRIPTION,
    parameters=RENDER_PARAMETERS,
    validate=validate_render,
)

request_user_selection = UITool(
    name="request_user_selection",
    description=SELECTION_DESCRIPTION,
    parameters=SELECTION_PARAMETERS,
    validate=lambda args, _points: validate_selection(args),
    check_answer=check_answer,
)
