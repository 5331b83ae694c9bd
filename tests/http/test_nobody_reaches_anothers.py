"""Nobody reaches what is not theirs: every route and method of the app x every caller.

A route or method that the table does not know fails here; add what it can do to a thread.
"""

import sqlite3
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from _pytest.mark import ParameterSet
from starlette.routing import BaseRoute, Mount, Route

from tests.support import golden
from tests.support.gated_tools import GatedTools
from tests.support.routes import ROUTES
from tests.support.run_chunks import QUESTION, SELECTION, tool_call_message
from tests.support.scripted_model import Script, ScriptedModel, finish, text
from tests.support.serving import Client, http_client, serving, settings
from tests.support.users import bearer, client_of, credentials_of, keys_settings, log_in, make_key
from turnstream.server.turns.header import ThreadKey

PUBLIC = {
    ("GET", "/health"),
    ("GET", "/health/live"),
    ("GET", "/health/ready"),
    ("GET", "/health/stream"),
    ("POST", "/login"),
    ("POST", "/logout"),
}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
SECRET = "the-secret-of-ann"
ANN, BOB, NOBODY_ELSE = "ann", "bob", "cat"
DONE, WAITING, LIVE, ABSENT = "thread-d", "thread-w", "thread-l", "thread-0"
HERS, NOBODYS = "assistant-a", "assistant-0"
"""Ids of assistants."""
GATED = "thread-g"
TOP_CALL, PAY_CALL = "call-1", "call-3"
NO_APPROVAL = "0" * 16

LATER = {"Prefer": "respond-async"}

Json = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """A request; `{thread}`, `{run}`, `{queued}`, `{user}`, `{answer}` and `{assistant}` stand for
    ids of ann's."""

    owner_gets: int
    thread: str = DONE
    body: Json | list[Json] | None = None
    query: str = ""
    tool: str = "echo"
    headers: Mapping[str, str] = field(default_factory=dict)
    is_awaited: bool = False
    """True if the answer comes when the live run is over."""


