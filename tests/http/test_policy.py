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

from tests.support.counting_tools import CountingTools
from tests.support.run_chunks import tool_call_message
from tests.support.scripted_model import ScriptedModel
from tests.support.serving import Client, serving, settings
from tests.support.waiting import WAIT_SECONDS
from turnstream.server.__main__ import main
from turnstream.server.extensions.built_in import ServerSettings as Settings
from turnstream.server.runs.reader import RunReader
from turnstream.server.turns.header import RunHeader
from turnstream.server.turns.messages import Turn
from turnstream.tools.builtin import CATALOGUE
from turnstream.tools.catalogue import Catalogue

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
        me = await client.http.get("/me", headers=headers("eve", "none"))
        assert (me.status_code, me.json()["id"]) == (200, "eve")


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


@pytest.mark.two_workers
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


@pytest.mark.two_workers
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


async def test_streams_that_are_opened_at_once_are_not_more_than_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together, turns_before = asyncio.Barrier(8), RunReader.turns_before

    async def read_together(reader: RunReader, header: RunHeader) -> tuple[Turn, ...]:
        async with asyncio.timeout(WAIT_SECONDS):
            await together.wait()
        return await turns_before(reader, header)

    monkeypatch.setattr(RunReader, "turns_before", read_together)
    tools = CountingTools()
    hold = tool_call_message(("c1", "hold", '{"word": "one"}'))
    text = "[roles.user.limits]\nopen_streams = 3\n"
    async with under(tmp_path, text, tools.catalogue, ScriptedModel.of(hold)) as client:
        body = {"message": "Hi", "thread_id": "a"}
        await client.http.post("/chat", json=body, headers={"Prefer": "respond-async"})
        # Whoever renders a state needs the turns before: all are at once between check and stream.
        attach = {"commands": [], "state": {"thread_id": "a"}}
        requests = [asyncio.create_task(client.http.post("/chat", json=attach)) for _ in range(8)]
        refusals = 0
        for request in asyncio.as_completed(requests):
            answer = await request
            if answer.status_code == 429:
                refusals += 1
            if refusals == 5:
                tools.release.set()
        assert refusals == 5


@pytest.mark.two_workers
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


@pytest.mark.two_workers
async def test_threads_and_tokens_of_a_caller_are_limited_by_the_day(tmp_path: Path) -> None:
    text = (
        "[roles.user.limits]\nnew_threads_per_day = 1\n[roles.guest.limits]\ntokens_per_day = 1\n"
    )
    async with under(tmp_path, text, model=ScriptedModel.of()) as client:
        for role, limit in (("user", "new_threads_per_day"), ("guest", "tokens_per_day")):
            caller = headers(role, role)
            await client.turn({"message": "Hi"}, headers=caller)
            answer = await client.http.post("/chat", json={"message": "Hi"}, headers=caller)
            body = refused(answer, 429, "limit_exceeded")
            assert (body["limit"], body["value"]) == (limit, 1)


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


