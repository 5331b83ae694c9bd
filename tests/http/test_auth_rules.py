"""The `@auth.on` handlers of an `Auth`, on the routes of every format."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.http.test_nobody_reaches_anothers import CALLS, DONE, GATED, LIVE, Stage, stage
from tests.support.reverse_proxies import block
from tests.support.serving import Client, serving, settings
from tests.support.users import bearer

SWITCHED = """
from pathlib import Path

from langgraph_sdk import Auth

auth = Auth()
RULE = Path(__file__).with_name("rule.txt")


@auth.authenticate
async def authenticate(authorization: str | None) -> str:
    raise Auth.exceptions.HTTPException(status_code=401)


@auth.on
async def decide(ctx, value):
    rule = RULE.read_text() if RULE.exists() else ""
    return {"": True, "deny": False, "filter": {"owner": "nobody"}}[rule]
"""
NO_THREADS = {
    *("GET /me", "GET /graphs", "GET /openapi.json", "GET /models", "GET /components"),
    *("GET /tools", "POST /tools/{name}", "GET /langgraph/info", "GET /langgraph/ok"),
}
"""Routes that reach no thread, assistant or item."""
SEARCHES = {
    *("GET /threads", "GET /approvals", "GET /export"),
    *(f"POST /langgraph/{path}" for path in ("threads/search", "threads/count", "threads/prune")),
    *("POST /langgraph/assistants/search", "POST /langgraph/assistants/count"),
    "POST /langgraph/runs/cancel",
}
"""Routes that answer with what matches."""


@asynccontextmanager
async def staged(folder: Path) -> AsyncIterator[Stage]:
    """The stage, on a server whose rules follow the file rule.txt."""
    file = folder / "switched.py"
    file.write_text(SWITCHED)
    async with stage(folder, auth=("keys", f"{file}:auth")) as on:
        yield on


async def answers(on: Stage) -> dict[tuple[str, str], httpx.Response]:
    """The answers to all requests that the owner of the threads can make."""
    found = dict[tuple[str, str], httpx.Response]()
    for (method, route), calls in CALLS.items():
        for name, call in calls.items():
            request = on.request(method, route, call)
            found[f"{method} {route}", name] = await on.ann.http.request(**request)
    return found


def refused_early(route: str, answer: httpx.Response) -> bool:
    """True for requests that cannot be served whoever sends them."""
    is_of_others = any(part in route for part in ("/crons", "/store/", "/ag-ui/{graph}"))
    return is_of_others or (answer.status_code == 422 and "approvals" in route)


async def test_a_rule_that_denies_everything_denies_it_on_every_route(tmp_path: Path) -> None:
    async with staged(tmp_path) as on:
        before = await on.things()
        (tmp_path / "rule.txt").write_text("deny")
        allowed = {
            f"{route}: {name}": answer.status_code
            for (route, name), answer in (await answers(on)).items()
            if answer.status_code != 403
            and route not in NO_THREADS
            and not refused_early(route, answer)
        }
        (tmp_path / "rule.txt").unlink()
        assert await on.things() == before
    # These two are refused before the thread is looked for.
    assert allowed == {
        "POST /approvals/{approval_id}: none": 404,
        "DELETE /me: not confirmed": 422,
    }


async def test_a_thread_that_does_not_match_is_no_thread_on_any_route(tmp_path: Path) -> None:
    async with staged(tmp_path) as on:
        before = on.stored()
        (tmp_path / "rule.txt").write_text("filter")
        found = {
            (route, name): (answer.status_code, answer.text)
            for (route, name), answer in (await answers(on)).items()
            if answer.status_code not in (404, 409)
            and route not in NO_THREADS
            and not refused_early(route, answer)
        }
        assert on.stored() == before
    for (route, name), (status, text) in found.items():
        assert status < 300 or status in (403, 422), (route, name, status)
        assert not any(thread in text for thread in (DONE, LIVE, GATED)), (route, name, text)
    reached = {route for (route, _), (status, _) in found.items() if status < 300}
    assert reached - SEARCHES == NEW_THREADS


NEW_THREADS = {f"POST /langgraph/runs{path}" for path in ("", "/stream", "/wait")}
"""Routes whose runs begin threads of their own."""


RULES = """
from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def authenticate(authorization: str | None):
    name, _, org = (authorization or "").removeprefix("Bearer ").partition("/")
    return {"identity": name, "org": org, "permissions": [org]}


@auth.on
async def nothing(ctx, value):
    return False


@auth.on.threads.create_run
async def create_run(ctx, value):
    if value["assistant_id"] != "agent":
        raise Auth.exceptions.HTTPException(403, "That graph is not free.")
    value["metadata"]["by"] = ctx.user["org"]
    return {"org": ctx.user["org"]}