HI = {"type": "text", "text": "Hi"}
AG_UI_HI = {"id": "m-new", "role": "user", "content": "Hi"}
LG, LA = "/langgraph/threads/{thread_id}", "/langgraph/assistants/{assistant_id}"
HUMAN: Json = {"assistant_id": "chat", "input": {"messages": [{"type": "human", "content": "Hi"}]}}
ITEM: Json = {"namespace": ["a"], "key": "b"}
AT_START: Json = {"checkpoint": {"checkpoint_id": "start"}}
ANSWERED: Json = {"type": "tool", "tool_call_id": TOP_CALL, "content": '{"value": "red"}'}
APPROVED: Json = {
    "assistant_id": "chat",
    "command": {"resume": {"decisions": [{"type": "approve"}]}},
}
RUN_CALLS: Mapping[str, Call] = {
    "message": Call(200, body=HUMAN),
    "message to a live thread": Call(409, LIVE, body={**HUMAN, "multitask_strategy": "reject"}),
    "message behind a live run": Call(200, LIVE, body=HUMAN),
    "interrupt and start": Call(200, LIVE, body={**HUMAN, "multitask_strategy": "interrupt"}),
    "roll back and start": Call(200, LIVE, body={**HUMAN, "multitask_strategy": "rollback"}),
    "message over a question": Call(200, WAITING, body=HUMAN),
    "answer": Call(200, WAITING, body={"assistant_id": "chat", "input": {"messages": [ANSWERED]}}),
    "approve": Call(200, GATED, body=APPROVED),
}
LANGGRAPH: Mapping[tuple[str, str], Mapping[str, Call]] = {
    ("GET", "/langgraph/info"): {"info": Call(200)},
    ("GET", "/langgraph/ok"): {"ok": Call(200)},
    ("POST", "/langgraph/assistants/search"): {"all": Call(200, body={})},
    ("POST", "/langgraph/assistants/count"): {"all": Call(200, body={})},
    ("POST", "/langgraph/assistants"): {
        "hers, again": Call(
            200,
            body={"graph_id": "chat", "assistant_id": "{assistant}", "if_exists": "do_nothing"},
        ),
    },
    ("GET", LA): {"hers": Call(200)},
    ("PATCH", LA): {"hers": Call(200, body={"name": "Mine"})},
    ("DELETE", LA): {"hers": Call(204)},
    ("POST", f"{LA}/versions"): {"hers": Call(200, body={})},
    ("POST", f"{LA}/latest"): {"hers": Call(200, body={"version": 1})},
    ("GET", f"{LA}/graph"): {"hers": Call(200)},
    ("GET", f"{LA}/schemas"): {"hers": Call(200)},
    ("GET", f"{LA}/subgraphs"): {"hers": Call(200)},
    ("GET", f"{LA}/subgraphs/{{namespace}}"): {"hers": Call(200)},
    ("PUT", "/langgraph/store/items"): {"none": Call(404, body={**ITEM, "value": {}})},
    ("GET", "/langgraph/store/items"): {"none": Call(404, query="?namespace=a&key=b")},
    ("DELETE", "/langgraph/store/items"): {"none": Call(404, body=ITEM)},
    ("POST", "/langgraph/store/items/search"): {"none": Call(404, body={})},
    ("POST", "/langgraph/store/namespaces"): {"none": Call(404, body={})},
    ("POST", "/langgraph/runs/crons"): {"none": Call(404)},
    ("POST", "/langgraph/runs/crons/search"): {"none": Call(404)},
    ("POST", "/langgraph/runs/crons/count"): {"none": Call(404)},
    ("GET", "/langgraph/runs/crons/{cron_id}"): {"none": Call(404)},
    ("PATCH", "/langgraph/runs/crons/{cron_id}"): {"none": Call(404)},
    ("DELETE", "/langgraph/runs/crons/{cron_id}"): {"none": Call(404)},
    ("POST", f"{LG}/runs/crons"): {"none": Call(404)},
    ("POST", "/langgraph/runs"): {
        "message": Call(200, body=HUMAN),
        "her assistant": Call(200, body={**HUMAN, "assistant_id": "{assistant}"}),
    },
    ("POST", "/langgraph/runs/batch"): {
        "message": Call(200, body=[{**HUMAN, "thread_id": "{thread}"}]),
        "message behind a live run": Call(200, LIVE, body=[{**HUMAN, "thread_id": "{thread}"}]),
    },
    ("POST", "/langgraph/runs/cancel"): {
        "all": Call(204, LIVE, body={"status": "all"}),
        "hers": Call(204, LIVE, body={"thread_id": "{thread}", "run_ids": ["{run}"]}),
    },
    ("POST", "/langgraph/runs/stream"): {"message": Call(200, body=HUMAN)},
    ("POST", "/langgraph/runs/wait"): {"message": Call(200, body=HUMAN)},
    ("POST", "/langgraph/threads"): {
        "hers, again": Call(200, body={"thread_id": "{thread}", "if_exists": "do_nothing"}),
    },
    ("POST", "/langgraph/threads/search"): {"all": Call(200, body={})},
    ("POST", "/langgraph/threads/count"): {"all": Call(200, body={})},
    ("POST", "/langgraph/threads/prune"): {"ended": Call(200, body={"thread_ids": ["{thread}"]})},
    ("POST", f"{LG}/copy"): {"ended": Call(200), "live": Call(409, LIVE)},
    ("GET", LG): {"ended": Call(200), "gated": Call(200, GATED), "live": Call(200, LIVE)},
    ("PATCH", LG): {"ended": Call(200, body={"metadata": {"topic": "Mine"}})},
    ("DELETE", LG): {"ended": Call(204), "live": Call(204, LIVE)},
    ("GET", f"{LG}/state"): {
        "ended": Call(200),
        "gated": Call(200, GATED),
        "live": Call(200, LIVE),
    },
    ("POST", f"{LG}/state"): {
        "message": Call(200, body={"values": HUMAN["input"]}),
        "message to a live thread": Call(409, LIVE, body={"values": HUMAN["input"]}),
        "nothing": Call(200, body={}),
    },
    ("GET", f"{LG}/state/{{checkpoint_id}}"): {"first": Call(200)},
    ("POST", f"{LG}/state/checkpoint"): {
        "newest": Call(200, body={}),
        "live": Call(200, LIVE, body={}),
        "first": Call(200, body=AT_START),
    },
    ("GET", f"{LG}/history"): {"all": Call(200), "live": Call(200, LIVE)},
    ("POST", f"{LG}/history"): {"all": Call(200, body={}), "live": Call(200, LIVE, body={})},
    ("GET", f"{LG}/runs"): {"last": Call(200), "live": Call(200, LIVE)},
    ("POST", f"{LG}/runs"): RUN_CALLS,
    ("POST", f"{LG}/runs/wait"): {
        **RUN_CALLS,
        "message behind a live run": Call(200, LIVE, body=HUMAN, is_awaited=True),
    },
    ("POST", f"{LG}/runs/stream"): {**RUN_CALLS, "edit": Call(200, body={**HUMAN, **AT_START})},
    ("DELETE", f"{LG}/runs/{{run_id}}"): {"ended": Call(409), "live": Call(409, LIVE)},
    ("GET", f"{LG}/runs/{{run_id}}"): {"ended": Call(200), "live": Call(200, LIVE)},
    # A stream without an end: refused to its owner by its mode.
    ("GET", f"{LG}/storage"): {"all": Call(200)},
    ("GET", f"{LG}/stream"): {"of an unknown mode": Call(422, query="?stream_mode=all")},
    ("GET", f"{LG}/runs/{{run_id}}/join"): {
        "ended": Call(200),
        "live": Call(200, LIVE, is_awaited=True),
    },
    ("GET", f"{LG}/runs/{{run_id}}/stream"): {
        "ended": Call(200),
        "live": Call(200, LIVE),
        "from an event on": Call(200, LIVE, headers={"Last-Event-ID": "{run}:1"}),
    },
    ("POST", f"{LG}/runs/{{run_id}}/cancel"): {
        "live": Call(202, LIVE),
        "live, and wait": Call(204, LIVE, query="?wait=1"),
        "ended": Call(202),
    },
}
DECISIONS: Json = {"approvals": [{"tool_call_id": PAY_CALL, "approved": True}]}
CALLS: Mapping[tuple[str, str], Mapping[str, Call]] = {
    ("POST", "/chat"): {
        "message": Call(200, body={"message": "Hi", "thread_id": "{thread}"}),
        "message to a live thread": Call(
            409, LIVE, body={"message": "Hi", "thread_id": "{thread}"}
        ),
        "message behind a live run": Call(
            200, LIVE, body={"message": "Hi", "thread_id": "{thread}", "on_busy": "queue"}
        ),
        "stop and start": Call(
            200, LIVE, body={"message": "Hi", "thread_id": "{thread}", "on_busy": "stop"}
        ),
        "without waiting": Call(
            202,
            body={"message": "Hi", "thread_id": "{thread}"},
            headers={"Prefer": "respond-async"},
        ),
        "repeated": Call(
            200,
            body={"message": SECRET, "thread_id": DONE},
            headers={"Idempotency-Key": "key-1"},
        ),
        "key of another body": Call(
            422,
            body={"message": "Hi", "thread_id": DONE},
            headers={"Idempotency-Key": "key-1"},
        ),
        "edit": Call(
            200,
            body={
                "edit": {"message_id": "{user}", "message": "Hi"},
                "thread_id": "{thread}",
            },
        ),
        "regenerate": Call(200, body={"regenerate": True, "thread_id": "{thread}"}),
        "regenerate an answer": Call(200, body={"regenerate": "{answer}", "thread_id": "{thread}"}),
        "continue": Call(409, body={"continue": True, "thread_id": "{thread}"}),
        "continue a live thread": Call(409, LIVE, body={"continue": True, "thread_id": "{thread}"}),
        "resume": Call(409, WAITING, body={"resume": "yes", "thread_id": "{thread}"}),
        "answer": Call(
            200,
            WAITING,
            body={
                "tool_results": [{"tool_call_id": TOP_CALL, "result": {"value": "red"}}],
                "thread_id": "{thread}",
            },
        ),
        "message over a question": Call(
            200, WAITING, body={"message": "Hi", "thread_id": "{thread}"}
        ),
        "approve": Call(200, GATED, body={**DECISIONS, "thread_id": "{thread}"}),
        "approve in a live thread": Call(409, LIVE, body={**DECISIONS, "thread_id": "{thread}"}),
        "approve what is done": Call(409, body={**DECISIONS, "thread_id": "{thread}"}),
        "approve as a result": Call(
            200,
            GATED,
            body={
                "tool_results": [{"tool_call_id": PAY_CALL, "result": {"approved": True}}],
                "thread_id": "{thread}",
            },
        ),
        "approve and stop": Call(
            409, LIVE, body={**DECISIONS, "thread_id": "{thread}", "on_busy": "stop"}
        ),
        "continue past an approval": Call(
            409, GATED, body={"continue": True, "thread_id": "{thread}"}
        ),
        "message over an approval": Call(
            200, GATED, body={"message": "Hi", "thread_id": "{thread}"}
        ),
        "transport: message": Call(
            200,
            body={
                "commands": [{"type": "add-message", "message": {"role": "user", "parts": [HI]}}],
                "threadId": "{thread}",
                "state": {},
            },
        ),
        "transport: answer": Call(
            200,
            WAITING,
            body={
                "commands": [
                    {
                        "type": "add-tool-result",
                        "toolCallId": TOP_CALL,
                        "toolName": SELECTION,
                        "result": {"value": "red"},
                    }
                ],
                "threadId": "{thread}",
                "state": {},
            },
        ),
        "transport: approve": Call(
            200,
            GATED,
            body={
                "commands": [{"type": "tool-approval", "toolCallId": PAY_CALL, "approved": True}],
                "threadId": "{thread}",
                "state": {},
            },
        ),
        "transport: attach": Call(
            200, LIVE, body={"commands": [], "threadId": "{thread}", "state": {}}
        ),
        "transport: load": Call(200, body={"commands": [], "threadId": "{thread}", "state": {}}),
        "ai sdk: message": Call(
            200,
            body={
                "id": "{thread}",
                "trigger": "submit-message",
                "messages": [{"role": "user", "id": "m-new", "parts": [HI]}],
            },
        ),
        "ai sdk: regenerate": Call(
            200,
            body={
                "id": "{thread}",
                "trigger": "regenerate-message",
                "messageId": "{answer}",
                "messages": [{"role": "user", "id": "{user}", "parts": [HI]}],
            },
        ),
    },
    ("POST", "/ag-ui"): {
        "message": Call(200, body={"threadId": "{thread}", "messages": [AG_UI_HI]}),
        "edit": Call(
            200,
            body={
                "threadId": "{thread}",
                "messages": [AG_UI_HI],
                "forwardedProps": {"edit": "{user}"},
            },
        ),
    },
    ("POST", "/ag-ui/{graph}"): {
        "no such graph": Call(422, body={"threadId": "{thread}", "messages": [AG_UI_HI]}),
    },
    ("GET", "/chat/{thread_id}/stream"): {
        "attach": Call(200, LIVE),
        "attach to nothing": Call(204),
        "cursor in the address": Call(200, LIVE, query="?last_event_id={run}:1"),
        "cursor in a header": Call(200, LIVE, headers={"Last-Event-ID": "{run}:1"}),
        "a run that waits": Call(200, LIVE, query="?last_event_id={queued}:0", is_awaited=True),
        "beginning of an ended run": Call(200, query="?last_event_id={run}:0"),
        "as ui messages": Call(200, LIVE, query="?protocol=ui-message-stream"),
    },
    ("POST", "/chat/{thread_id}/stop"): {"live": Call(200, LIVE), "ended": Call(200)},
    ("GET", "/threads"): {
        "all": Call(200),
        "page": Call(200, query="?limit=1"),
        "live ones": Call(200, query="?state=live"),
        "archived ones": Call(200, query="?archived=true"),
        "search": Call(200, query="?q=secret"),
    },
    ("GET", "/threads/{thread_id}"): {
        "ended": Call(200),
        "waiting": Call(200, WAITING),
        "gated": Call(200, GATED),
        "live": Call(200, LIVE),
        "as ui messages": Call(200, query="?protocol=ui-message-stream"),
        "version": Call(404, query="?version={run}"),
    },
    ("PATCH", "/threads/{thread_id}"): {
        "title": Call(200, body={"title": "Mine"}),
        "tools": Call(200, body={"allowed_tools": []}),
        "pin": Call(200, body={"pinned": True}),
        "archive": Call(200, body={"archived": True}),
    },
    ("DELETE", "/threads/{thread_id}"): {
        "ended": Call(202),
        "live": Call(202, LIVE),
        "at once": Call(204, query="?at_once=true"),
    },
    ("GET", "/threads/{thread_id}/queue"): {"empty": Call(200), "live": Call(200, LIVE)},
    ("PATCH", "/threads/{thread_id}/queue/{run_id}"): {
        "message": Call(200, LIVE, body={"message": "Mine"}),
        "nothing": Call(422, LIVE, body={}),
        "of a run that has begun": Call(404, body={"message": "Mine"}),
    },
    ("DELETE", "/threads/{thread_id}/queue/{run_id}"): {
        "live": Call(204, LIVE),
        "of a run that has begun": Call(404),
    },
    ("POST", "/threads/{thread_id}/restore"): {"that is not deleted": Call(200, body={})},
    ("GET", "/threads/{thread_id}/feedback"): {"ended": Call(200), "live": Call(200, LIVE)},
    ("POST", "/threads/{thread_id}/feedback"): {
        "up": Call(200, body={"message_id": "m1", "value": "up", "reason": "Good."}),
        "taken back": Call(200, body={"message_id": "m1", "value": "none"}),
        "nothing": Call(422, body={}),
    },
    ("GET", "/graphs"): {"all": Call(200)},
    ("GET", "/openapi.json"): {"all": Call(200)},
    ("GET", "/models"): {"all": Call(200)},
    ("GET", "/components"): {"all": Call(200)},
    ("GET", "/tools"): {"all": Call(200)},
    ("POST", "/tools/{name}"): {
        "echo": Call(200, body={"word": "a"}),
        "pay": Call(403, body={"word": "a"}, tool="pay"),
    },
    ("GET", "/approvals"): {"all": Call(200)},
    ("POST", "/approvals/{approval_id}"): {
        "approve": Call(200, GATED, body={"approved": True}),
        "decline": Call(200, GATED, body={"approved": False, "reason": "No."}),
        "with arguments": Call(200, GATED, body={"approved": True, "args": {"word": "less"}}),
        "with arguments that do not fit": Call(
            422, GATED, body={"approved": True, "args": {"words": "less"}}
        ),
        "nothing": Call(422, GATED, body={}),
        "none": Call(404, body={"approved": True}),
    },
    **LANGGRAPH,
    ("GET", "/me"): {"me": Call(200)},
    ("DELETE", "/me"): {
        "confirmed": Call(204, body={"confirm": ANN}),
        "not confirmed": Call(422, body={"confirm": "yes"}),
    },
    ("GET", "/export"): {
        "all": Call(200),
        "as ui messages": Call(200, query="?protocol=ui-message-stream"),
    },
}


