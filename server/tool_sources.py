"""The tools beside our own: those of other servers, by the settings."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec

from turnstream.server.settings import Settings
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import CatalogueError
from turnstream.tools.current import CurrentCatalogue
from turnstream.tools.remote import with_remote_tools


@asynccontextmanager
async def open_tools(settings: Settings, catalogue: Catalogue) -> AsyncIterator[CurrentCatalogue]:
    """The catalogue with the tools of other servers added, as they are at every moment. Raises
    CatalogueError."""
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
