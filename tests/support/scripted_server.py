"""The real server on the clients' tools, with a scripted endpoint for its model."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from langchain_core.language_models import BaseChatModel

from tests.support.endpoint import StrictEndpoint
from tests.support.endpoint.script import Scripted
from tests.support.sample_tools import CATALOGUE
from tests.support.serving import Client, endpoint_settings, serving, settings


@dataclass(frozen=True)
class ScriptedServer:
    endpoint: StrictEndpoint
    http: Client

    @property
    def url(self) -> str:
        return self.http.url

    async def messages(self, thread_id: str, protocol: str) -> list[dict[str, Any]]:
        """The thread as hydrate shows it to a reader of this protocol."""
        hydrated = await self.http.thread(thread_id, protocol=protocol)
        messages: list[dict[str, Any]] = hydrated["messages"]
        return messages


@asynccontextmanager
async def server_with_model(directory: Path, model: BaseChatModel) -> AsyncIterator[Client]:
    """The server on a model of the test's own, for what no endpoint can say."""
    async with serving(settings(directory / "t.db"), CATALOGUE, model) as http:
        await _is_up(http)
        yield http


@asynccontextmanager
async def scripted_server(
    directory: Path, *replies: Scripted, **values: Any
) -> AsyncIterator[ScriptedServer]:
    """Ends with the proof that the model was asked as often as scripted, and never wrongly."""
    async with StrictEndpoint() as endpoint:
        endpoint.script(*replies)
        scripted = endpoint_settings(directory / "t.db", endpoint, **values)
        async with serving(scripted, CATALOGUE) as http:
            await _is_up(http)
            yield ScriptedServer(endpoint, http)
        assert endpoint.refused == []
        assert endpoint.unplayed == 0
        assert not replies or len(endpoint.requests) == len(replies)


async def _is_up(http: Client) -> None:
    """A client in another process connects as soon as it is told to."""
    while True:
        try:
            await http.http.get("/health")
        except httpx.ConnectError:
            await asyncio.sleep(0)
        else:
            return