def cases(*, changes: bool) -> list[ParameterSet]:
    """The requests that change something, or the others."""
    return [
        pytest.param(method, route, call, id=f"{method} {route}: {name}")
        for (method, route), calls in CALLS.items()
        for name, call in calls.items()
        if changes is (method not in ("GET", "HEAD") or call.thread == LIVE)
    ]


READS, CHANGES = cases(changes=False), cases(changes=True)
EACH = [*READS, *CHANGES]


def endpoints(routes: Iterable[BaseRoute], prefix: str = "") -> Iterable[tuple[str, str]]:
    """Methods and addresses, those of mounts too."""
    for route in routes:
        if isinstance(route, Mount):
            yield from endpoints(route.routes, prefix + route.path)
            continue
        assert isinstance(route, Route), f"{route} is not known here"
        methods = route.methods or {
            method for method in METHODS if hasattr(route.endpoint, method.lower())
        }
        for method in methods:
            yield method, prefix + route.path


def test_every_route_and_method_is_tried_or_public() -> None:
    assert {*endpoints(ROUTES)} == PUBLIC | {*CALLS}


@dataclass
class Stage:
    """A server on which ann has four threads: an ended one, one that waits for an answer, one for
    an approval, and a live one, behind which a message waits."""

    server: Client
    tools: GatedTools
    database: Path
    ann: Client
    ids: dict[str, Mapping[str, str]] = field(default_factory=dict)

    async def stage(self, thread: str) -> None:
        asked = {"message": SECRET, "thread_id": thread}
        if thread == LIVE:
            async with self.ann.chat(asked) as stream:
                await stream.until("tool-call-args-text-finish")
            await self.tools.begun(SECRET)
        else:
            await self.ann.turn(
                asked, headers={"Idempotency-Key": "key-1"} if thread == DONE else {}
            )
        own = await self.ann.thread(thread)
        user, answer = (message["id"] for message in own["messages"])
        self.ids[thread] = {"run": own["run_id"], "user": user, "answer": answer}
        if thread == LIVE:
            waits = {**asked, "on_busy": "queue"}
            queued = await self.ann.http.post("/chat", json=waits, headers=LATER)
            self.ids[LIVE] = {**self.ids[LIVE], "queued": queued.json()["run_id"]}
        if thread == GATED:
            [waiting] = (await self.ann.http.get("/approvals")).json()["approvals"]
            self.ids[GATED] = {**self.ids[GATED], "approval": waiting["id"]}

    async def things(self) -> Any:
        """All that ann has: what she sees, what is stored of it, and the live run's log."""
        seen = [(await self.ann.http.get(path)).content for path in self._addresses()]
        assert self.server.state is not None
        live = await self.server.state["reader"].live(ThreadKey(ANN, LIVE))
        status = await live.log.status() if live else None
        return seen, self.stored(), status and (status.state, status.last)

    def _addresses(self) -> Iterable[str]:
        yield from ("/threads", "/me", "/approvals")
        for thread in THREADS:
            yield f"/threads/{thread}"
            yield f"/threads/{thread}?protocol=ui-message-stream"

    def stored(self) -> Mapping[str, Any]:
        """The rows of all tables that have an owner, and the checkpoints."""
        connection = sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)
        try:
            return {
                table: connection.execute(f"SELECT * FROM {table} {chosen}", [value]).fetchall()
                for table, chosen, value in _owned(connection)
            }
        finally:
            connection.close()

    def request(self, method: str, route: str, call: Call, *, absent: bool = False) -> Json:
        """As httpx takes it; `absent`: it names a thread that nobody has."""
        thread = ABSENT if absent else call.thread
        ids = {**self.ids[call.thread], "thread": thread, DONE: thread}
        ids["assistant"] = NOBODYS if absent else HERS
        approval = NO_APPROVAL if absent else ids.get("approval", NO_APPROVAL)
        run = ids.get("queued", ids["run"]) if "/queue/" in route else ids["run"]
        path = address(route, thread, call.tool, approval, run, ids["assistant"])
        named = partial(_named, ids=ids)
        return {
            "method": method,
            "url": path + named(call.query),
            "headers": named(dict(call.headers)),
            **({"json": named(call.body)} if call.body is not None else {}),
        }


