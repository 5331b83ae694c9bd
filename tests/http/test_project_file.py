"""What a langgraph.json sets of the server: its own routes, CORS, headers for graphs, the age of
threads, a vector index."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.support.serving import serving, settings, text_of
from tests.support.users import bearer
from turnstream.graphs.faults import GraphError
from turnstream.server.settings import Settings
from turnstream.server.storage.interfaces import StorageError

AGENT = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph


async def speak(state, config, *, store):
    known = config["configurable"]
    names = ("x-colour", "x-secret", "x-api-key", "checkpoint_id", "authorization")
    await store.aput(("memories",), "1", {"text": "I like tea"})
    await store.aput(("memories",), "2", {"text": "a car is red"})
    found = await store.asearch(("memories",), query="tea")
    said = [str(known.get(name)) for name in names] + [item.key for item in found]
    return {"messages": [AIMessage(" ".join(said))]}


graph = StateGraph(MessagesState).add_node("speak", speak).add_edge(START, "speak")
"""
APP = """
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import JSONResponse
from starlette.routing import Route

opened = []


@asynccontextmanager
async def lifespan(app):
    opened.append("open")
    yield {"greeting": "Ahoy"}
    opened.append("closed")


async def hello(request):
    user = request.scope.get("user")
    return JSONResponse({"says": request.state.greeting, "to": user and user.identity})


class Stamp:
    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        async def stamped(message):
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"x-stamp", b"1")]
            await send(message)

        await self.app(scope, receive, stamped)


routes = [Route("/hello", hello)]
app = Starlette(routes=routes, lifespan=lifespan, middleware=[Middleware(GZipMiddleware)])
guarded = Starlette(routes=routes, lifespan=lifespan, middleware=[Middleware(Stamp)])
"""
AUTH = """
def auth(authorization: str | None) -> str | None:
    return (authorization or "").removeprefix("Bearer ") or None


def embed(texts):
    return [[float("tea" in text), float("car" in text)] for text in texts]
"""


def project(folder: Path, **keys: Any) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "file_agent.py").write_text(AGENT)
    (folder / "file_app.py").write_text(APP)
    (folder / "file_auth.py").write_text(AUTH)
    config = {"graphs": {"agent": "./file_agent.py:graph"}, **keys}
    (folder / "langgraph.json").write_text(json.dumps(config))
    return str(folder / "langgraph.json")


async def test_routes_of_a_project_are_served_beside_the_servers_in_its_lifespan(
    tmp_path: Path,
) -> None:
    graph = project(tmp_path / "p", http={"app": "./file_app.py:app"})
    async with serving(settings(tmp_path / "t.db", graph=graph)) as client:
        said = await client.http.get("/hello")
        assert said.json() == {"says": "Ahoy", "to": None}
        assert (await client.http.post("/hello")).status_code == 405
        assert (await client.http.get("/health")).status_code == 200
        assert (await client.http.get("/nowhere")).json()["code"] == "not_found"
        thread_id, _ = await client.turn({"message": "Hello"})
        assert (await client.thread(thread_id))["messages"]
        foreign = await client.http.get("/hello", headers={"host": "evil.example"})
        assert foreign.status_code == 403


async def test_routes_of_a_project_can_be_for_callers_who_are_recognised(tmp_path: Path) -> None:
    http = {"app": "./file_app.py:guarded", "enable_custom_route_auth": True}
    graph = project(tmp_path / "p", http=http, auth={"path": "./file_auth.py:auth"})
    async with serving(settings(tmp_path / "t.db", graph=graph)) as client:
        refused = await client.http.get("/hello")
        assert (refused.status_code, refused.headers["x-stamp"]) == (401, "1")
        known = await client.http.get("/hello", headers=bearer("ann"))
        assert known.json()["to"] == "ann"
        listed = await client.http.get("/threads", headers=bearer("ann"))
        assert (listed.status_code, listed.headers["x-stamp"]) == (200, "1")
        assert (await client.http.get("/threads")).status_code == 401


