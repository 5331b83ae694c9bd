"""The tools of MCP servers join the catalogue, each as `server_tool`."""

import asyncio
import hashlib
import logging
import re
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from mcp import MCPError
from mcp_types import Tool

from tools import strict_json
from tools.catalogue import Catalogue
from tools.contract import ALL_FIELDS, CLIENT_FIELDS, NEEDS_APPROVAL, CatalogueError
from tools.json_size import is_larger
from tools.mcp.configuration import Server, ToolOptions, read_servers
from tools.mcp.results import for_model, result_of
from tools.mcp.session import Session, Unreachable
from tools.schemas import SchemaFault, accept

logger = logging.getLogger(__name__)

HIDDEN = {"hidden": True}
"""What clients see of a result whose fields nobody has declared."""
MAX_NAME = 64
_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")


@asynccontextmanager
async def with_mcp_tools(
    catalogue: Catalogue, file: Path, *, max_bytes: int
) -> AsyncIterator[Catalogue]:
    """The catalogue with the tools of the file's servers added, as they are now.

    Raises CatalogueError for a faulty file, and for a server that cannot be had and is not
    optional.
    """
    servers = read_servers(file)
    sessions = {name: Session(name, server) for name, server in servers.items()}
    try:
        listed = await asyncio.gather(
            *(_tools(session, servers[name], max_bytes) for name, session in sessions.items())
        )
        taken = {*catalogue.real_by_name, *catalogue.ui_by_name}
        joined = _unique([tool for tools in listed for tool in tools], taken)
        yield Catalogue((*catalogue.real, *joined), catalogue.ui)
    finally:
        await asyncio.gather(*(session.close() for session in sessions.values()))


async def _tools(session: Session, server: Server, max_bytes: int) -> list[BaseTool]:
    try:
        listed = await session.tools()
    except Unreachable as error:
        sentence = f"the MCP server {session.name!r} cannot be had: {error}"
        if not server.turnstream.optional:
            raise CatalogueError(
                f'{sentence}. Start it, or write "turnstream": {{"optional": true}} beside it.'
            ) from None
        logger.warning("%(what)s; its tools are left out", {"what": sentence})
        return []
    options = ((tool, server.turnstream.of(tool.name)) for tool in listed)
    made = (
        _made(session, tool, own, max_bytes) for tool, own in options if own.allowed is not False
    )
    return [tool for tool in made if tool is not None]


def _made(session: Session, tool: Tool, options: ToolOptions, max_bytes: int) -> BaseTool | None:
    """None for a tool whose schema cannot be used: the log names it."""
    try:
        schema = accept(tool.input_schema)
    except SchemaFault as error:
        named = {"server": session.name, "tool": tool.name[:MAX_NAME], "why": str(error)[:300]}
        logger.warning("%(server)s: left out %(tool)s, whose schema cannot be used: %(why)s", named)
        return None

    async def call(**args: Any) -> tuple[str, dict[str, Any]]:
        result = await _called(session, tool.name, args, options.timeout_seconds, max_bytes)
        return for_model(result), _visible(result, options.client_fields)

    made = StructuredTool(
        name=_named(session.name, tool.name),
        description=(tool.description or "").strip()[:4000] or tool.name,
        args_schema=schema,
        coroutine=call,
        response_format="content_and_artifact",
    )
    destructive = bool(tool.annotations and tool.annotations.destructive_hint)
    gated = destructive if options.approval is None else options.approval
    made.metadata = {CLIENT_FIELDS: options.client_fields or (), NEEDS_APPROVAL: gated}
    return made


async def _called(
    session: Session, name: str, args: Mapping[str, Any], seconds: float | None, max_bytes: int
) -> dict[str, Any]:
    """Raises ToolException in words that model and user may read. A server's own are not: they
    may hold whatever an exception had."""
    try:
        async with asyncio.timeout(seconds):
            answer = await session.call(name, args)
    except Unreachable:
        raise ToolException("The tool's server cannot be reached, or broke off.") from None
    except TimeoutError:
        raise ToolException("The tool's server did not answer in time.") from None
    except MCPError as error:
        raise RuntimeError(f"the MCP server {session.name} refused a call") from error
    if answer.is_error:
        raise RuntimeError(f"the MCP server {session.name} reports an error")
    result = result_of(answer)
    if is_larger(result, max_bytes, max_bytes):
        raise ToolException(f"The tool's server answered more than {max_bytes} bytes.")
    plain: dict[str, Any] = strict_json.copy(result)
    return plain


def _visible(result: dict[str, Any], fields: Sequence[str] | None) -> dict[str, Any]:
    if not fields:
        return dict(HIDDEN)
    if ALL_FIELDS in fields:
        return result
    return {name: result[name] for name in fields if name in result}


def _named(server: str, tool: str) -> str:
    """As providers take it; one that is too long ends in a digest of the whole."""
    name = _REFUSED.sub("_", f"{server}_{tool}")
    if len(name) <= MAX_NAME:
        return name
    return f"{name[: MAX_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _unique(tools: Sequence[BaseTool], taken: Collection[str]) -> list[BaseTool]:
    """The second of two tools of a name, and one that has the name of ours, gets a number."""
    used = set(taken)
    for tool in tools:
        name, number = tool.name, 2
        while tool.name in used:
            suffix = f"_{number}"
            tool.name, number = name[: MAX_NAME - len(suffix)] + suffix, number + 1
        used.add(tool.name)
    return [*tools]