def address(
    route: str,
    thread: str = DONE,
    tool: str = "echo",
    approval: str = NO_APPROVAL,
    run: str = "run-1",
    assistant: str = HERS,
) -> str:
    """Of a route: what stands in its place holders."""
    path = route.replace("{thread_id}", thread).replace("{name}", tool).replace("{run_id}", run)
    path = path.replace("{assistant_id}", assistant).replace("{checkpoint_id}", "start")
    return path.replace("{namespace}", "none").replace("{approval_id}", approval)


def _owned(connection: sqlite3.Connection) -> Iterable[tuple[str, str, str]]:
    """Tables, and which of their rows are ann's."""
    every = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (table,) in every:
        columns = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        if "owner" in columns:
            yield table, "WHERE owner = ?", ANN
        elif "thread_id" in columns:
            yield table, "WHERE thread_id LIKE ?", f"{ThreadKey(ANN, '').checkpoint_key}%"


def _named(value: Any, ids: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _named(item, ids) for key, item in value.items()}
    if isinstance(value, list):
        return [_named(item, ids) for item in value]
    if value == DONE:
        return ids[DONE]
    if isinstance(value, str):
        for name in ("thread", "run", "queued", "user", "answer", "assistant"):
            value = value.replace(f"{{{name}}}", ids.get(name, "none"))
    return value


