"""A policy over HTTP: whose request is refused, with which problem, and what each caller sees."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.language_models import BaseChatModel
from pydantic import ValidationError

from server.__main__ import main
from server.settings import Settings
from tests.support.counting_tools import CountingTools
from tests.support.run_chunks import tool_call_message
from tests.support.scripted_model import ScriptedModel
from tests.support.serving import Client, serving, settings
from tools.builtin import CATALOGUE
from tools.catalogue import Catalogue

ROLES = """
[roles.user]
tools = ["echo", "nap", "request_user_selection"]
approval = ["nap"]

[roles.admin]
"""


def headers(name: str = "ann", *roles: str) -> dict[str, str]:
    """Those of a proxy that has logged somebody in."""
    return {"X-Forwarded-User": name, "X-Forwarded-Groups": ",".join(roles or ("user",))}


def with_policy(folder: Path, text: str, **values: Any) -> Settings:
    file = folder / "policy.toml"
    file.write_text(text)
    proxy = {"auth": ("header",), "trusted_proxies": ("127.0.0.1",)}
    return settings(folder / "t.db", policy=file, **proxy, **values)


@asynccontextmanager
async def under(
    folder: Path,
    text: str = ROLES,
    catalogue: Catalogue = CATALOGUE,
    model: BaseChatModel | None = None,
    **values: Any,
) -> AsyncIterator[Client]:
    async with serving(with_policy(folder, text, **values), catalogue, model) as client:
        client.http.headers.update(headers())
        yield client


def refused(answer: httpx.Response, status: int, code: str) -> Mapping[str, Any]:
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    body: Mapping[str, Any] = answer.json()
    return body


async def test_a_caller_without_a_role_may_do_nothing_and_reads_why(tmp_path: Path) -> None:
    async with under(tmp_path) as client:
        for method, path in (
            ("GET", "/threads"),
            ("GET", "/tools"),
            ("POST", "/chat"),
            ("POST", "/tools/calculator"),
            ("GET", "/chat/a/stream"),
            ("DELETE", "/threads/a"),
        ):
            answer = await client.http.request(
                method, path, json={"message": "Hi"}, headers=headers("eve", "none")
            )
            refused(answer, 403, "forbidden")
        assert (await client.http.get("/health")).status_code == 200


async def test_everyone_sees_their_own_tools(tmp_path: Path) -> None:
    tools = CountingTools().catalogue
    every = {*tools.real_by_name, *tools.ui_by_name}
    async with under(tmp_path, catalogue=tools) as client:
        for role, expected in (
            ("user", {"echo", "nap", "request_user_selection"}),
            ("admin", every),
        ):
            answer = await client.http.get("/tools", headers=headers("ann", role))
            assert {tool["name"] for tool in answer.json()["tools"]} == expected


async def test_a_tool_that_is_called_alone_obeys(tmp_path: Path) -> None:
    tools = CountingTools()
    async with under(tmp_path, catalogue=tools.catalogue) as client:
        post = client.http.post
        assert (await post("/tools/echo", json={"word": "a"})).status_code == 200
        refused(await post("/tools/nap", json={"word": "b"}), 403, "approval_required")
        refused(await post("/tools/hold", json={"word": "c"}), 403, "tool_not_allowed")
        refused(await post("/tools/none", json={"word": "d"}), 404, "unknown_tool")
        admin = headers("ann", "user", "admin")
        assert (await post("/tools/nap", json={"word": "e"}, headers=admin)).status_code == 200
    assert dict(tools.calls) == {"a": 1, "e": 1}


async def test_a_rule_and_a_limit_hold_for_a_tool_that_is_called_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rules_of_echo.py").write_text(
        "def allow(principal, call):\n"
        "    assert call['name'] == 'echo'\n"
        "    return 'allow' if call['args']['word'] != principal.id else 'deny'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    text = (
        'rule = "rules_of_echo:allow"\n[roles.user]\n'
        "[roles.user.limits]\ntool_calls_per_day = { echo = 1 }\n"
    )
    tools = CountingTools()
    async with under(tmp_path, text, tools.catalogue) as client:
        post = client.http.post
        refused(await post("/tools/echo", json={"word": "ann"}), 403, "tool_not_allowed")
        refused(await post("/tools/echo", json={"words": "a"}), 422, "invalid_arguments")
        assert (await post("/tools/echo", json={"word": "a"})).status_code == 200
        answer = await post("/tools/echo", json={"word": "b"})
        body = refused(answer, 429, "limit_exceeded")
        assert (body["limit"], body["value"]) == ("tool_calls_per_day", 1)
        assert 0 < int(answer.headers["retry-after"]) <= 24 * 3600
    assert dict(tools.calls) == {"a": 1}


async def test_requests_are_counted_for_each_caller(tmp_path: Path) -> None:
    text = "[roles.user.limits]\nrequests_per_minute = 3\n[roles.admin]\n"
    async with under(tmp_path, text) as client:
        answers = await asyncio.gather(*(client.http.get("/threads") for _ in range(5)))
        assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 429, 429]
        answer = await client.http.get("/tools")
        body = refused(answer, 429, "limit_exceeded")
        assert (body["limit"], body["value"]) == ("requests_per_minute", 3)
        assert 0 < int(answer.headers["retry-after"]) <= 60
        for other in (headers("bob"), headers("ann", "user", "admin")):
            assert (await client.http.get("/threads", headers=other)).status_code == 200
        assert (await client.http.get("/health")).status_code == 200


async def test_open_streams_are_counted_for_each_caller_and_given_back(tmp_path: Path) -> None:
    tools = CountingTools()
    hold = tool_call_message(("c1", "hold", '{"word": "one"}'))
    text = "[roles.user.limits]\nopen_streams = 1\nlive_runs = 2\n"
    async with under(tmp_path, text, tools.catalogue, ScriptedModel.of(hold)) as client:
        async with client.chat({"message": "Hi", "thread_id": "a"}) as stream:
            body = refused(await client.http.get("/chat/a/stream"), 429, "limit_exceeded")
            assert (body["limit"], body["value"]) == ("open_streams", 1)
            refused(await client.http.post("/chat", json={"message": "Hi"}), 429, "limit_exceeded")
            await client.turn({"message": "Hi"}, headers=headers("bob"))
            tools.release.set()
            await stream.rest()
        await client.turn({"message": "Hi", "thread_id": "b"})
        await client.turn({"message": "Hi", "thread_id": "b"})


async def test_streams_that_are_opened_at_once_are_not_more_than_the_limit(tmp_path: Path) -> None:
    tools = CountingTools()
    hold = tool_call_message(("c1", "hold", '{"word": "one"}'))
    text = "[roles.user.limits]\nopen_streams = 3\n"
    async with under(tmp_path, text, tools.catalogue, ScriptedModel.of(hold)) as client:
        body = {"message": "Hi", "thread_id": "a"}
        await client.http.post("/chat", json=body, headers={"Prefer": "respond-async"})
        requests = [
            asyncio.create_task(client.http.get("/chat/a/stream?protocol=ui-message-stream"))
            for _ in range(8)
        ]
        refusals = 0
        for request in asyncio.as_completed(requests):
            answer = await request
            if answer.status_code == 429:
                refusals += 1
            if refusals == 5:
                tools.release.set()
        assert refusals == 5


async def test_live_runs_of_a_caller_are_limited(tmp_path: Path) -> None:
    tools = CountingTools()
    hold = tool_call_message(("c1", "hold", '{"word": "one"}'))
    text = "[roles.user.limits]\nlive_runs = 1\n"
    async with (
        under(tmp_path, text, tools.catalogue, ScriptedModel.of(hold)) as client,
        client.chat({"message": "Hi", "thread_id": "a"}),
    ):
        answer = await client.http.post("/chat", json={"message": "Hi", "thread_id": "b"})
        assert refused(answer, 429, "limit_exceeded")["limit"] == "live_runs"
        assert answer.headers["retry-after"]
        await client.turn({"message": "Hi"}, headers=headers("bob"))
        tools.release.set()


def test_a_policy_needs_callers_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="set TURNSTREAM_AUTH"):
        settings(tmp_path / "t.db", policy=tmp_path / "policy.toml")


def test_a_faulty_policy_keeps_the_server_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.toml").write_text("[roles.user]\ntols = []\n")
    arguments = ["--port", "0", "--auth", "keys", "--policy", "policy.toml", "--model", "offline"]
    assert main(arguments) == 2
    said = capsys.readouterr().err
    sentence = "policy.toml, line 2: roles.user.tols: unknown key; did you mean 'tools'?"
    assert said == f"turnstream: {sentence}\n"
