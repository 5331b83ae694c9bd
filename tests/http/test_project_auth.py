"""The `auth` of a langgraph.json: the project's own function recognises callers."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.environment import isolate
from tests.support.serving import Client, serving, settings, text_of
from tests.support.users import bearer
from turnstream.server.extensions.users.faults import AuthSetupError
from turnstream.server.launch import StartError, read_settings
from turnstream.server.settings import Settings

AUTH = """
from project_secrets import TOKENS

from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def authenticate(authorization: str | None) -> str:
    name = TOKENS.get((authorization or "").removeprefix("Bearer "))
    if name is None:
        raise Auth.exceptions.HTTPException(status_code=401)
    return name


def plain(authorization: str | None) -> str:
    return "somebody"
"""
AGENT = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph


def speak(state, config):
    return {"messages": [AIMessage(config["configurable"]["langgraph_auth_user"]["identity"])]}


graph = StateGraph(MessagesState).add_node("speak", speak).add_edge(START, "speak")
"""
PATH = "./src/project_auth.py:auth"


def project(folder: Path, auth: Any = None, code: str = AUTH, **more: Any) -> Path:
    """A project whose function and what it imports are in a folder of its dependencies."""
    (folder / "src").mkdir(exist_ok=True, parents=True)
    (folder / "src" / "project_auth.py").write_text(code)
    (folder / "src" / "project_secrets.py").write_text('TOKENS = {"t-ann": "ann", "t-bob": "bob"}')
    (folder / "authorised_agent.py").write_text(AGENT)
    file = folder / "langgraph.json"
    auth = {"path": PATH} if auth is None else auth
    config = {"graphs": {"agent": "./authorised_agent.py:graph"}, "auth": auth, **more}
    file.write_text(json.dumps(config))
    return file


async def refused(client: Client, method: str, path: str, body: Any = None) -> int:
    return (await client.http.request(method, path, json=body)).status_code


@pytest.mark.parametrize("path", [PATH, "project_auth:auth", "src/project_auth.py:auth"])
async def test_a_project_with_auth_answers_only_those_whom_it_knows(
    path: str, tmp_path: Path
) -> None:
    file = project(tmp_path / "project", {"path": path, "disable_studio_auth": True})
    async with serving(settings(tmp_path / "t.db", graph=f"{file}#agent")) as client:
        hello = {"message": "Hello"}
        assert await refused(client, "POST", "/chat", hello) == 401
        assert await refused(client, "GET", "/threads") == 401
        assert await refused(client, "POST", "/langgraph/threads", {}) == 401
        studio = {"x-auth-scheme": "langsmith"}
        assert (await client.http.get("/threads", headers=studio)).status_code == 401
        ann, bob = bearer("t-ann"), bearer("t-bob")
        thread_id, events = await client.turn(hello, headers=ann)
        assert text_of(events) == "ann"
        assert (await client.http.get(f"/threads/{thread_id}", headers=ann)).status_code == 200
        assert (await client.http.get(f"/threads/{thread_id}", headers=bob)).status_code == 404


async def test_a_handler_that_would_never_be_called_keeps_the_server_from_starting(
    tmp_path: Path,
) -> None:
    handler = """

@auth.on(resources="runs", actions="create")
async def nothing(ctx, value):
    return False
"""
    file = project(tmp_path / "project", code=AUTH + handler)
    with pytest.raises(AuthSetupError) as refusal:
        async with serving(settings(tmp_path / "t.db", graph=f"{file}#agent")):
            pass
    assert str(refusal.value).startswith(f"the auth of {file}: ")
    assert "has a handler for runs.create, which is never called" in str(refusal.value)