SAID: Mapping[str, Script] = {
    DONE: [text(SECRET), finish()],
    WAITING: tool_call_message((TOP_CALL, SELECTION, QUESTION)),
    GATED: tool_call_message((PAY_CALL, "pay", f'{{"word": "{SECRET}"}}')),
    LIVE: [text(SECRET), *tool_call_message(("call-2", "hold", f'{{"word": "{SECRET}"}}'))],
}
THREADS = (*SAID,)


@asynccontextmanager
async def stage(folder: Path, *threads: str, **more: Any) -> AsyncIterator[Stage]:
    """With some of ann's threads, or all."""
    tools = GatedTools()
    model = ScriptedModel.of(*(SAID[thread] for thread in threads or THREADS))
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(
            serving(
                keys_settings(
                    folder,
                    max_failed_logins=100_000,
                    feedback=True,
                    undo_seconds=3600,
                    tool_timeout_seconds=300,  # the live run lives as long as the stage
                    **more,
                ),
                tools.catalogue,
                model,
            )
        )
        ann = await stack.enter_async_context(client_of(server, ANN, role="user"))
        stack.callback(tools.release.set)
        on = Stage(server, tools, folder / "t.db", ann)
        kept = {"assistant_id": HERS, "graph_id": "chat", "name": SECRET}
        await ann.http.post("/langgraph/assistants", json=kept)
        for thread in threads or THREADS:
            await on.stage(thread)
        yield on


