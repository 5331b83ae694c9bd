"""An MCP server whose tools ask the user: `python -m tests.support.asking_server [PORT]`.

It knows no protocol from 2026 on, and asks by requests of its own; with `ASKING=2026` it answers a
call with what it wants to know, and only `reserve` asks. `ASKING_LOG` is a file of what it did.
"""

import asyncio
import os
import sys
from typing import Annotated, Any, Literal

import mcp.server.lowlevel.server as lowlevel
from mcp.server import MCPServer, runner
from mcp.server.mcpserver import Context, Elicit, Resolve
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp.types import DiscoverResult, ElicitRequestURLParams, RequestParams
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import BaseModel, Field

server = MCPServer("asking")


class Trip(BaseModel):
    city: str = Field(description="Where to", max_length=20)
    nights: int = Field(ge=1)
    seat: Literal["aisle", "window"] = "aisle"
    insured: bool = False


class Sure(BaseModel):
    sure: bool


def _note(word: str) -> None:
    path = os.environ.get("ASKING_LOG")
    if path:
        with open(path, "a") as file:
            file.write(f"{word}\n")


def _said(result: Any) -> str:
    data = getattr(result, "data", None)
    return f"{result.action} {data.model_dump_json() if data is not None else ''}".strip()


@server.tool()
async def book(name: str, ctx: Context) -> str:
    """Book a trip."""
    _note(f"book {name}")
    try:
        said = _said(await ctx.elicit(f"Where does <b>{name}</b> go?", Trip))
    except BaseException:
        _note(f"gone {name}")
        raise
    _note(said)
    return said


@server.tool()
async def twice(ctx: Context) -> str:
    """Ask two questions, one after the other."""
    first = await ctx.elicit("First?", Sure)
    return f"{_said(first)}, {_said(await ctx.elicit('Second?', Sure))}"


@server.tool()
async def both(ctx: Context) -> str:
    """Ask two questions at once."""
    said = await asyncio.gather(*(ctx.elicit(f"{word}?", Sure) for word in ("Left", "Right")))
    return ", ".join(map(_said, said))


@server.tool()
async def impatient(ctx: Context) -> str:
    """Ask two questions at once, and withdraw the second before the first has its answer."""
    first = asyncio.create_task(ctx.elicit("First?", Sure))
    second = asyncio.create_task(ctx.elicit("Withdrawn?", Sure))
    await asyncio.sleep(0)
    await ctx.session.send_ping()  # Its answer comes behind both questions.
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    await ctx.session.send_ping()  # Its answer comes behind the withdrawal.
    _note("withdrew")
    return f"{_said(await first)}, {_said(await ctx.elicit('Third?', Sure))}"


@server.tool()
async def many(ctx: Context) -> str:
    """Ask more questions than anybody answers."""
    return ", ".join([_said(await ctx.elicit(f"{n}?", Sure)) for n in range(12)])


@server.tool()
async def pay(url: str, ctx: Context) -> str:
    """Send the user to an address."""
    return _said(await ctx.elicit_url("Pay here.", url, "e1"))


opened: set[str] = set()


@server.tool()
async def gated(url: str) -> str:
    """Refuse the first call until the user was at an address."""
    if url in opened:
        return "let in"
    opened.add(url)
    at = ElicitRequestURLParams(message="Log in.", url=url, elicitation_id="e2")
    raise UrlElicitationRequiredError([at])


@server.tool()
async def plain(word: str) -> str:
    """Ask nothing."""
    _note(f"plain {word}")
    return word


def _trip(name: str) -> Elicit[Trip]:
    _note(f"round {name}")
    return Elicit(f"Where does {name} go?", Trip)


@server.tool()
async def reserve(name: str, trip: Annotated[Trip, Resolve(_trip)]) -> str:
    """Reserve a trip."""
    _note(f"reserved {name}")
    return trip.model_dump_json()


async def _discover(*_: Any) -> DiscoverResult:
    known = server._lowlevel_server
    return DiscoverResult(
        supported_versions=[*HANDSHAKE_PROTOCOL_VERSIONS],
        capabilities=known.get_capabilities(),
        ttl_ms=0,
        cache_scope="public",
    )


if __name__ == "__main__":
    if os.environ.get("ASKING") != "2026":
        server._lowlevel_server.add_request_handler("server/discover", RequestParams, _discover)
        setattr(lowlevel, "serve_dual_era_loop", runner.serve_loop)  # noqa: B010
    if sys.argv[1:]:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
