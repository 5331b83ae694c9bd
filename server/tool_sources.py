"""The tools beside our own: those of other servers, by the settings."""

import logging
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

from turnstream.graphs.attached import AttachedGraph
from turnstream.server.settings import Settings
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.components import OUR_COMPONENTS, Component
from turnstream.tools.contract import CatalogueError
from turnstream.tools.current import CurrentCatalogue
from turnstream.tools.remote import with_remote_tools
from turnstream.tools.ui import with_components

logger = logging.getLogger(__name__)


@asynccontextmanager
async def open_tools(
    settings: Settings, catalogue: Catalogue, components: Sequence[Component]
) -> AsyncIterator[CurrentCatalogue]:
    """The catalogue with further components and the tools of other servers added, as they are at
    every moment. Raises CatalogueError."""
    async with with_remote_tools(
        with_components(catalogue, components),
        settings.remote_tools,
        timeout_seconds=settings.tool_timeout_seconds,
        max_bytes=settings.max_result_bytes,
    ) as fixed:
        if settings.mcp is None:
            _check_actions(components, fixed, fixed, has_mcp=False)
            yield CurrentCatalogue(fixed)
            return
        if find_spec("mcp") is None:
            raise CatalogueError("TURNSTREAM_MCP needs the extra mcp: pip install mcp")
        from turnstream.tools.mcp.joining import with_mcp_tools

        async with with_mcp_tools(fixed, settings.mcp) as tools:
            _check_actions(components, fixed, tools.current, has_mcp=True)
            yield tools


def _check_actions(
    components: Sequence[Component], fixed: Catalogue, current: Catalogue, *, has_mcp: bool
) -> None:
    """Check that there are the tools that buttons call, and their arguments. Those of MCP servers
    change, and come late: one that is not there is a warning. Raises CatalogueError."""
    parameters = {tool["name"]: tool["parameters"] for tool in fixed.describe()}
    for component in components:
        for name, action in component.actions.items():
            tool = action["tool"]
            button = f"{component.folder / 'actions.json'}: {name!r}"
            if tool in fixed.real_by_name:
                fault = _misfit(action.get("arguments", {}), parameters[tool])
                if fault:
                    raise CatalogueError(f"{button} {fault} of the tool {tool!r}.")
            elif tool not in current.real_by_name:
                sentence = f"{button} calls the tool {tool!r}, which this server does not have"
                if not has_mcp:
                    raise CatalogueError(f"{sentence}.")
                logger.warning("%(what)s now; an MCP server may bring it", {"what": sentence})


def check_drawn(components: Sequence[Component], graphs: Iterable[AttachedGraph]) -> None:
    """Check that components take the parameters of the UI tools of their names. Raises
    CatalogueError."""
    by_name = {**OUR_COMPONENTS.by_name, **{one.name: one for one in components}}
    for graph in graphs:
        for name in graph.ui_tools.keys() & by_name.keys():
            schema = {"additionalProperties": True, **by_name[name].props.schema}
            tool = graph.ui_tools[name]
            # Of a call that waits, the page has the arguments as the model wrote them.
            sure = tool.always_given if tool.waits else tool.args
            fault = _misfit(tool.args, schema, "property", sure)
            if fault:
                path = by_name[name].folder / "schema.json"
                raise CatalogueError(f"{path}: the UI tool {name!r} of a graph {fault}.")


def _misfit(
    given: Iterable[str],
    schema: Mapping[str, Any],
    what: str = "argument",
    sure: Iterable[str] | None = None,
) -> str | None:
    """Return what is wrong with the names of values that a schema is to take; None if they fit.
    `sure` are those that are there in any case; None: all."""
    unknown = set(given) - set(schema.get("properties", {}))
    if unknown and not schema.get("additionalProperties"):
        return f"fills {min(unknown)!r}, which is no {what}"
    missing = set(schema.get("required", ())) - set(given if sure is None else sure)
    return f"leaves out {min(missing)!r}, a required {what}" if missing else None