@auth.on.assistants.read
async def known(ctx, value):
    return None


@auth.on.store
async def scoped(ctx, value):
    value["namespace"] = (ctx.user.identity, *(value["namespace"] or ()))
"""
AGENT = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore


def speak(state):
    return {"messages": [AIMessage("Here.")]}


graph = StateGraph(MessagesState).add_node("speak", speak).add_edge(START, "speak")
"""
LG = "/langgraph"
HI = {"type": "text", "text": "Hi"}
TIDES, WINDS = bearer("ann/tides"), bearer("ann/winds")
"""One person, of two organisations: the same owner."""
RUN: Mapping[str, Any] = {
    "assistant_id": "agent",
    "input": {"messages": [{"type": "human", "content": "Hi"}]},
}


@asynccontextmanager
async def documented(folder: Path, rules: str = "", **values: Any) -> AsyncIterator[Client]:
    """A server with two graphs, these rules, those of docs/users.md, and `rules`."""
    (folder / "own_auth.py").write_text(
        RULES + block("users.md", "python", "further in my_auth.py") + rules
    )
    (folder / "own_agent.py").write_text(AGENT)
    graphs = dict.fromkeys(("agent", "other"), "./own_agent.py:graph")
    file = folder / "langgraph.json"
    auth = {"path": "./own_auth.py:auth"}
    file.write_text(json.dumps({"graphs": graphs, "auth": auth}))
    async with serving(settings(folder / "t.db", graph=str(file), **values)) as client:
        yield client


async def begun(client: Client, format: str, thread: str, headers: Any) -> int:
    """Begin a run by the body of a format, and return the status."""
    say = [{"role": "user", "id": "m1", "parts": [HI]}]
    path, body = {
        "native": ("/chat", {"message": "Hi", "thread_id": thread}),
        "transport": (
            "/chat",
            {
                "commands": [{"type": "add-message", "message": {"role": "user", "parts": [HI]}}],
                "threadId": thread,
                "state": None,
            },
        ),
        "ai sdk": ("/chat", {"id": thread, "trigger": "submit-message", "messages": say}),
        "ag-ui": (
            "/ag-ui",
            {"threadId": thread, "messages": [{"id": "m1", "role": "user", "content": "Hi"}]},
        ),
        "langgraph": (f"/langgraph/threads/{thread}/runs/wait", {**RUN, "if_not_exists": "create"}),
    }[format]
    answer = await client.http.post(path, json=body, headers=headers)
    return answer.status_code


@pytest.mark.parametrize("format", ["native", "transport", "ai sdk", "ag-ui", "langgraph"])
async def test_a_thread_that_any_format_begins_is_reached_by_the_rules_alone(
    format: str, tmp_path: Path
) -> None:
    async with documented(tmp_path) as client:
        assert await begun(client, format, "t1", TIDES) == 200
        assert await begun(client, format, "t1", WINDS) == 404
        found = {
            org: [
                (await client.http.get("/threads/t1", headers=headers)).status_code,
                len((await client.http.get("/threads", headers=headers)).json()["threads"]),
                (await client.http.post(f"{LG}/threads/count", json={}, headers=headers)).json(),
                (await client.http.get("/chat/t1/stream", headers=headers)).status_code,
            ]
            for org, headers in (("tides", TIDES), ("winds", WINDS))
        }
        assert found == {"tides": [200, 1, 1, 204], "winds": [404, 0, 0, 404]}
        kept = (await client.http.get(f"{LG}/threads/t1", headers=TIDES)).json()["metadata"]
        assert (kept["org"], kept["by"]) == ("tides", "tides")
        [run] = (await client.http.get(f"{LG}/threads/t1/runs", headers=TIDES)).json()
        assert run["metadata"] == {"by": "tides"}


