# ruff: noqa: ARG001  LangGraph names the parameters of handlers
"""The `@auth.on` handlers of LangGraph's `Auth`, and the filters that they return."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from langgraph_sdk import Auth
from starlette.exceptions import HTTPException

from turnstream.server.callers.principal import Principal
from turnstream.server.callers.reach import EVERYTHING, MetadataFilter
from turnstream.server.extensions.base import Refusal
from turnstream.server.extensions.users.auth_rules import AuthRules
from turnstream.server.extensions.users.faults import AuthSetupError

ANN = Principal("ann", ("user",), "Ann", "function", user={"identity": "ann", "org": "tides"})


def returning(value: Any) -> Callable[..., Any]:
    async def handler(ctx: Any, value: Any, result: Any = value) -> Any:
        return result

    return handler


def raising(error: BaseException) -> Callable[..., Any]:
    async def handler(ctx: Any, value: Any) -> Any:
        raise error

    return handler


async def asked(auth: Auth, resource: Any = "threads", action: str = "read") -> MetadataFilter:
    return await AuthRules("auth:auth", auth).filter(ANN, resource, action, {"thread_id": "t1"})


async def test_the_most_specific_handler_decides() -> None:
    auth = Auth()
    auth.on(returning({"by": "all"}))
    auth.on(actions="read")(returning({"by": "action"}))
    auth.on.threads(returning({"by": "threads"}))
    auth.on.threads.read(returning({"by": "threads.read"}))
    found = {
        (resource, action): (await asked(auth, resource, action)).equal["by"]
        for resource in ("threads", "assistants")
        for action in ("read", "update")
    }
    assert found == {
        ("threads", "read"): "threads.read",
        ("threads", "update"): "threads",
        ("assistants", "read"): "action",
        ("assistants", "update"): "all",
    }


async def test_what_no_handler_is_for_is_allowed_and_has_no_rules() -> None:
    auth = Auth()
    auth.on.threads.create(returning(False))
    assert AuthRules("auth:auth", auth).resources == {"threads"}
    assert await asked(auth) is EVERYTHING


async def test_only_handlers_that_name_the_store_open_it() -> None:
    auth = Auth()
    auth.on(returning(None))
    assert "store" not in AuthRules("auth:auth", auth).resources
    auth.on.store.get(returning(None))
    assert "store" in AuthRules("auth:auth", auth).resources
    assert await asked(auth, "store", "get") is EVERYTHING
    with pytest.raises(Refusal) as refusal:
        await asked(auth, "store", "put")
    assert (refusal.value.code, refusal.value.status) == ("no_store", 404)


@pytest.mark.parametrize(
    ("result", "metadata", "matches"),
    [
        (None, {}, True),
        (True, {}, True),
        ({}, {}, True),
        ({"owner": "ann"}, {"owner": "ann", "more": 1}, True),
        ({"owner": "ann"}, {"owner": "bob"}, False),
        ({"owner": "ann"}, {}, False),
        ({"owner": None}, {}, False),
        ({"owner": {"$eq": "ann"}}, {"owner": "ann"}, True),
        ({"owner": {"$eq": "ann"}}, {"owner": ["ann"]}, False),
        ({"people": {"$contains": "ann"}}, {"people": ["bob", "ann"]}, True),
        ({"people": {"$contains": "ann"}}, {"people": "ann"}, False),
        ({"people": {"$contains": ["ann", "bob"]}}, {"people": ["bob", "cat", "ann"]}, True),
        ({"people": {"$contains": ["ann", "bob"]}}, {"people": ["ann"]}, False),
        ({"owner": "ann", "people": {"$contains": "ann"}}, {"people": ["ann"]}, False),
    ],
)
async def test_a_filter_matches_metadata_as_langgraph_compares_it(
    result: Any, metadata: Mapping[str, Any], matches: bool
) -> None:
    auth = Auth()
    auth.on(returning(result))
    assert (await asked(auth)).matches(metadata) is matches


@pytest.mark.parametrize(
    ("handler", "code", "status"),
    [
        (returning(False), "forbidden", 403),
        (raising(Auth.exceptions.HTTPException(status_code=403)), "forbidden", 403),
        (raising(Auth.exceptions.HTTPException(status_code=404)), "not_found", 404),
        (raising(Auth.exceptions.HTTPException(status_code=402)), "http_error", 402),
        (raising(HTTPException(401)), "unauthenticated", 401),
        (raising(AssertionError("no")), "forbidden", 403),
    ],
)
async def test_a_refusal_has_the_status_that_the_handler_says(
    handler: Any, code: str, status: int
) -> None:
    auth = Auth()
    auth.on(handler)
    with pytest.raises(Refusal) as refusal:
        await asked(auth)
    assert (refusal.value.code, refusal.value.status) == (code, status)


async def test_the_sentence_of_a_refusal_is_the_detail_and_no_other_text() -> None:
    auth = Auth()
    auth.on.threads.read(raising(Auth.exceptions.HTTPException(402, "Buy more.")))
    auth.on.threads.update(raising(AssertionError("the secret")))
    with pytest.raises(Refusal, match=r"^Buy more\.$"):
        await asked(auth)
    with pytest.raises(Refusal) as refusal:
        await asked(auth, action="update")
    assert "secret" not in refusal.value.sentence


@pytest.mark.parametrize(
    "handler",
    [
        returning("yes"),
        returning({"owner": {"$ne": "ann"}}),
        returning({"owner": {"$eq": "ann", "$contains": "ann"}}),
        raising(KeyError("thread_id")),
        raising(SystemExit()),
        raising(asyncio.CancelledError()),
        raising(Auth.exceptions.HTTPException(status_code=200)),
    ],
)
async def test_a_handler_that_fails_allows_nothing(handler: Any) -> None:
    auth = Auth()
    auth.on(handler)
    with pytest.raises(Exception) as failure:  # noqa: PT011  any but a refusal
        await asked(auth)
    assert not isinstance(failure.value, Refusal)


async def test_a_handler_gets_the_user_as_authenticate_returned_them() -> None:
    auth, seen = Auth(), list[Any]()

    @auth.on
    async def look(ctx: Auth.types.AuthContext, value: Any) -> None:
        seen.extend((ctx.user.identity, ctx.user["org"], ctx.user.org, ctx.permissions))  # type: ignore[attr-defined]
        seen.extend((ctx.resource, ctx.action, "org" in ctx.user, "age" in ctx.user, *ctx.user))
        with pytest.raises(KeyError):
            ctx.user["age"]

    await asked(auth)
    fields = ["identity", "display_name", "is_authenticated", "permissions", "org"]
    assert seen == ["ann", "tides", "tides", ["user"], "threads", "read", True, False, *fields]


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"resources": "runs"}, "runs"),
        ({"resources": "threads", "actions": "list"}, "threads.list"),
        ({"resources": "store", "actions": "create"}, "store.create"),
        ({"actions": "browse"}, "browse"),
        ({"actions": "put"}, "put"),
    ],
)
def test_a_handler_that_nothing_would_call_keeps_the_server_from_starting(
    named: Any, said: str
) -> None:
    auth = Auth()
    auth.on(**named)(returning(False))
    with pytest.raises(AuthSetupError, match=f"auth:auth has a handler for {said}, which is never"):
        AuthRules("auth:auth", auth)


def test_handlers_for_crons_are_said_to_decide_nothing(caplog: pytest.LogCaptureFixture) -> None:
    auth = Auth()
    auth.on.crons.create(returning(False))
    with caplog.at_level(logging.WARNING):
        assert not AuthRules("auth:auth", auth).resources
    assert "@auth.on.crons handlers decide nothing" in caplog.text
