"""A decision that is not what it should be gets a code that says so, and changes nothing."""

import json
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from tests.http.gated import THREAD, Json, Office, Person, alone, refused
from tests.support.run_chunks import QUESTION, SELECTION, tool_call_message
from tests.support.scripted_model import ScriptedModel
from tests.support.serving import serving, settings
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool

on_one_server = pytest.mark.asyncio(loop_scope="module")
HALF = "\ud800"
LONG = "x" * 32_001


def nested(depth: int) -> Any:
    value: Any = "rent"
    for _ in range(depth):
        value = {"word": value}
    return value


CALLS = tool_call_message(
    ("c1", "pay", '{"word": "rent"}'),
    ("c2", "echo", '{"word": "hi"}'),
    ("c3", SELECTION, QUESTION),
)
OK = {"tool_call_id": "c1", "approved": True}


def item(**fields: Any) -> Json:
    """A body of one decision: approved, unless said otherwise."""
    return {"approvals": [{**OK, **fields}]}


DECISIONS: dict[str, tuple[Json, int, str]] = {
    "approved is a text": ({"approved": "true"}, 422, "invalid_approval"),
    "approved is a number": ({"approved": 1}, 422, "invalid_approval"),
    "approved is null": ({"approved": None}, 422, "invalid_approval"),
    "a reason of another type": ({"reason": 5}, 422, "invalid_body"),
    "a reason in an object": ({"reason": {"text": "no"}}, 422, "invalid_body"),
    "a long reason": ({"reason": LONG}, 422, "value_too_long"),
    "half a character": ({"reason": HALF}, 422, "invalid_text"),
    "a list of arguments": ({"args": ["rent"]}, 422, "invalid_body"),
    "arguments as text": ({"args": '{"word": "rent"}'}, 422, "invalid_body"),
    "long arguments": ({"args": {"word": LONG}}, 422, "value_too_long"),
    "half a character in arguments": ({"args": {"word": HALF}}, 422, "invalid_text"),
    "half a character in a name": ({"args": {HALF: "rent"}}, 422, "invalid_text"),
    "no number": ({"args": {"word": float("nan")}}, 400, "malformed_json"),
    "an infinity": ({"args": {"word": float("inf")}}, 400, "malformed_json"),
    "arguments deeper than a thread can keep": (
        {"args": {"word": "a", "deep": nested(300)}},
        422,
        "invalid_arguments",
    ),
    "no arguments": ({"args": {}}, 422, "invalid_arguments"),
    "a wrong type": ({"args": {"word": 5}}, 422, "invalid_arguments"),
    "a wrong name": ({"args": {"words": "rent"}}, 422, "invalid_arguments"),
    "one argument too many": ({"args": {"word": "a", "to": "b"}}, 422, "invalid_arguments"),
    "declined with arguments": (
        {"approved": False, "args": {"word": "a"}},
        422,
        "invalid_approval",
    ),
    "a key of another": ({"tool_name": "echo"}, 422, "unknown_key"),
    "a key of an answer": ({"result": True}, 422, "unknown_key"),
    "a mistyped key": ({"aproved": True}, 422, "unknown_key"),
}
"""What is wrong with a decision at either door."""