def shown(
    answer: httpx.Response, thread: str, approval: str = NO_APPROVAL
) -> tuple[int, dict[str, str], str]:
    """All of an answer but what differs between any two."""
    runs = [answer.headers[name] for name in ("x-run-id",) if name in answer.headers]
    if answer.request.url.path.endswith("/batch") and answer.is_success:
        runs = [run["run_id"] for run in answer.json()]

    def anonymous(value: str) -> str:
        named = value.replace(thread, "THREAD").replace(approval, "APPROVAL")
        named = named.replace(NOBODYS, "ASSISTANT").replace(HERS, "ASSISTANT")
        return golden.without_chance(named, runs)

    # The length says nothing that the body does not, and times have different numbers of digits.
    kept = [name for name in answer.headers if name not in ("date", "content-length")]
    headers = {name: anonymous(answer.headers[name]) for name in kept}
    return answer.status_code, headers, anonymous(answer.text)


async def expired_key(on: Stage) -> dict[str, str]:
    return bearer(await make_key(on.server, ANN, expires_at=time.time() - 1))


async def revoked_key(on: Stage) -> dict[str, str]:
    key = await make_key(on.server, ANN)
    assert await credentials_of(on.server).revoke_key(key.split("_")[1], time.time())
    return bearer(key)


async def session_after_logout(on: Stage) -> dict[str, str]:
    async with http_client(on.server.url) as http:
        await log_in(http, await make_key(on.server, ANN))
        cookies = "; ".join(f"{name}={value}" for name, value in http.cookies.items())
        assert (await http.get("/me")).status_code == 200
        origin = {"Origin": on.server.url}
        assert (await http.post("/logout", headers=origin)).status_code == 204
        return {"Cookie": cookies, "Origin": on.server.url}