async def test_langgraphs_client_sees_the_statuses_of_its_own_server(tmp_path: Path) -> None:
    async with documented(tmp_path) as client:

        async def post(path: str, body: Any, headers: Any = TIDES) -> httpx.Response:
            return await client.http.post(f"{LG}{path}", json=body, headers=headers)

        made = (await post("/threads", {"thread_id": "t1", "metadata": {"topic": "sea"}})).json()
        assert (made["metadata"]["org"], made["metadata"]["topic"]) == ("tides", "sea")
        again = {"thread_id": "t1", "if_exists": "do_nothing"}
        assert (await post("/threads", again)).status_code == 200
        refused = await post("/threads/t1/runs/wait", {**RUN, "assistant_id": "other"})
        assert (refused.status_code, refused.json()["detail"]) == (403, "That graph is not free.")
        assert (await post("/threads/t1/runs/wait", RUN)).status_code == 200
        copied = (await post("/threads/t1/copy", None)).json()
        assert copied["metadata"]["org"] == "tides"
        assert (await post("/assistants/search", {})).status_code == 403
        assert (await client.http.get(f"{LG}/assistants/agent", headers=TIDES)).status_code == 200
        for path in ("/threads/t1/copy", "/threads/t1/runs/wait"):
            assert (await post(path, RUN, WINDS)).status_code == 404
        pruned = await post("/threads/prune", {"thread_ids": ["t1"]}, WINDS)
        assert pruned.json() == {"pruned_count": 0}
        erased = await client.http.request("DELETE", "/me", json={"confirm": "ann"}, headers=WINDS)
        assert (erased.status_code, erased.json()["code"]) == (403, "forbidden")
        assert (await client.http.get("/threads/t1", headers=TIDES)).status_code == 200
        assert (await client.http.get("/export", headers=WINDS)).content == b""


async def test_nothing_is_told_of_a_thread_that_does_not_match(tmp_path: Path) -> None:
    async with documented(tmp_path) as client:
        assert await begun(client, "langgraph", "t1", TIDES) == 200

        async def told(path: str, body: Any, headers: Any) -> str:
            answer = await client.http.post(f"{LG}{path}", json=body, headers=headers)
            code: str = answer.json()["code"]
            return code

        branching = {**RUN, "checkpoint": {"checkpoint_id": "none"}}
        batch = [{**branching, "thread_id": "t1"}]
        for path, body in (("/threads/t1/runs/wait", branching), ("/runs/batch", batch)):
            assert await told(path, body, TIDES) == "unknown_checkpoint"
            assert await told(path, body, WINDS) == "thread_not_found"


async def test_a_deleted_thread_that_a_rule_keeps_can_still_be_brought_back(tmp_path: Path) -> None:
    async with documented(tmp_path, undo_seconds=60) as client:
        assert await begun(client, "native", "t1", TIDES) == 200
        assert (await client.http.delete("/threads/t1", headers=TIDES)).status_code == 202
        erased = await client.http.request("DELETE", "/me", json={"confirm": "ann"}, headers=WINDS)
        assert erased.status_code == 403
        assert await begun(client, "native", "t1", WINDS) == 404
        statuses = [
            (await client.http.post("/threads/t1/restore", headers=headers)).status_code
            for headers in (WINDS, TIDES)
        ]
        assert statuses == [404, 200]


ASSISTANTS = """

@auth.on.assistants.search
async def mine(ctx, value):
    value["metadata"]["org"] = ctx.user["org"]


@auth.on.assistants.create
async def made(ctx, value):
    value["metadata"] = {"org": ctx.user["org"]} if ctx.user["org"] else ["no", "object"]
"""


async def test_a_rule_that_changes_what_is_looked_for_counts_before_the_callers_words(
    tmp_path: Path,
) -> None:
    async with documented(tmp_path, rules=ASSISTANTS) as client:

        async def post(path: str, body: Any, headers: Any) -> httpx.Response:
            return await client.http.post(f"{LG}{path}", json=body, headers=headers)

        assert (await post("/assistants", {"graph_id": "agent"}, TIDES)).status_code == 200
        wanted = {"metadata": {"org": "tides"}}
        found = {
            name: (await post("/assistants/count", wanted, headers)).json()
            for name, headers in (("tides", TIDES), ("winds", WINDS))
        }
        assert found == {"tides": 1, "winds": 0}
        refused = await post("/assistants", {"graph_id": "agent"}, bearer("ann/"))
        assert (refused.status_code, refused.json()["code"]) == (503, "guard_failed")


async def test_items_of_the_store_are_reached_in_the_namespace_that_a_rule_gives(
    tmp_path: Path,
) -> None:
    ann, bob = bearer("ann/x"), bearer("bob/x")
    place = {"namespace": ["notes"], "key": "one"}
    async with documented(tmp_path) as client:

        async def items(headers: Any) -> list[Any]:
            found = await client.http.post(f"{LG}/store/items/search", json={}, headers=headers)
            return [(item["namespace"], item["value"]) for item in found.json()["items"]]

        kept = {**place, "value": {"of": "ann"}}
        put = await client.http.put(f"{LG}/store/items", json=kept, headers=ann)
        assert put.status_code == 204
        assert await items(ann) == [(["ann", "notes"], {"of": "ann"})]
        assert await items(bob) == []
        query = {"namespace": "notes", "key": "one"}
        found = await client.http.get(f"{LG}/store/items", params=query, headers=bob)
        assert found.json() is None