BODIES: dict[str, tuple[Json, int, str]] = {
    "no list": ({"approvals": OK}, 422, "invalid_body"),
    "a text": ({"approvals": "yes"}, 422, "invalid_body"),
    "none": ({"approvals": []}, 422, "missing_action"),
    "null": ({"approvals": None}, 422, "missing_action"),
    "a list of texts": ({"approvals": ["c1"]}, 422, "invalid_body"),
    "an empty decision": ({"approvals": [{}]}, 422, "invalid_body"),
    "a call's id of another type": (item(tool_call_id=5), 422, "invalid_body"),
    "half a call's id": (item(tool_call_id=HALF), 422, "invalid_text"),
    "an unknown call": (item(tool_call_id="c9"), 409, "not_pending"),
    "an empty id": (item(tool_call_id=""), 409, "not_pending"),
    "a call that was free to run": (item(tool_call_id="c2"), 409, "not_pending"),
    "a question to the user": (item(tool_call_id="c3"), 409, "not_pending"),
    "a question's id of another type": (item(approval_id=1), 422, "invalid_body"),
    "another question": (item(approval_id="c1.2"), 409, "already_answered"),
    "two decisions on a call": ({"approvals": [OK, OK]}, 409, "already_answered"),
    "a good one and a bad one": (
        {"approvals": [OK, {"tool_call_id": "c9", "approved": True}]},
        409,
        "not_pending",
    ),
    "two forms of it": (
        {**item(), "tool_results": [{"tool_call_id": "c1", "result": {"approved": True}}]},
        409,
        "already_answered",
    ),
    "with a message": ({**item(), "message": "Hi"}, 422, "conflicting_actions"),
    "with continue": ({**item(), "continue": True}, 422, "conflicting_actions"),
    "with regenerate": ({**item(), "regenerate": True}, 422, "conflicting_actions"),
    "with resume": ({**item(), "resume": "yes"}, 422, "conflicting_actions"),
    "a message and a decision as its result": (
        {
            "message": "Hi",
            "tool_results": [{"tool_call_id": "c1", "result": {"approved": True}}],
        },
        422,
        "conflicting_actions",
    ),
    "a result that is no decision": (
        {"tool_results": [{"tool_call_id": "c1", "result": {"paid": "rent"}}]},
        422,
        "invalid_approval",
    ),
    "continue": ({"continue": True}, 409, "approval_pending"),
    **{name: (item(**fields), *rest) for name, (fields, *rest) in DECISIONS.items()},  # type: ignore[misc]
}


SHAPES: list[tuple[Any, str]] = [
    ([], "invalid_body"),
    ("yes", "invalid_body"),
    (None, "invalid_body"),
    ({}, "invalid_approval"),
    ({**OK}, "unknown_key"),
    ({"approved": True, "approval_id": "c1"}, "unknown_key"),
    ({"approved": True, "thread_id": THREAD}, "unknown_key"),
    ({"approvals": [OK]}, "unknown_key"),
]
NO_JSON = [
    (b'{"approved": true}', "text/plain", 415, "not_json"),
    (b'{"approved": true', "application/json", 400, "malformed_json"),
    (b'{"approved": \xff}', "application/json", 400, "malformed_json"),
    (b"", "application/json", 400, "malformed_json"),
]


async def state(ann: Person) -> Any:
    """What the thread is, and what waits."""
    return await ann.client.thread(THREAD), await ann.listed()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asked(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Office, Person]]:
    """A server on which a call waits, for all tests that leave it waiting."""
    async with alone(tmp_path_factory.mktemp("asked"), CALLS) as (served, ann):
        await ann.ask()
        yield served, ann


async def decides_nothing(
    asked: tuple[Office, Person], answer: Awaitable[httpx.Response], status: int, code: str
) -> None:
    served, ann = asked
    before = await state(ann)
    problem = refused(await answer, status, code)
    assert len(json.dumps(problem)) < 1000
    assert await state(ann) == before
    assert not served.ledger


@on_one_server
@pytest.mark.parametrize("name", BODIES)
async def test_a_body_that_cannot_be_a_decision_changes_nothing(
    name: str, asked: tuple[Office, Person]
) -> None:
    body, status, code = BODIES[name]
    sent = asked[1].post("/chat", {"thread_id": THREAD, **body})
    await decides_nothing(asked, sent, status, code)


@on_one_server
@pytest.mark.parametrize("name", DECISIONS)
async def test_a_decision_by_id_that_cannot_be_one_changes_nothing(
    name: str, asked: tuple[Office, Person]
) -> None:
    fields, status, code = DECISIONS[name]
    ann = asked[1]
    sent = ann.post(await path_of(ann), {"approved": True, **fields})
    await decides_nothing(asked, sent, status, code)


