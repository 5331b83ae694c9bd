"""The tools beside our own: those of other servers, by the settings."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec

from turnstream.server.settings import Settings
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.components import Component
from turnstream.tools.contract import CatalogueError
from turnstream.tools.current import CurrentCatalogue
from turnstream.tools.remote import with_remote_tools
from turnstream.tools.ui import with_components


@asynccontextmanager
async def open_tools(
    settings: Settings, catalogue: Catalogue, components: Sequence[Component]
) -> AsyncIterator[CurrentCatalogue]:
    """The catalogue with further components and the tools of other servers added, as they are at
    every moment. Raises CatalogueError."""
    async with _joined(settings, with_components(catalogue, components)) as tools:
        for component in components:
            _check_actions(component, tools.current)
        yield tools


def _check_actions(component: Component, catalogue: Catalogue) -> None:
    for name, action in component.actions.items():
        if action["tool"] not in catalogue.real_by_name:
            raise CatalogueError(
                f"{component.folder / 'actions.json'}: {name!r} calls the tool {action['tool']!r}, "
                "which this server does not have."
            )


@asynccontextmanager
async def _joined(settings: Settings, catalogue: Catalogue) -> AsyncIterator[CurrentCatalogue]:
    async with with_remote_tools(
        catalogue,
        settings.remote_tools,
        timeout_seconds=settings.tool_timeout_seconds,
        max_bytes=settings.max_result_bytes,
    ) as joined:
        if settings.mcp is None:
            yield CurrentCatalogue(joined)
            return
        if find_spec("mcp") is None:
            raise CatalogueError("TURNSTREAM_MCP needs the extra mcp: pip install mcp")
        from turnstream.tools.mcp.joining import with_mcp_tools

        async with with_mcp_tools(joined, settings.mcp) as tools:
            yield tools
