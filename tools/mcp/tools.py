"""A tool of an MCP server as one of our real tools."""

import contextvars
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Protocol

from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tools import BaseTool, ToolException
from langgraph.config import get_stream_writer
from mcp import MCPError
from mcp.types import CallToolResult, Tool
from pydantic import ValidationError

from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import (
    ALL_FIELDS,
    ASIDE,
    CLIENT_FIELDS,
    NEEDS_APPROVAL,
    TIMEOUT_SECONDS,
    CatalogueError,
)
from turnstream.tools.held_calls import HeldCalls
from turnstream.tools.json_size import is_larger
from turnstream.tools.mcp.configuration import Options, ToolOptions
from turnstream.tools.mcp.elicitation import Asking
from turnstream.tools.mcp.forwarding import NothingToForward
from turnstream.tools.mcp.names import tool_name
from turnstream.tools.mcp.notifications import Progress
from turnstream.tools.mcp.results import content_and_view, texts
from turnstream.tools.mcp.sessions import MAX_TOOLS, ConnectionLost, Unavailable, Unreachable
from turnstream.tools.schemas import SchemaFault, accept
from turnstream.tools.threads import in_thread

MAX_DESCRIPTION_CHARS = 10_000
AUTH_USER = "langgraph_auth_user"
PROGRESS_MESSAGE = "progress_message"
"""The client field of what a server says beside the numbers of its progress."""

logger = logging.getLogger(__name__)


class Calls(Protocol):
    async def __call__(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        user: Mapping[str, Any],
        progress: Progress | None,
    ) -> CallToolResult:
        """See `turnstream.tools.mcp.sessions.Session.call`; `user` is who calls."""


@dataclass(frozen=True, slots=True)
class Source:
    """The server of tools."""

    name: str
    options: Options
    calls: Calls
    held_calls: HeldCalls


class ToolFailed(Exception):
    """The server says that a call failed, in words that neither model nor client may read."""