async def no_credentials(_on: Stage) -> dict[str, str]:
    return {}


STRANGERS = (no_credentials, expired_key, revoked_key, session_after_logout)


@dataclass
class Others:
    """Everybody but ann, on a stage that all tests share: none of them may change it."""

    on: Stage
    strangers: list[dict[str, str]]
    stored: Mapping[str, Any]
    """Rows of ann's."""
    number: Iterator[int] = field(default_factory=count)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def others(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Others]:
    async with stage(tmp_path_factory.mktemp("stage")) as on:
        before = await on.things()
        yield Others(on, [await credentials(on) for credentials in STRANGERS], on.stored())
        assert await on.things() == before


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("method", "route", "call"), EACH)
async def test_nobody_but_the_owner_reaches(
    method: str, route: str, call: Call, others: Others
) -> None:
    on, called, number = others.on, dict(others.on.tools.calls), next(others.number)
    for credentials in others.strangers:
        await _is_refused(on, method, route, call, credentials)
    assert on.tools.calls == called
    names = (f"{BOB}{number}", f"{NOBODY_ELSE}{number}")
    await _is_as_if_there_were_nothing(on, method, route, call, names)
    assert on.stored() == others.stored
    assert route.startswith("/tools") or on.tools.calls == called


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("method", "route", "call"), READS)
async def test_the_owner_reads(method: str, route: str, call: Call, others: Others) -> None:
    answer = await others.on.ann.http.request(**others.on.request(method, route, call))
    assert answer.status_code == call.owner_gets, answer.text


@pytest.mark.parametrize(("method", "route", "call"), CHANGES)
async def test_the_owner_reaches(method: str, route: str, call: Call, tmp_path: Path) -> None:
    async with stage(tmp_path, call.thread) as on, AsyncExitStack() as stack:
        if call.is_awaited:
            on.tools.release.set()
        asked = on.ann.http.stream(**on.request(method, route, call))
        answer = await stack.enter_async_context(asked)
        on.tools.release.set()
        await answer.aread()
        assert answer.status_code == call.owner_gets, answer.text


async def _is_refused(
    on: Stage, method: str, route: str, call: Call, headers: Mapping[str, str]
) -> None:
    answers = []
    for absent in (False, True):
        request = on.request(method, route, call, absent=absent)
        request["headers"] = {**request["headers"], **headers}
        answer = await on.server.http.request(**request)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
        assert answer.headers["www-authenticate"].startswith("Bearer")
        answers.append(shown(answer, request["url"]))
    assert answers[0] == answers[1]


async def _is_as_if_there_were_nothing(
    on: Stage,
    method: str,
    route: str,
    call: Call,
    names: tuple[str, str],
    role: str | None = None,
) -> None:
    """The first names ann's thread, the second one that nobody has: they get the same."""
    answers = []
    for name, absent in zip(names, (False, True), strict=True):
        async with client_of(on.server, name, role=role) as client:
            request = on.request(method, route, call, absent=absent)
            answer = await client.http.request(**request)
            assert SECRET not in answer.text
            approval = on.ids[call.thread].get("approval", NO_APPROVAL)
            ids = (ABSENT, NO_APPROVAL) if absent else (call.thread, approval)
            status, headers, body = shown(answer, *ids)
            answers.append((status, headers, body.replace(f'"{name}"', '"NAME"')))
    assert answers[0] == answers[1]


