"""A server whose tools need approvals, and the callers who ask for them and give them."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.support.gated_tools import GatedTools
from tests.support.scripted_model import Script, ScriptedModel
from tests.support.serving import Client, http_client, serving, settings
from turnstream.server.extensions.built_in import ServerSettings as Settings

Json = dict[str, Any]

PAY, MORE = ("c1", "pay", '{"word": "rent"}'), ("c2", "pay", '{"word": "food"}')
SLOWLY = ("c1", "pay_slowly", '{"word": "rent"}')
THREAD = "anns-thread"
ASK = {"thread_id": THREAD, "message": "Pay."}

ROLES = """
[roles.user]

[roles.boss]
approves = ["pay*"]

[roles.clerk]
approves = ["spend"]
"""


def approve(call_id: str = "c1", thread: str = THREAD, **decision: Any) -> Json:
    """A body that decides on a call."""
    item = {"tool_call_id": call_id, "approved": True, **decision}
    return {"thread_id": thread, "approvals": [item]}


@dataclass
class Person:
    """One caller's way to the server."""

    client: Client
    seen: bytearray = field(default_factory=bytearray)
    """All answers that the caller got, with their headers."""

    @property
    def http(self) -> httpx.AsyncClient:
        return self.client.http

    async def ask(self, thread: str = THREAD) -> None:
        await self.client.turn({**ASK, "thread_id": thread})

    async def post(self, path: str, body: Any, **headers: str) -> httpx.Response:
        """Also what is no plain JSON: half a surrogate pair, NaN."""
        content = json.dumps(body).encode()
        given = {"Content-Type": "application/json", **headers}
        return await self.http.post(path, content=content, headers=given)

    async def listed(self) -> list[Json]:
        answer = await self.http.get("/approvals")
        assert answer.status_code == 200, answer.text
        found: list[Json] = answer.json()["approvals"]
        return found

    async def waiting(self) -> str:
        """The id of the one call that waits."""
        [approval] = await self.listed()
        id: str = approval["id"]
        return id

    async def decide(self, id: str, approved: bool = True, **decision: Any) -> httpx.Response:
        return await self.post(f"/approvals/{id}", {"approved": approved, **decision})

    async def call(self, thread: str = THREAD, call_id: str = "c1") -> Json:
        """The part of a call, as the thread shows it."""
        shown = await self.client.thread(thread)
        [part] = [
            part
            for message in shown["messages"]
            for part in message["parts"]
            if part.get("toolCallId") == call_id
        ]
        found: Json = part
        return found

    async def settled(self, thread: str = THREAD) -> Json:
        """The thread, when no run is live."""
        answer = await self.http.get(f"/chat/{thread}/stream")
        assert answer.status_code in (200, 204)
        return await self.client.thread(thread)


@dataclass
class Office:
    """A server on which people ask for payments. Each payment is a line of the ledger."""

    client: Client
    tools: GatedTools
    model: ScriptedModel
    folder: Path

    @property
    def ledger(self) -> list[str]:
        assert self.tools.ledger
        return self.tools.ledger.read_text().splitlines() if self.tools.ledger.exists() else []

    @asynccontextmanager
    async def person(self, name: str, *roles: str) -> AsyncIterator[Person]:
        """As a trusted proxy names them; their role is `user` if none is given."""
        async with http_client(self.client.url) as http:
            groups = ",".join(roles or ("user",))
            http.headers.update({"X-Forwarded-User": name, "X-Forwarded-Groups": groups})
            person = Person(Client(http, self.client.state, self.client.server))

            async def note(answer: httpx.Response) -> None:
                person.seen += str(answer.headers).encode()
                if "text/event-stream" not in answer.headers.get("content-type", ""):
                    person.seen += await answer.aread()

            http.event_hooks["response"].append(note)
            yield person


def office_settings(folder: Path, policy: str = ROLES, **values: Any) -> Settings:
    """Settings of a server that believes a proxy."""
    (folder / "policy.toml").write_text(policy)
    proxy = {"auth": ("header",), "trusted_proxies": ("127.0.0.1",)}
    return settings(folder / "t.db", policy=folder / "policy.toml", **proxy, **values)


@asynccontextmanager
async def office(
    folder: Path, *scripts: Script, policy: str = ROLES, **values: Any
) -> AsyncIterator[Office]:
    """Callers are known, and the policy says what they may do."""
    async with serving_payments(office_settings(folder, policy, **values), *scripts) as served:
        yield served


@asynccontextmanager
async def alone(
    folder: Path, *scripts: Script, **values: Any
) -> AsyncIterator[tuple[Office, Person]]:
    """Without authentication: the server, and the one caller there is."""
    async with serving_payments(settings(folder / "t.db", **values), *scripts) as served:
        yield served, Person(served.client)


@asynccontextmanager
async def serving_payments(configured: Settings, *scripts: Script) -> AsyncIterator[Office]:
    assert isinstance(configured.database, Path)
    folder = configured.database.parent
    tools, model = GatedTools(folder / "ledger"), ScriptedModel.of(*scripts)
    async with serving(configured, tools.catalogue, model) as client:
        try:
            yield Office(client, tools, model, folder)
        finally:
            tools.release.set()


def refused(answer: httpx.Response, status: int, code: str) -> Json:
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    body: Json = answer.json()
    return body