class McpTool(BaseTool):
    """Its arguments go to the server as they are, whatever their names."""

    source: Any
    """See `Source`."""
    real_name: str
    """Its name at the server."""
    fields: tuple[str, ...]
    error_texts: bool
    response_format: str = "content_and_artifact"  # type: ignore[assignment]

    def _to_args_and_kwargs(
        self, tool_input: Any, tool_call_id: str | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        # Not as keywords: an argument may be named as a parameter of LangChain's is.
        return (tool_input, tool_call_id), {}

    def _run(self, *_args: Any, **_kwargs: Any) -> Any:
        raise NotImplementedError(f"{self.name} is asynchronous: await its ainvoke")

    async def _arun(
        self, arguments: Mapping[str, Any], tool_call_id: str | None
    ) -> tuple[str, dict[str, Any]]:
        result = await self._answer(arguments, tool_call_id)
        if result.is_error:
            raise self._failure(texts(result))
        shaped = partial(content_and_view, result, self.fields)
        plain = [result.structured_content, *(block.model_dump() for block in result.content)]
        return await in_thread(shaped) if is_larger(plain, *ASIDE) else shaped()

    async def _answer(
        self, arguments: Mapping[str, Any], tool_call_id: str | None
    ) -> CallToolResult:
        with_message = ALL_FIELDS in self.fields or PROGRESS_MESSAGE in self.fields
        tell = _teller(tool_call_id, with_message)
        try:
            source: Source = self.source
            seconds = source.options.elicitation_seconds
            asking = Asking(source.held_calls, seconds, self.name, tool_call_id)
            make = partial(source.calls, self.real_name, arguments, _user())
            return await asking.result(make, source.name, tell)
        except NothingToForward:
            raise ToolException(
                "The tool's server must be told the caller's token, and this caller has none."
            ) from None
        except Unreachable:
            raise ToolException("The tool's server cannot be reached.") from None
        except Unavailable:
            raise ToolException(
                "The tool's server is not available at present; the call may have run."
            ) from None
        except ConnectionLost:
            raise ToolException("The connection to the tool's server broke off.") from None
        except MCPError as error:
            raise self._failure(error.message) from error
        except (ValidationError, RuntimeError) as error:
            logger.warning("%(tool)s: an answer is not valid", {"tool": self.name}, exc_info=error)
            raise ToolException("The tool's server answered what is not valid.") from None

    def _failure(self, words: str) -> Exception:
        return ToolException(words or "The tool failed.") if self.error_texts else ToolFailed()


def make_tools(
    source: Source, listed: Sequence[Tool], servers: Collection[str], taken: Collection[str]
) -> list[BaseTool]:
    """The tools that a server lists and the file allows; the log says which cannot be used.

    `servers` are the names of all servers, `taken` those of tools that are not of these."""
    server, options = source.name, source.options
    made: dict[str, BaseTool] = {}
    for glob in options.tools:
        if not any(fnmatchcase(item.name, glob) for item in listed):
            near = get_close_matches(glob.strip("*"), [item.name for item in listed], 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            unmatched = {"server": server, "glob": glob, "near": hint}
            logger.warning("%(server)s lists no tool that %(glob)r matches%(near)s", unmatched)
    if len(listed) > MAX_TOOLS:
        named = {"server": server, "most": MAX_TOOLS}
        logger.warning("%(server)s lists more than %(most)s tools; the rest is left out", named)
    for item in listed[:MAX_TOOLS]:
        chosen = options.of(item.name)
        name = tool_name(server, item.name, servers, taken)
        if chosen.allowed is False or not _is_for_models(item):
            continue
        if name in made:
            _left_out(name, "the server lists it twice")
            continue
        try:
            tool = _tool(name, item, chosen, source)
            Catalogue((tool,), ())
        except SchemaFault as error:
            _left_out(name, f"its schema cannot be used: {error}")
        except (CatalogueError, ValidationError) as error:
            _left_out(name, str(error))
        else:
            made[name] = tool
    return [*made.values()]


def _is_for_models(item: Tool) -> bool:
    """Return False for a tool that only a user interface of the server may call: MCP Apps,
    `_meta.ui.visibility`."""
    ui = (item.meta or {}).get("ui")
    visibility = ui.get("visibility") if isinstance(ui, dict) else None
    return not isinstance(visibility, list) or "model" in visibility


def _left_out(name: str, why: str) -> None:
    logger.warning("the tool %(tool)s is left out: %(why)s", {"tool": name, "why": why})


def _tool(name: str, item: Tool, options: ToolOptions, source: Source) -> BaseTool:
    """Raises SchemaFault."""
    # Some providers refuse an object without this.
    schema = accept({"properties": {}, **item.input_schema})
    hints = item.annotations
    asks = bool(hints and hints.destructive_hint is True and hints.read_only_hint is not True)
    fields = options.client_fields or ()
    described = (item.description or item.title or "").strip()
    return McpTool(
        name=name,
        description=described[:MAX_DESCRIPTION_CHARS] or item.name,
        args_schema=schema,
        metadata={
            CLIENT_FIELDS: fields,
            NEEDS_APPROVAL: asks if options.approval is None else options.approval,
            TIMEOUT_SECONDS: options.timeout_seconds,
        },
        source=source,
        real_name=item.name,
        fields=fields,
        error_texts=bool(options.error_texts),
    )


def _user() -> Mapping[str, Any]:
    """Return the caller, as LangGraph tells a graph and its tools."""
    config = var_child_runnable_config.get() or {}
    user: Mapping[str, Any] = config.get("configurable", {}).get(AUTH_USER) or {}
    return user


def _teller(tool_call_id: str | None, with_message: bool) -> Progress | None:
    """Tells the run of progress. The stream writer asks its context whose stream it is, and the
    server's progress comes in another task."""
    try:
        writer = get_stream_writer()
    except (RuntimeError, KeyError):
        return None  # not in a graph
    context = contextvars.copy_context()

    def tell(done: float, total: float | None, message: str | None) -> None:
        said = {"progress": done, "total": total, "message": message if with_message else None}
        data = {key: value for key, value in said.items() if value is not None}
        context.run(writer, {"tool_call_id": tool_call_id, "data": data})

    return tell