async def test_the_start_warns_of_names_that_no_tool_and_no_model_has(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = """
    [roles.user]
    tools = ["echo", "request_user_*"]
    models = ["*"]
    approval = ["ecko"]
    """
    async with under(tmp_path, text, CountingTools().catalogue):
        said = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    place = "TURNSTREAM_POLICY: roles.user.approval"
    assert said == [f"{place}: 'ecko' matches nothing; did you mean 'echo'?"]


def echoes(*words: str) -> list[Any]:
    return [tool_call_message((f"c-{word}", "echo", f'{{"word": "{word}"}}')) for word in words]


HI = {"type": "text", "text": "Hi"}
BODIES: Mapping[str, dict[str, Any]] = {
    "native": {"message": "Hi", "thread_id": "a"},
    "assistant-transport": {
        "commands": [{"type": "add-message", "message": {"role": "user", "parts": [HI]}}],
    },
    "ai-sdk": {
        "id": "a",
        "trigger": "submit-message",
        "messages": [{"role": "user", "id": "m1", "parts": [HI]}],
    },
}


@pytest.mark.parametrize("name", BODIES)
async def test_a_request_of_any_wire_format_can_narrow_its_run(tmp_path: Path, name: str) -> None:
    tools, model = CountingTools(), ScriptedModel.of(*echoes("one"))
    async with under(tmp_path, catalogue=tools.catalogue, model=model) as client:
        post = client.http.post
        narrow = BODIES[name] | {"allowed_tools": ["request_user_selection"]}
        answer = await post("/chat", json=narrow)
        thread = await client.http.get(f"/threads/{answer.headers['x-thread-id']}")
        assert "tool_not_allowed" in thread.text
        for choice, status, code in (
            (["ehco"], 422, "unknown_tool"),
            (["hold"], 403, "tool_not_allowed"),
            ("echo", 422, "invalid_body"),
            ([3], 422, "invalid_body"),
        ):
            body = BODIES[name] | {"allowed_tools": choice}
            refused(await post("/chat", json=body), status, code)
    assert not tools.calls


async def test_a_wrong_name_is_told_with_the_one_that_is_near(tmp_path: Path) -> None:
    tools = CountingTools()
    async with under(tmp_path, catalogue=tools.catalogue) as client:
        answer = await client.http.post("/chat", json={"message": "Hi", "allowed_tools": ["ecco"]})
        assert refused(answer, 422, "unknown_tool")["detail"].endswith("Did you mean echo?")
        answer = await client.http.post("/chat", json={"message": "Hi", "allowed_tools": ["holt"]})
        assert "hold" not in refused(answer, 422, "unknown_tool")["detail"]
        assert (await client.http.get("/threads")).json()["threads"] == []


async def test_a_clients_own_tool_may_be_chosen_and_is_never_filtered(tmp_path: Path) -> None:
    tool = {"name": "pick_day", "description": "Pick.", "parameters": {"type": "object"}}
    for choice in ([], ["pick_day"]):
        model = ScriptedModel.of(tool_call_message(("c1", "pick_day", "{}")))
        async with under(tmp_path, model=model) as client:
            thread_id, _ = await client.turn(
                {"message": "Hi", "client_tools": [tool], "allowed_tools": choice}
            )
            pending = (await client.thread(thread_id))["pending"]
            assert [call["tool_name"] for call in pending] == ["pick_day"]


async def test_a_thread_can_be_narrowed_until_it_is_widened_again(tmp_path: Path) -> None:
    tools, model = CountingTools(), ScriptedModel.of(*echoes("one"))
    admin = headers("ann", "admin")
    async with under(tmp_path, catalogue=tools.catalogue, model=model) as client:
        patch = client.http.patch
        await client.turn({"message": "Hi", "thread_id": "a"})
        assert tools.calls["one"] == 1
        assert "allowed_tools" not in await client.thread("a")
        entry = (await patch("/threads/a", json={"allowed_tools": ["nap"], "title": "T"})).json()
        assert (entry["allowed_tools"], entry["title"]) == (["nap"], "T")
        assert (await client.thread("a"))["allowed_tools"] == ["nap"]
        for body, choice in (({"message": "Hi"}, None), ({"message": "Hi"}, ["echo"])):
            model.script_anew(*echoes("two"))
            await client.turn(body | {"thread_id": "a", "allowed_tools": choice}, headers=admin)
        assert tools.calls["two"] == 0
        entry = (await patch("/threads/a", json={"allowed_tools": None})).json()
        assert "allowed_tools" not in entry
        model.script_anew(*echoes("two"))
        await client.turn({"message": "Hi", "thread_id": "a"})
        assert tools.calls["two"] == 1


async def test_the_list_of_threads_has_no_tool_names_and_a_thread_has_each_once(
    tmp_path: Path,
) -> None:
    async with under(tmp_path, catalogue=CountingTools().catalogue) as client:
        await client.turn({"message": "Hi", "thread_id": "a"})
        names = {"allowed_tools": ["nap", "echo", "nap"] * 300}
        entry = (await client.http.patch("/threads/a", json=names)).json()
        assert entry["allowed_tools"] == ["nap", "echo"]
        assert (await client.thread("a"))["allowed_tools"] == ["nap", "echo"]
        for query in ({}, {"q": "Hi"}, {"state": "finished"}):
            [listed] = (await client.http.get("/threads", params=query)).json()["threads"]
            assert "allowed_tools" not in listed, query


@pytest.mark.parametrize("names", [["nap"] * 1001, ["n" * 257], ["nap", "n" * 100_000]])
async def test_too_many_or_too_long_tool_names_are_refused(
    tmp_path: Path, names: list[str]
) -> None:
    async with under(tmp_path) as client:
        await client.turn({"message": "Hi", "thread_id": "a"})
        body = {"allowed_tools": names}
        refused(await client.http.patch("/threads/a", json=body), 422, "invalid_body")
        answer = await client.http.post("/chat", json={"message": "Hi", **body})
        refused(answer, 422, "invalid_body")
        assert "allowed_tools" not in await client.thread("a")


async def test_a_thread_is_narrowed_to_tools_that_there_are_and_its_owner_may_use(
    tmp_path: Path,
) -> None:
    tools = CountingTools()
    async with under(tmp_path, catalogue=tools.catalogue) as client:
        patch = client.http.patch
        refused(await patch("/threads/a", json={"allowed_tools": []}), 404, "thread_not_found")
        await client.turn({"message": "Hi", "thread_id": "a"})
        for body, status, code in (
            ({"allowed_tools": ["none"]}, 422, "unknown_tool"),
            ({"allowed_tools": ["hold"], "title": "T"}, 403, "tool_not_allowed"),
            ({"allowed_tools": "echo"}, 422, "invalid_body"),
            ({"allowed_tools": [], "titel": "T"}, 422, "unknown_key"),
            ({"allowed_tools": ["echo"], "title": ""}, 422, "invalid_title"),
            ({}, 422, "invalid_body"),
        ):
            refused(await patch("/threads/a", json=body), status, code)
        entry = await client.thread("a")
        assert entry["title"] == "Hi"
        assert "allowed_tools" not in entry
        other = headers("bob")
        answer = await patch("/threads/a", json={"allowed_tools": []}, headers=other)
        refused(answer, 404, "thread_not_found")


async def test_a_run_that_continues_obeys_its_own_choice(tmp_path: Path) -> None:
    tools = CountingTools()
    hold = tool_call_message(("c1", "hold", '{"word": "one"}'))
    async with under(
        tmp_path, "[roles.user]\n", tools.catalogue, ScriptedModel.of(hold, *echoes("two"))
    ) as client:
        async with client.chat({"message": "Hi", "thread_id": "a"}) as stream:
            await tools.begun("one")
            await client.http.post("/chat/a/stop")
            await stream.rest()
        await client.turn({"continue": True, "thread_id": "a", "allowed_tools": ["hold"]})
        assert "tool_not_allowed" in (await client.http.get("/threads/a")).text
    assert dict(tools.calls) == {"one": 1}
