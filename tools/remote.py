"""Real tools that live elsewhere: a server with `GET /tools` and `POST /tools/{name}` like ours.

What it answers is what its own clients may see, and so may ours; the model sees the same. Only a
connection that fails is tried again: a call that was sent may have run.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from langchain_core.tools import BaseTool, StructuredTool, ToolException

from turnstream.tools import strict_json
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import ALL_FIELDS, CLIENT_FIELDS, CatalogueError
from turnstream.tools.schemas import SchemaFault, accept

logger = logging.getLogger(__name__)

CONNECT_RETRIES = 2
CONNECT_SECONDS = 5.0
LIST_SECONDS = 10.0
PLAIN = {"Accept-Encoding": "identity"}


@dataclass(frozen=True, slots=True)
class Remote:
    """One server of tools; `max_bytes` is the largest answer that is read."""

    url: str
    http: httpx.AsyncClient
    max_bytes: int

    async def tools(self) -> list[BaseTool]:
        """Its real tools. Raises CatalogueError if it cannot be asked, or answers nonsense."""
        try:
            async with asyncio.timeout(LIST_SECONDS):
                status, body = await self._send("GET", "/tools")
        except (httpx.HTTPError, httpx.InvalidURL, ToolException, TimeoutError) as error:
            raise CatalogueError(
                f"The remote tools of {self.url} cannot be had: {_reason(error)}. Start that "
                "server, or take it out of TURNSTREAM_REMOTE_TOOLS."
            ) from None
        listed = body.get("tools") if status == 200 and isinstance(body, dict) else None
        if not isinstance(listed, list):
            raise CatalogueError(
                f"{self.url}/tools answered status {status} without a list of tools; is it a "
                "turnstream server?"
            )
        real = [item for item in listed if _is_real(item)]
        gated = [str(item.get("name"))[:64] for item in real if _is_gated(item)]
        if gated:
            # Asked here, its calls would still be refused there.
            named = {"url": self.url, "tools": ", ".join(gated)}
            logger.warning("%(url)s: left out, since their calls need approvals: %(tools)s", named)
        return [self._tool(item) for item in real if not _is_gated(item)]

    def _tool(self, item: Mapping[str, Any]) -> BaseTool:
        name, parameters = item.get("name"), item.get("parameters")
        if not isinstance(name, str) or not isinstance(parameters, dict):
            raise CatalogueError(
                f"{self.url} lists a tool without a name or parameters: {str(item)[:200]}"
            )
        try:
            schema = accept(parameters)
        except SchemaFault as error:
            raise CatalogueError(
                f"The parameters of {name!r} of {self.url} cannot be used: {error}"
            ) from None

        async def call(**args: Any) -> tuple[str, dict[str, Any]]:
            result = await self._call(name, args)
            return strict_json.write_spaced(result), result

        tool = StructuredTool(
            name=name,
            description=str(item.get("description") or ""),
            args_schema=schema,
            coroutine=call,
            response_format="content_and_artifact",
        )
        tool.metadata = {CLIENT_FIELDS: (ALL_FIELDS,)}
        return tool

    async def _call(self, name: str, args: dict[str, Any]) -> dict[str, Any]:
        """Raises ToolException in words that model and user may read."""
        try:
            status, body = await self._send("POST", f"/tools/{name}", args)
        except httpx.ConnectError:
            raise ToolException("The tool's server cannot be reached.") from None
        except httpx.TimeoutException:
            raise ToolException("The tool's server did not answer in time.") from None
        except httpx.HTTPError:
            raise ToolException("The connection to the tool's server broke off.") from None
        if status == 200 and isinstance(body, dict) and isinstance(body.get("result"), dict):
            result: dict[str, Any] = body["result"]
            return result
        if isinstance(body, dict) and isinstance(body.get("detail"), str) and status < 500:
            raise ToolException(body["detail"][:2000])
        raise ToolException(f"The tool's server answered status {status} and no result.")

    async def _send(
        self, method: str, path: str, body: dict[str, Any] | None = None
    ) -> tuple[int, Any]:
        """The status and the JSON of an answer; None if it is not JSON.

        Nothing is unpacked: a few bytes could become any number.
        """
        address = self.url.rstrip("/") + path
        async with self.http.stream(method, address, json=body, headers=PLAIN) as response:
            answer = bytearray()
            async for piece in response.aiter_raw():
                answer += piece
                if len(answer) > self.max_bytes:
                    raise ToolException(
                        f"The tool's server answered more than {self.max_bytes} bytes."
                    )
        try:
            return response.status_code, strict_json.read(bytes(answer))
        except ValueError:
            return response.status_code, None


@asynccontextmanager
async def with_remote_tools(
    catalogue: Catalogue, urls: Sequence[str], *, timeout_seconds: float, max_bytes: int
) -> AsyncIterator[Catalogue]:
    """The catalogue with the real tools of other servers added.

    Raises CatalogueError if one cannot be asked, or if a name is there twice.
    """
    if not urls:
        yield catalogue
        return
    timeout = httpx.Timeout(timeout_seconds, connect=min(CONNECT_SECONDS, timeout_seconds))
    transport = httpx.AsyncHTTPTransport(retries=CONNECT_RETRIES)
    async with httpx.AsyncClient(timeout=timeout, transport=transport) as http:
        remotes = [await Remote(url, http, max_bytes).tools() for url in urls]
        found = [tool for tools in remotes for tool in tools]
        yield Catalogue((*catalogue.real, *found), catalogue.ui)


def _is_real(item: Any) -> bool:
    return isinstance(item, dict) and item.get("kind") == "real"


def _is_gated(item: Mapping[str, Any]) -> bool:
    return item.get("approval") == "always"


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
