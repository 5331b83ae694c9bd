"""Which fields of its tools' results a graph declares for clients.

A tool declares its own with `turnstream.tools.contract.client_fields`; the module of the graph may
have a table of them, which needs no import:

    CLIENT_FIELDS = {"search": ["title", "url"], "book": ["*"]}
"""

import logging
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from langchain_core.tools import BaseTool

from turnstream.graphs.faults import GraphError
from turnstream.tools.contract import CLIENT_FIELDS

logger = logging.getLogger(__name__)

TABLE = "CLIENT_FIELDS"
MAX_NAMED = 20

Fields = Mapping[str, tuple[str, ...]]
"""By the name of the tool, in which `*` stands for any letters."""


def table_of(module: object) -> Fields:
    """The table of a module; empty if it has none. Raises GraphError for one that is not a dict of
    lists of strings."""
    table = getattr(module, TABLE, {})
    if not isinstance(table, Mapping):
        raise GraphError(
            f"its {TABLE} is a {type(table).__name__}; write a dict of lists of field names, as in "
            f'{TABLE} = {{"search": ["title", "url"]}}'
        )
    for name in table:
        if not isinstance(name, str):
            raise GraphError(f"its {TABLE} has the key {name!r:.100}; write the name of a tool")
    return {name: _fields(value, f'{TABLE}["{name}"]') for name, value in table.items()}


def declared(tools: Mapping[str, BaseTool], table: Fields) -> Fields:
    """Return the fields that a graph's tools declare, and those of its module's table, which takes
    precedence. Raises GraphError for a tool whose metadata has anything but a list of strings.

    Raises GraphError for a tool whose metadata has anything but a list of strings.
    """
    by_tools = {
        name: _fields(tool.metadata[CLIENT_FIELDS], f"{CLIENT_FIELDS} of the tool {name!r}")
        for name, tool in tools.items()
        if tool.metadata and CLIENT_FIELDS in tool.metadata
    }
    return {**by_tools, **table}


def fields_of(fields: Fields, tool: str) -> tuple[str, ...] | None:
    """What is declared of a tool: by its name, or else by the first name with `*` that matches.
    None: nothing."""
    if tool in fields:
        return fields[tool]
    patterns = (name for name in fields if "*" in name and fnmatchcase(tool, name))
    pattern = next(patterns, None)
    return None if pattern is None else fields[pattern]


def warn_of_unmatched(tools: Mapping[str, BaseTool], table: Fields) -> None:
    """Log each name of a table that no tool of the graph has."""
    for name in table:
        if name in tools or ("*" in name and any(fnmatchcase(tool, name) for tool in tools)):
            continue
        near = get_close_matches(name, tools, n=1)
        named = {"table": TABLE, "name": name, "meant": f"; is {near[0]} meant?" if near else ""}
        logger.warning("%(table)s names %(name)s, which is no tool of the graph%(meant)s", named)


def how_to_declare(undeclared: Collection[str]) -> str:
    """One sentence that names the tools that declare nothing, and the ways to declare it."""
    names = sorted(undeclared)
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return (
        f'clients see {{"hidden": true}} instead of the results of {", ".join(names[:MAX_NAMED])}'
        f"{more}: say which fields they may see, in the graph's module with "
        f'{TABLE} = {{"{names[0]}": ["a field"]}} or at the tool with client_fields of '
        'turnstream.tools.contract ("*": all fields), or set TURNSTREAM_UNDECLARED_RESULTS=show'
    )


def _fields(value: Any, what: str) -> tuple[str, ...]:
    if isinstance(value, list | tuple) and all(isinstance(field, str) for field in value):
        return tuple(value)
    raise GraphError(
        f'{what} is {value!r:.100}; write a list of field names, as in ["title", "url"], or ["*"] '
        "for all of them"
    )