@on_one_server
@pytest.mark.parametrize(("body", "code"), SHAPES)
async def test_the_body_of_a_decision_by_id_has_no_other_shape(
    body: Any, code: str, asked: tuple[Office, Person]
) -> None:
    sent = asked[1].post(await path_of(asked[1]), body)
    await decides_nothing(asked, sent, 422, code)


@on_one_server
@pytest.mark.parametrize(("content", "kind", "status", "code"), NO_JSON)
async def test_what_is_no_json_decides_nothing(
    content: bytes, kind: str, status: int, code: str, asked: tuple[Office, Person]
) -> None:
    headers = {"Content-Type": kind}
    ann = asked[1]
    sent = ann.http.post(await path_of(ann), content=content, headers=headers)
    await decides_nothing(asked, sent, status, code)


async def test_after_all_that_was_refused_the_call_takes_its_decision(tmp_path: Path) -> None:
    async with alone(tmp_path, CALLS) as (served, ann):
        await ann.ask()
        path = await path_of(ann)
        sent = [("/chat", {"thread_id": THREAD, **body}) for body, _, _ in BODIES.values()]
        sent += [(path, {"approved": True, **fields}) for fields, _, _ in DECISIONS.values()]
        sent += [(path, body) for body, _ in SHAPES]
        for address, body in sent:
            assert (await ann.post(address, body)).status_code >= 400, body
        answer = await ann.post("/chat", {"thread_id": THREAD, **item()})
        assert answer.status_code == 200
        assert served.ledger == ["rent"]


@pytest.mark.parametrize("body", [{"thread_id": "nowhere"}, {}])
async def test_a_decision_in_a_thread_that_there_is_not_makes_none(
    body: Json, tmp_path: Path
) -> None:
    async with alone(tmp_path) as (_, ann):
        refused(await ann.post("/chat", {**body, **item()}), 409, "not_pending")
        assert (await ann.http.get("/threads")).json()["threads"] == []


async def path_of(ann: Person) -> str:
    return f"/approvals/{await ann.waiting()}"


@real_tool(client_fields=[], needs_approval=True)
async def put(data: dict[str, Any]) -> dict[str, Any]:
    """Put.

    Args:
        data: Anything.
    """
    return {"kept": len(data)}


@asynccontextmanager
async def asked_to_put(folder: Path) -> AsyncIterator[Person]:
    model = ScriptedModel.of(tool_call_message(("c1", "put", '{"data": {}}')))
    async with serving(settings(folder / "t.db"), Catalogue((put,), ()), model) as client:
        ann = Person(client)
        await ann.ask()
        yield ann


@pytest.mark.parametrize(("depth", "status"), [(90, 200), (101, 422), (300, 422), (900, 422)])
async def test_arguments_that_a_thread_cannot_keep_are_refused_before_they_are_stored(
    depth: int, status: int, tmp_path: Path
) -> None:
    async with asked_to_put(tmp_path) as ann:
        before = await state(ann)
        args = {"data": nested(depth - 1)}
        answer = await ann.post("/chat", {"thread_id": THREAD, **item(args=args)})
        assert answer.status_code == status, answer.text
        if status == 422:
            refused(answer, 422, "invalid_arguments")
            assert await state(ann) == before
        else:
            assert (await ann.call())["approval"]["args"] == args


async def test_an_integer_that_a_thread_cannot_keep_is_the_float_that_a_model_would_have_given(
    tmp_path: Path,
) -> None:
    async with asked_to_put(tmp_path) as ann:
        args = {"data": {"n": 10**30}}
        answer = await ann.post("/chat", {"thread_id": THREAD, **item(args=args)})
        assert answer.status_code == 200
        assert (await ann.call())["approval"]["args"] == {"data": {"n": 1e30}}
