"""An MCP server without a library, over stdio, for what no library does:
`python -m tests.support.mcp_raw_server TOOLS [deaf]`.

TOOLS is a JSON file of the tools that it lists, read anew each time; what a call does follows from
the tool's name. A deaf one does not end when its input does.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOREVER = 3600

TOO_DEEP: dict[str, Any] = {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}}
LOOP = {**TOO_DEEP, "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}
"""A schema that refers to itself in a circle."""
TREE = {**TOO_DEEP, "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}}
"""One that refers to itself, and ends with the value."""


def tool(name: str, schema: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """An entry of the list."""
    return {"name": name, "inputSchema": schema or {"type": "object"}, **more}


def _say(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def _called(name: str, args: Mapping[str, Any]) -> dict[str, Any]:
    text = json.dumps(args)
    match name:
        case "noise":
            sys.stdout.write('this is no JSON\n{"neither": "is this"}\n')
        case "nonsense":
            return {"content": 5}
        case "block":
            Path(args["mark"]).touch()
            time.sleep(FOREVER)
        case "tell":
            _say(method="notifications/tools/list_changed")
        case "structured":
            return {"content": [], "structuredContent": {"a": 1, "b": 2}}
        case "resources":
            held = {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "Ahoy"}
            blob = {"uri": "file:///b.bin", "blob": "AAAA"}
            content = [{"type": "resource", "resource": r} for r in (held, blob)]
            return {"content": content}
    return {"content": [{"type": "text", "text": text}]}


def _answer(message: Mapping[str, Any]) -> None:
    id, params = message.get("id"), message.get("params") or {}
    match message.get("method"):
        case "initialize":
            result = {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "raw", "version": "1"},
            }
            _say(id=id, result=result)
        case "tools/list":
            _say(id=id, result={"tools": json.loads(Path(sys.argv[1]).read_text())})
        case "tools/call" if params["name"] == "refused":
            _say(id=id, error={"code": -32602, "message": "secret sk-456 is wrong"})
        case "tools/call" if params["name"] == "failed":
            _say(id=id, error={"code": -32000, "message": "Connection closed"})
        case "tools/call" if params["name"] == "process":
            _say(id=id, result={"content": [{"type": "text", "text": str(os.getpid())}]})
        case "tools/call":
            _say(id=id, result=_called(params["name"], params.get("arguments") or {}))
        case _ if id is not None:
            _say(id=id, error={"code": -32601, "message": "Method not found"})


if __name__ == "__main__":
    is_deaf = "deaf" in sys.argv[2:]
    if is_deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        _answer(json.loads(line))
    if is_deaf:
        time.sleep(FOREVER)
