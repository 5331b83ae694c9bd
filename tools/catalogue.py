"""The catalogue of tools, checked when it is made: one that exists can be served."""

import hashlib
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeAlias

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_function

from turnstream.tools.contract import CLIENT_FIELDS, CatalogueError, UITool

Tool: TypeAlias = BaseTool | UITool

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Names of functions that the model providers take."""


@dataclass(frozen=True)
class Catalogue:
    """Raises CatalogueError when a tool cannot be served, with the remedy."""

    real: tuple[BaseTool, ...]
    ui: tuple[UITool, ...]

    def __post_init__(self) -> None:
        for check in CHECKS:
            for fault in check(self):
                raise CatalogueError(fault)

    @cached_property
    def real_by_name(self) -> Mapping[str, BaseTool]:
        return MappingProxyType({tool.name: tool for tool in self.real})

    @cached_property
    def ui_by_name(self) -> Mapping[str, UITool]:
        return MappingProxyType({tool.name: tool for tool in self.ui})

    def drawable(self, result: Mapping[str, Any]) -> list[str]:
        """Return what the UI tools can draw of a tool's result, as the client may see it."""
        return [name for tool in self.ui for name in tool.drawable(result)]

    def describe(self) -> list[dict[str, Any]]:
        """Each tool as the model sees it; `parameters` is JSON Schema."""
        return [
            *(_described(tool, "real", _parameters(tool)) for tool in self.real),
            *(_described(tool, "ui", dict(tool.parameters)) for tool in self.ui),
        ]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what the model sees of the tools, in hex; their order does not count."""
        described = sorted(self.describe(), key=lambda tool: str(tool["name"]))
        return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def _all_tools(catalogue: Catalogue) -> tuple[Tool, ...]:
    return (*catalogue.real, *catalogue.ui)


def _described(tool: Tool, kind: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": tool.name,
        "kind": kind,
        "description": tool.description,
        "parameters": parameters,
    }


def _parameters(tool: BaseTool) -> dict[str, Any]:
    if isinstance(tool.args_schema, dict):
        return tool.args_schema
    parameters: dict[str, Any] = convert_to_openai_function(tool)["parameters"]
    return parameters


def as_function(tool: BaseTool) -> Any:
    """The tool in a form that `bind_tools` takes.

    LangChain writes every `$ref` of a JSON Schema out, which from few characters makes any number.
    """
    if not isinstance(tool.args_schema, dict):
        return tool
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.args_schema,
    }
    return {"type": "function", "function": function}


def _foreign(catalogue: Catalogue) -> Iterator[str]:
    groups: tuple[tuple[str, Iterable[object], type, str], ...] = (
        ("REAL", catalogue.real, BaseTool, "decorate the function with @real_tool"),
        ("UI", catalogue.ui, UITool, "make it a UITool"),
    )
    for group, things, kind, remedy in groups:
        for thing in things:
            if not isinstance(thing, kind):
                yield f"{group} has {thing!r}, which is not a {kind.__name__}: {remedy}."


def _doubled(catalogue: Catalogue) -> Iterator[str]:
    seen: dict[str, Tool] = {}
    for tool in _all_tools(catalogue):
        if tool.name in seen:
            yield (
                f"Two tools are named {tool.name!r}: {_where(seen[tool.name])} and {_where(tool)}. "
                "Rename one of them; a name is unique among real and UI tools."
            )
        seen[tool.name] = tool


def _misnamed(catalogue: Catalogue) -> Iterator[str]:
    for tool in _all_tools(catalogue):
        if not NAME.fullmatch(tool.name):
            yield (
                f"No model provider takes the tool name {tool.name!r} ({_where(tool)}): "
                "use 1 to 64 ASCII letters, digits, _ or -."
            )


def _undescribed(catalogue: Catalogue) -> Iterator[str]:
    for tool in _all_tools(catalogue):
        if not tool.description.strip():
            yield (
                f"The tool {tool.name!r} ({_where(tool)}) has no description, so no model can know "
                "when to call it: give it a docstring or a description."
            )


def _unfiltered(catalogue: Catalogue) -> Iterator[str]:
    for tool in catalogue.real:
        if CLIENT_FIELDS not in (tool.metadata or {}):
            yield (
                f"The real tool {tool.name!r} ({_where(tool)}) does not say which fields of its "
                "result the client may see: make it with "
                '@real_tool(client_fields=["..."]) of tools.contract in place of @tool.'
            )


CHECKS: tuple[Callable[[Catalogue], Iterator[str]], ...] = (
    _foreign,
    _doubled,
    _misnamed,
    _undescribed,
    _unfiltered,
)


def _where(tool: Tool) -> str:
    """Return the place where a tool is defined: module, name, line."""
    written = tool.validate if isinstance(tool, UITool) else _function(tool)
    module = getattr(written, "__module__", "?")
    name = getattr(written, "__qualname__", type(written).__qualname__)
    code = getattr(written, "__code__", None)
    line = f", line {code.co_firstlineno}" if code else ""
    return f"{module}.{name}{line}"


def _function(tool: BaseTool) -> Callable[..., Any]:
    """The function that a tool was made of, or the tool's own class."""
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None) or type(tool)
    unwrapped: Callable[..., Any] = inspect.unwrap(function)
    return unwrapped