@pytest.mark.parametrize("named", ["policy", "function"])
async def test_handlers_are_asked_beside_a_policy_and_of_a_setting_too(
    named: str, tmp_path: Path
) -> None:
    handler = "\n\n@auth.on\nasync def nothing(ctx, value):\n    return False\n"
    file = project(tmp_path, code=AUTH + handler)
    (tmp_path / "policy.toml").write_text('default_role = "user"\n[roles.user]')
    graph = f"{tmp_path / 'authorised_agent.py'}:graph"
    by_policy = {"graph": str(file), "policy": tmp_path / "policy.toml"}
    given = by_policy if named == "policy" else {"graph": graph, "auth": function(tmp_path)}
    async with serving(settings(tmp_path / "t.db", **given)) as client:
        answer = await client.http.get("/threads", headers=bearer("t-ann"))
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
        assert (await client.http.get("/me", headers=bearer("t-ann"))).status_code == 200


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("./nowhere.py:auth", "cannot be loaded"),
        ("./src/project_auth.py:nothing", "cannot be loaded"),
        ("./src/project_auth.py:TOKENS", "is dict, not a function"),
        ("./src/project_auth.py:Auth.types", "is module, not a function"),
        ("./src/project_auth.py:wants", "asks for 'password'"),
        ("./src/project_auth.py:empty", "has no @auth.authenticate function"),
    ],
)
async def test_a_fault_of_the_auth_of_a_file_names_the_file(
    path: str, fault: str, tmp_path: Path
) -> None:
    more = "\n\nempty = Auth()\n\n\ndef wants(password: str) -> str:\n    return password\n"
    file = project(tmp_path, {"path": path}, AUTH + more).rename(tmp_path / "lg.json")
    with pytest.raises(AuthSetupError) as refusal:
        async with serving(settings(tmp_path / "t.db", graph=str(file))):
            pass
    assert str(refusal.value).startswith(f"the auth of {file}: {tmp_path}")
    assert fault in str(refusal.value)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    isolate(monkeypatch, tmp_path)
    return tmp_path


def read(*arguments: str) -> Settings:
    return read_settings(arguments)


def function(folder: Path) -> str:
    return f"{folder / 'src' / 'project_auth.py'}:auth"


def test_the_project_of_the_folder_has_its_auth_on_every_address(here: Path) -> None:
    project(here)
    assert read().auth == (function(here),)
    assert read("--host", "0.0.0.0").auth == (function(here),)
    assert read("./authorised_agent.py:graph").auth == ("off",)


def test_a_project_that_a_variable_names_has_its_auth(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(here / "other")
    monkeypatch.setenv("TURNSTREAM_GRAPH", "other/langgraph.json#agent")
    assert read().auth == Settings.model_validate({}).auth == (function(here / "other"),)


def test_its_auth_goes_with_other_methods_that_are_named_beside_it(here: Path) -> None:
    project(here)
    for methods in ("keys,./src/project_auth.py:auth", function(here)):
        assert read("--auth", methods).auth == tuple(methods.split(","))


def test_a_policy_goes_with_the_auth_of_a_project(here: Path) -> None:
    project(here)
    (here / "policy.toml").write_text("")
    assert read("--policy", "policy.toml").authenticates


@pytest.mark.parametrize("methods", ["off", "keys", "./src/project_auth.py:plain", ","])
def test_other_methods_without_its_auth_are_refused(methods: str, here: Path) -> None:
    project(here)
    with pytest.raises(StartError, match=r"langgraph\.json has an auth of its own"):
        read("--auth", methods)


@pytest.mark.parametrize("auth", [{}, {"path": "auth.py"}, {"path": None}, "./auth.py:auth", []])
def test_an_auth_that_names_no_function_is_refused(auth: Any, here: Path) -> None:
    project(here, auth)
    with pytest.raises(StartError, match="names no function"):
        read()


def test_the_refusal_of_other_methods_names_the_file(here: Path) -> None:
    project(here).rename(here / "lg.json")
    with pytest.raises(StartError, match=r"lg\.json has an auth of its own"):
        read("lg.json", "--auth", "keys")
