"""Several models over HTTP: which one speaks, and who may choose it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.http.test_policy import headers, refused, with_policy
from tests.support.endpoint import StrictEndpoint, call_reply, text_reply
from tests.support.serving import Client, serving, settings

MODELS = {"model": "first", "models": ("openai:second", "offline")}


def values(endpoint: StrictEndpoint, **more: Any) -> dict[str, Any]:
    return {"openai_base_url": endpoint.base_url, "openai_api_key": "test", **MODELS, **more}


@asynccontextmanager
async def several(folder: Path, endpoint: StrictEndpoint, **more: Any) -> AsyncIterator[Client]:
    async with serving(settings(folder / "t.db", **values(endpoint, **more))) as client:
        yield client


def spoken(endpoint: StrictEndpoint) -> list[str]:
    return [body["model"] for body in endpoint.requests]


async def listed(client: Client, **request: Any) -> list[str]:
    answer = await client.http.get("/models", **request)
    return [model["name"] for model in answer.json()["models"]]


async def test_the_models_are_listed_the_default_first(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    async with several(tmp_path, endpoint) as client:
        answer = await client.http.get("/models")
    assert answer.json() == {
        "models": [
            {"name": "first", "provider": "openai", "default": True, "images": True},
            {"name": "openai:second", "provider": "openai", "default": False, "images": True},
            {"name": "offline", "provider": "offline", "default": False, "images": True},
        ],
        "images": {
            "types": ["image/png", "image/jpeg", "image/gif", "image/webp"],
            "max": 10,
            "max_bytes": 8_000_000,
        },
        "max_message_chars": 32_000,
    }


async def test_the_model_that_a_request_names_answers_and_the_next_turn_has_the_default(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    async with several(tmp_path, endpoint) as client:
        thread, _ = await client.turn({"message": "Hi", "model": "openai:second"})
        await client.turn({"thread_id": thread, "message": "Hi again"})
        await client.turn({"thread_id": thread, "message": "Hello", "model": "offline"})
        await client.turn({"thread_id": thread, "message": "Bye", "model": "first"})
    assert spoken(endpoint) == ["second", "first", "first"]


QUESTION = '{"kind":"single","prompt":"Which?","options":[{"value":"a"}]}'


async def test_a_turn_that_goes_on_keeps_its_model(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(
        call_reply(("request_user_selection", QUESTION), ids=("call_a",)), text_reply("Thanks.")
    )
    async with several(tmp_path, endpoint) as client:
        thread, _ = await client.turn({"message": "Ask me", "model": "openai:second"})
        answer = {"tool_call_id": "call_a", "result": "a"}
        await client.turn({"thread_id": thread, "tool_results": [answer]})
    assert spoken(endpoint) == ["second", "second"]


async def test_a_turn_goes_on_with_the_default_once_its_model_is_not_served_any_more(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(
        call_reply(("request_user_selection", QUESTION), ids=("call_a",)), text_reply("Thanks.")
    )
    async with several(tmp_path, endpoint) as client:
        thread, _ = await client.turn({"message": "Ask me", "model": "openai:second"})
    async with several(tmp_path, endpoint, models=("third",)) as client:
        answer = {"tool_call_id": "call_a", "result": "a"}
        await client.turn({"thread_id": thread, "tool_results": [answer]})
    assert spoken(endpoint) == ["second", "first"]


QUESTIONS: list[dict[str, Any]] = [
    {"message": "Hi"},
    {
        "id": "t1",
        "trigger": "submit-message",
        "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}],
    },
    {
        "threadId": None,
        "commands": [
            {
                "type": "add-message",
                "message": {"role": "user", "parts": [{"type": "text", "text": "Hi"}]},
            }
        ],
    },
]


@pytest.mark.parametrize("body", QUESTIONS, ids=["native", "AI SDK", "assistant-transport"])
async def test_a_model_that_is_not_served_is_refused_with_those_that_are(
    body: dict[str, Any], tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    async with several(tmp_path, endpoint) as client:
        answer = await client.http.post("/chat", json={**body, "model": "third"})
        detail = refused(answer, 422, "unknown_model")["detail"]
        assert "first, openai:second, offline" in detail
        assert (await client.http.get("/threads")).json()["threads"] == []
    assert spoken(endpoint) == []


@pytest.mark.parametrize("model", [7, {"name": "first"}, ["first"], ""])
async def test_a_model_that_is_no_name_is_refused(
    model: Any, tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    async with several(tmp_path, endpoint) as client:
        answer = await client.http.post("/chat", json={"message": "Hi", "model": model})
    assert answer.status_code == 422


async def test_a_graph_that_is_not_ours_has_a_model_of_its_own(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    graph = "docs/examples/own_graph.py:build"
    async with several(tmp_path, endpoint, graph=graph) as client:
        assert await listed(client) == []
        answer = await client.http.post("/chat", json={"message": "Hi", "model": "first"})
    refused(answer, 422, "model_not_selectable")


ROLES = """
[roles.user]
models = ["offline", "openai:*"]

[roles.guest]
models = []

[roles.admin]
"""


@asynccontextmanager
async def under(folder: Path, endpoint: StrictEndpoint) -> AsyncIterator[Client]:
    async with serving(with_policy(folder, ROLES, **values(endpoint))) as client:
        yield client


async def test_callers_see_and_get_the_models_of_their_roles(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    async with under(tmp_path, endpoint) as client:
        assert await listed(client, headers=headers("ann")) == ["openai:second", "offline"]
        assert await listed(client, headers=headers("eve", "admin")) == [
            "first",
            "openai:second",
            "offline",
        ]
        assert await listed(client, headers=headers("bob", "guest")) == []
        await client.turn({"message": "Hi"}, headers=headers("ann"))
        await client.turn({"message": "Hi"}, headers=headers("eve", "admin"))
    assert spoken(endpoint) == ["second", "first"]


async def test_a_model_of_other_roles_is_refused(tmp_path: Path, endpoint: StrictEndpoint) -> None:
    async def post(client: Client, body: dict[str, Any], *caller: str) -> httpx.Response:
        return await client.http.post("/chat", json=body, headers=headers(*caller))

    async with under(tmp_path, endpoint) as client:
        named = await post(client, {"message": "Hi", "model": "first"}, "ann")
        refused(named, 403, "model_not_allowed")
        unnamed = await post(client, {"message": "Hi"}, "bob", "guest")
        refused(unnamed, 403, "model_not_allowed")
    assert spoken(endpoint) == []
