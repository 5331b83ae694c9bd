"""A function of the user's own that recognises callers."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from langgraph_sdk import Auth
from langgraph_sdk.auth.exceptions import HTTPException

from turnstream.server.callers.principal import Principal
from turnstream.server.extensions.users import own_function
from turnstream.server.extensions.users.faults import (
    AuthenticationUnavailable,
    AuthSetupError,
    Unauthenticated,
)
from turnstream.server.extensions.users.own_function import PARAMETERS, OwnFunction

VALUES: dict[str, Any] = {name: f"the {name}" for name in PARAMETERS}


async def answered(function: Any) -> Principal:
    return await OwnFunction("auth:who", function).authenticate(VALUES)


@dataclass
class User:
    identity: str = "ann"
    permissions: tuple[str, ...] = ("admin",)


async def by_text() -> str:
    return "ann"


def by_text_without_async(authorization: str) -> str:
    assert authorization == "the authorization"
    return "ann"


async def by_mapping(path: str, method: str) -> dict[str, Any]:
    assert (path, method) == ("the path", "the method")
    return {"identity": "ann", "display_name": "Ann", "permissions": ["user", "admin"]}


async def by_object(**values: Any) -> User:
    assert values == VALUES
    return User()


@pytest.mark.parametrize(
    ("function", "roles", "display_name"),
    [
        (by_text, (), "ann"),
        (by_text_without_async, (), "ann"),
        (by_mapping, ("user", "admin"), "Ann"),
        (by_object, ("admin",), "ann"),
    ],
)
async def test_whatever_form_the_answer_has_it_names_the_caller(
    function: Callable[..., Any], roles: tuple[str, ...], display_name: str
) -> None:
    assert await answered(function) == Principal("ann", roles, display_name, "function")


async def test_an_auth_object_of_langgraphs_is_its_function() -> None:
    auth = Auth()

    @auth.authenticate
    async def who(authorization: str) -> dict[str, str]:
        return {"identity": authorization}

    assert (await answered(auth)).id == "the authorization"


async def test_a_token_for_other_servers_is_kept_if_it_is_one() -> None:
    assert (await answered(lambda: {"identity": "ann", "token": "t1"})).token == "t1"
    assert (await answered(lambda: {"identity": "ann", "token": 5})).token is None


async def test_what_needs_no_value_may_have_a_parameter_of_its_own() -> None:
    async def who(path: str, ending: str = "!") -> str:
        return path + ending

    assert (await answered(who)).id == "the path!"


async def refuses() -> str:
    raise HTTPException(status_code=401, detail="no")


async def names_nobody() -> None:
    return None


async def denies() -> dict[str, Any]:
    return {"identity": "ann", "is_authenticated": False}


async def names_the_local_owner() -> str:
    return "local"


@pytest.mark.parametrize("function", [refuses, names_nobody, denies, names_the_local_owner])
async def test_whom_it_does_not_know_is_nobody(function: Callable[..., Any]) -> None:
    with pytest.raises(Unauthenticated):
        await answered(function)


class RefusalOfAnotherLibrary(Exception):
    """As Starlette and FastAPI have it."""

    def __init__(self, status_code: int) -> None:
        self.status_code = status_code


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(401, Unauthenticated), (403, Unauthenticated), (500, AuthenticationUnavailable)],
)
async def test_a_refusal_may_be_another_librarys(status: int, outcome: type[Exception]) -> None:
    async def who() -> str:
        raise RefusalOfAnotherLibrary(status)

    with pytest.raises(outcome):
        await answered(who)


@pytest.mark.parametrize("value", [False, None, 0])
async def test_who_is_not_authenticated_is_nobody_however_that_is_said(value: Any) -> None:
    async def who() -> dict[str, Any]:
        return {"identity": "ann", "is_authenticated": value}

    with pytest.raises(Unauthenticated):
        await answered(who)


async def test_one_permission_as_text_is_one_role() -> None:
    async def who() -> dict[str, Any]:
        return {"identity": "ann", "permissions": "admin"}

    assert (await answered(who)).roles == ("admin",)


class Unreadable:
    @property
    def identity(self) -> str:
        raise RuntimeError("no session to load it with")


@pytest.mark.parametrize(
    "user", [{"identity": 7}, {"identity": "ann", "permissions": 7}, Unreadable()]
)
async def test_an_answer_that_cannot_be_read_is_the_functions_fault(user: Any) -> None:
    async def who() -> Any:
        return user

    with pytest.raises(AuthenticationUnavailable, match="auth:who"):
        await answered(who)


async def test_a_function_that_fails_lets_nobody_in() -> None:
    async def who() -> str:
        raise KeyError("secret")

    with pytest.raises(AuthenticationUnavailable) as failure:
        await answered(who)
    assert "secret" not in str(failure.value)


async def test_a_function_that_takes_too_long_lets_nobody_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(own_function, "TIMEOUT_SECONDS", 0)
    with pytest.raises(AuthenticationUnavailable, match="too long"):
        await answered(asyncio.Event().wait)


@pytest.mark.parametrize(
    ("target", "why"),
    [
        (lambda password: password, "'password'"),
        (Auth(), "no @auth.authenticate"),
        ("ann", "str, not a function"),
    ],
)
def test_what_cannot_be_called_is_refused_at_start(target: object, why: str) -> None:
    with pytest.raises(AuthSetupError, match=why):
        OwnFunction("auth:who", target)
