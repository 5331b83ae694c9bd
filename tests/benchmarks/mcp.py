"""A call of an MCP server in its kept session, beside the same as a tool of ours: `name: value`
lines. The two take turns."""

import asyncio
import json
import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.benchmarks.processes import PROJECT
from tests.benchmarks.tools import milliseconds
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool
from turnstream.tools.mcp.joining import with_mcp_tools

ROUNDS, WARM_UP, AT_ONCE = 300, 20, 8
ARGS = {"a": 1, "b": 2}


@real_tool(client_fields=["result"])
async def add(a: int, b: int) -> dict[str, Any]:
    """Add two numbers.

    Args:
        a: One.
        b: The other.
    """
    return {"result": a + b}


async def main() -> None:
    command = {"command": sys.executable, "args": ["-m", "tests.support.mcp_server"]}
    servers = {"t": {**command, "cwd": str(PROJECT)}}
    with TemporaryDirectory() as folder:
        file = Path(folder) / "mcp.json"
        file.write_text(json.dumps({"mcpServers": servers}))
        async with with_mcp_tools(Catalogue((add,), ()), file) as catalogue:
            far = catalogue.current.real_by_name["t_add"]
            times: dict[str, list[float]] = {"ours": [], "mcp": []}
            for _ in range(WARM_UP + ROUNDS):
                times["ours"].append(await milliseconds(add, ARGS))
                times["mcp"].append(await milliseconds(far, ARGS))
            ours, mcp = (statistics.median(taken[WARM_UP:]) for taken in times.values())
            print(f"a tool of ours: p50, ms: {ours:.2f}")
            print(f"the same of an MCP server by stdio: p50, ms: {mcp:.2f}, {mcp / ours:.1f} times")
            several = await asyncio.gather(*(milliseconds(far, ARGS) for _ in range(AT_ONCE)))
            print(f"{AT_ONCE} of them at once: the slowest, ms: {max(several):.2f}")


if __name__ == "__main__":
    asyncio.run(main())
