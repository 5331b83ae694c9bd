"""The tools of all MCP servers of the file, joined to a catalogue that changes as they do."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import CatalogueError
from turnstream.tools.current import CurrentCatalogue
from turnstream.tools.mcp.configuration import read_servers
from turnstream.tools.mcp.servers import McpServer, NotJoined

MOST_FOR_MODELS = 128
"""The longest list of tools that OpenAI's API takes."""

logger = logging.getLogger(__name__)


@asynccontextmanager
async def with_mcp_tools(catalogue: Catalogue, file: Path) -> AsyncIterator[CurrentCatalogue]:
    """The catalogue with the tools of the file's servers added, as they are at every moment.

    Raises CatalogueError for a faulty file, and for a server that cannot be had and is not
    optional.
    """
    configs = read_servers(file)
    current = CurrentCatalogue(catalogue)
    servers: list[McpServer] = []

    def update() -> None:
        tools = [tool for server in servers for tool in server.tools]
        current.current = Catalogue((*catalogue.real, *tools), catalogue.ui)

    taken = {*catalogue.real_by_name, *catalogue.ui_by_name}
    servers += [
        McpServer(name, config, configs.keys(), taken, update, current.held_calls)
        for name, config in configs.items()
    ]
    watching: list[asyncio.Task[None]] = []
    try:
        await asyncio.gather(*(_start(server) for server in servers))
        _warn_of_many(current.current)
        watching += [asyncio.create_task(server.watch()) for server in servers]
        yield current
    finally:
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
        await asyncio.gather(*(server.close() for server in servers))


def _warn_of_many(catalogue: Catalogue) -> None:
    count = len(catalogue.real) + len(catalogue.ui)
    if count > MOST_FOR_MODELS:
        logger.warning(
            "there are %(count)s tools: OpenAI's API takes %(most)s, and models choose badly among "
            "many; leave some out in the file, or let a policy or allowed_tools choose",
            {"count": count, "most": MOST_FOR_MODELS},
        )


async def _start(server: McpServer) -> None:
    try:
        await server.refresh()
    except NotJoined as error:
        sentence = f"the MCP server {server.name!r} cannot be had: {error}"
        if not server.config.turnstream.optional:
            raise CatalogueError(
                f"{sentence}. See that it runs and takes its credentials, or write "
                '"turnstream": {"optional": true} beside it.'
            ) from None
        logger.warning("%(what)s; its tools join when it comes", {"what": sentence})