@pytest.mark.parametrize(
    ("app", "fault"),
    [
        ("./file_app.py:guarded", "has middleware"),
        ("./file_app.py:hello", "is a function; name a Starlette"),
        ("./file_app.py:nothing", "has no attribute 'nothing'"),
    ],
)
async def test_an_application_that_cannot_be_served_is_refused(
    app: str, fault: str, tmp_path: Path
) -> None:
    graph = project(tmp_path / "p", http={"app": app})
    with pytest.raises(GraphError, match=fault):
        async with serving(settings(tmp_path / "t.db", graph=graph)):
            pass


async def test_middleware_that_may_protect_a_project_is_served_when_auth_is_said_to_be_off(
    tmp_path: Path,
) -> None:
    graph = project(tmp_path / "p", http={"app": "./file_app.py:guarded"})
    async with serving(settings(tmp_path / "t.db", graph=graph, auth=("off",))) as client:
        assert (await client.http.get("/threads")).headers["x-stamp"] == "1"


@pytest.mark.parametrize(
    ("cors", "allowed"),
    [
        ({"allow_origins": ["https://a.example"]}, True),
        ({"allow_origin_regex": r"https://[a-z]\.example"}, True),
        ({"allow_origins": ["*"]}, True),
        ({"allow_origins": ["https://b.example"], "allow_origin_regex": "https://a"}, False),
    ],
)
async def test_cors_of_a_project_says_which_pages_may_call(
    cors: dict[str, Any], allowed: bool, tmp_path: Path
) -> None:
    given = {"max_age": 7, "expose_headers": ["X-Mine"], "allow_credentials": True, **cors}
    graph = project(tmp_path / "p", http={"cors": given})
    page = {"origin": "https://a.example", "access-control-request-method": "POST"}
    async with serving(settings(tmp_path / "t.db", graph=graph)) as client:
        asked = await client.http.options("/chat", headers=page)
        posted = await client.http.post("/chat", json={"message": "Hi"}, headers=page)
        assert posted.status_code == (200 if allowed else 403)
        assert asked.status_code == (200 if allowed else 400)
        if allowed:
            assert asked.headers["access-control-max-age"] == "7"
            assert "X-Mine" in posted.headers["access-control-expose-headers"]
            assert posted.headers["access-control-allow-credentials"] == "true"


async def test_a_graph_gets_the_headers_that_its_project_names_and_no_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rule = {"includes": ["X-*", "checkpoint_id", "Authorization"], "excludes": ["x-secret"]}
    graph = project(tmp_path / "p", http={"configurable_headers": rule})
    headers = {"X-Colour": "red", "x-secret": "s", "x-api-key": "k", "checkpoint_id": "c"}
    headers["Authorization"] = "Bearer t"
    async with serving(settings(tmp_path / "t.db", graph=graph)) as client:
        assert "includes authorization, which no graph is given" in caplog.text
        _, events = await client.turn({"message": "Hello"}, headers=headers)
        assert text_of(events).startswith("red None None None None")


async def test_a_vector_index_is_there_where_the_database_can_have_one_and_else_refused(
    tmp_path: Path,
) -> None:
    index = {"dims": 2, "embed": "./file_auth.py:embed", "fields": ["text"]}
    graph = project(tmp_path / "p", store={"index": index})
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        with pytest.raises(StorageError, match=r"store\.index.*needs a Python whose sqlite3"):
            async with serving(settings(tmp_path / "t.db", graph=graph)):
                pass
        return
    async with serving(settings(tmp_path / "t.db", graph=graph)) as client:
        _, events = await client.turn({"message": "Hello"})
        assert text_of(events).endswith("1 2")


def test_a_project_says_how_long_threads_are_kept_and_a_setting_takes_precedence(
    tmp_path: Path,
) -> None:
    ttl = {"strategy": "delete", "default_ttl": 2880}
    graph = project(tmp_path / "p", checkpointer={"ttl": ttl}, env={"OPENAI_API_KEY": "k"})
    kept = Settings.model_validate({"graph": graph})
    assert (kept.thread_retention_days, kept.openai_api_key) == (2, "k")
    longer = Settings.model_validate({"graph": graph, "thread_retention_days": 3})
    assert longer.thread_retention_days == 3