async def test_the_event_id_of_anothers_run_is_none_in_a_thread_of_the_same_id(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, DONE) as on, client_of(on.server, BOB) as bob:
        await bob.turn({"message": "Hi", "thread_id": DONE})
        told = []
        for run in (on.ids[DONE]["run"], "a" * 12):
            answer = await bob.http.get(f"/chat/{DONE}/stream?last_event_id={run}:0")
            assert SECRET not in answer.text
            told.append((answer.status_code, answer.text.replace(run, "RUN")))
        assert told[0] == told[1]


ROLES = """
[roles.user]

[roles.guest]
tools = []

[roles.approver]
tools = []
approves = ["*"]
"""


async def test_who_has_no_role_may_only_ask_who_they_are_or_have_themselves_deleted(
    tmp_path: Path,
) -> None:
    (tmp_path / "policy.toml").write_text(ROLES)
    async with stage(tmp_path, policy=tmp_path / "policy.toml") as on:
        before, called = await on.things(), dict(on.tools.calls)
        async with client_of(on.server, ANN) as roleless:
            for (method, route), calls in CALLS.items():
                for call in calls.values() if route != "/me" else ():
                    answer = await roleless.http.request(**on.request(method, route, call))
                    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
            assert (await on.things(), on.tools.calls) == (before, called)
            assert (await roleless.http.get("/me")).status_code == 200
            gone = await roleless.http.request("DELETE", "/me", json={"confirm": ANN})
            assert gone.status_code == 204


async def test_a_role_without_tools_runs_none(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(ROLES)
    async with stage(tmp_path, policy=tmp_path / "policy.toml") as on:
        before, called = await on.things(), dict(on.tools.calls)
        async with client_of(on.server, ANN, role="guest") as guest:
            assert (await guest.http.get("/tools")).json() == {"tools": []}
            refused = await guest.http.post("/tools/echo", json={"word": "a"})
            assert (refused.status_code, refused.json()["code"]) == (403, "tool_not_allowed")
            body = {"thread_id": DONE, "message": "Hi", "allowed_tools": ["echo"]}
            refused = await guest.http.post("/chat", json=body)
            assert (refused.status_code, refused.json()["code"]) == (403, "tool_not_allowed")
        assert (await on.things(), on.tools.calls) == (before, called)


async def test_who_approves_calls_of_others_reaches_nothing_but_these_calls(
    tmp_path: Path,
) -> None:
    (tmp_path / "policy.toml").write_text(ROLES)
    async with stage(tmp_path, policy=tmp_path / "policy.toml") as on:
        before, called, number = await on.things(), dict(on.tools.calls), 0
        for (method, route), calls in CALLS.items():
            for call in calls.values() if not route.startswith("/approvals") else ():
                number += 1
                names = (f"{BOB}{number}", f"{NOBODY_ELSE}{number}")
                await _is_as_if_there_were_nothing(on, method, route, call, names, "approver")
        assert (await on.things(), on.tools.calls) == (before, called)
        async with client_of(on.server, BOB, role="approver") as approver:
            assert SECRET in (await approver.http.get("/approvals")).text


@pytest.mark.parametrize("method", METHODS)
async def test_a_method_that_is_none_tells_a_stranger_nothing(method: str, tmp_path: Path) -> None:
    public = {path for _, path in PUBLIC}
    async with serving(keys_settings(tmp_path, feedback=True, undo_seconds=60)) as client:
        for route in {path for _, path in endpoints(ROUTES)} - public:
            path = address(route)
            answer = await client.http.request(method, path)
            assert answer.status_code == 401, route


async def test_no_address_names_the_checkpoints_of_another_owner(tmp_path: Path) -> None:
    """Without authentication an id is a checkpoint's key; another owner's has a colon."""
    key = ThreadKey(ANN, DONE).checkpoint_key
    async with serving(keys_settings(tmp_path)) as client, client_of(client, ANN) as ann:
        await ann.turn({"message": "Hi", "thread_id": DONE})
        before = await ann.thread(DONE)
    async with serving(settings(tmp_path / "t.db")) as client:
        for method, path, status in (
            ("GET", f"/threads/{key}", 404),
            ("POST", f"/chat/{key}/stop", 404),
            ("DELETE", f"/threads/{key}", 204),
            ("DELETE", f"/threads/{key.replace(':', '%3A')}", 204),
        ):
            assert (await client.http.request(method, path)).status_code == status
    async with serving(keys_settings(tmp_path)) as client, client_of(client, ANN) as ann:
        assert await ann.thread(DONE) == before
