"""A server's list of tools as it arrives, without entries that the protocol does not allow.

The client library validates a list as a whole: one bad entry would lose all tools of the server.
"""

import logging
from typing import Any

from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCResponse
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

METHOD = "tools/list"

logger = logging.getLogger(__name__)


def drop_invalid_tools(received: object, version: str) -> None:
    """Remove the invalid entries if the message is a list of tools; the log names each. `version`
    is that of the session's protocol."""
    message = received.message if isinstance(received, SessionMessage) else None
    if not isinstance(message, JSONRPCResponse):
        return
    result = message.result
    if isinstance(result.get("tools"), list) and _fault({**result}, version):
        result["tools"] = [tool for tool in result["tools"] if _is_valid(tool, version)]


def _is_valid(tool: Any, version: str) -> bool:
    fault = _fault({"tools": [tool]}, version)
    if fault:
        name = tool.get("name") if isinstance(tool, dict) else tool
        named = {"tool": repr(name)[:100], "why": fault}
        logger.warning("the tool %(tool)s is left out: its server lists it wrongly: %(why)s", named)
    return fault is None


def _fault(result: dict[str, Any], version: str) -> str | None:
    try:
        validate_server_result(METHOD, version, result)
    except ValidationError as error:
        # Not its input: a server may send anything.
        first = error.errors(include_input=False, include_url=False)[0]
        return f"{'.'.join(map(str, first['loc'][2:])) or 'the entry'}: {first['msg']}"
    except (KeyError, ValueError):
        return None  # A version that the library does not check either.
    return None
