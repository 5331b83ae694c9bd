"""The contract of the door on callers: extensions that recognise them, give them rights, serve
anybody and forget a caller; and extensions that fail at it."""

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
from sqlalchemy import Column, Connection, MetaData, String, Table, delete, insert, select
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.support.environment import isolate
from tests.support.serving import Client, serving, settings
from turnstream.server.app import create_app
from turnstream.server.callers.principal import LOCAL, Principal
from turnstream.server.callers.rights import Forbidden, Rights
from turnstream.server.extensions.base import (
    EXTENSION_API,
    Extension,
    ExtensionError,
    Refusal,
    Write,
)
from turnstream.server.extensions.built_in import BUILT_IN
from turnstream.server.extensions.commands import Command, add_command
from turnstream.server.extensions.loading import check_methods, declared, switched_on
from turnstream.server.extensions.requests import read_json
from turnstream.server.extensions.users import UsersExtension
from turnstream.server.launch import main
from turnstream.server.runs.hooks import RunHooks

metadata = MetaData()
badges = Table("badge_names", metadata, Column("name", String, primary_key=True))


class Badge(Extension):
    """Recognises who wears a badge; tests break a part of it."""

    name: ClassVar[str] = "badge"
    api = EXTENSION_API
    methods = ("badge",)

    def __init__(self, settings: Any) -> None:
        del settings

    async def recognise(self, request: Request[Any]) -> Principal | None:
        name = request.headers.get("x-badge")
        return Principal(name, ("visitor",), method="function") if name else None


ANN, BOB = {"X-Badge": "ann"}, {"X-Badge": "bob"}


def served(
    folder: Path, *extensions: type[Extension], **values: Any
) -> AbstractAsyncContextManager[Client]:
    given = settings(folder / "t.db", **{"auth": ("badge",), **values})
    return serving(given, extensions=(*BUILT_IN, *extensions))


async def code(client: Client, path: str = "/threads", **given: Any) -> tuple[int, str]:
    answer = await client.http.get(path, **given)
    return answer.status_code, answer.json().get("code", "")


async def test_callers_whom_an_extension_recognises_have_threads_of_their_own(
    tmp_path: Path,
) -> None:
    async with served(tmp_path, Badge) as client:
        await client.turn({"thread_id": "t1", "message": "Hello"}, headers=ANN)
        me = (await client.http.get("/me", headers=ANN)).json()
        assert (me["id"], me["roles"], me["method"]) == ("ann", ["visitor"], "function")
        assert (await client.http.get("/threads/t1", headers=ANN)).status_code == 200
        assert await code(client, "/threads/t1", headers=BOB) == (404, "thread_not_found")


async def test_a_caller_whom_no_extension_knows_is_nobody(tmp_path: Path) -> None:
    async with served(tmp_path, Badge) as client:
        answer = await client.http.get("/threads")
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
        assert answer.headers["www-authenticate"]
        assert answer.json()["login"] is False


async def late(_request: Any) -> Principal:
    await asyncio.Event().wait()
    raise AssertionError


async def failing(_request: Any) -> Principal:
    raise OSError("the directory is away")


async def local(_request: Any) -> Principal:
    return LOCAL


async def of_words(_request: Any) -> Any:
    return "ann"


async def cancelled(_request: Any) -> Principal:
    raise asyncio.CancelledError


@pytest.mark.parametrize("broken", [late, failing, local, of_words, cancelled])
async def test_nobody_is_let_in_by_an_extension_that_fails(
    broken: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnstream.server.http.authenticated.RECOGNISE_SECONDS", 0.01)
    monkeypatch.setattr(Badge, "recognise", lambda _self, request: broken(request))
    async with served(tmp_path, Badge) as client:
        assert await code(client, headers=ANN) == (503, "authentication_unavailable")


async def test_a_refusal_is_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(_self: Any, _request: Any) -> Principal:
        raise Refusal("badge_expired", "Get a new badge at the door.", 401)

    monkeypatch.setattr(Badge, "recognise", refuse)
    async with served(tmp_path, Badge) as client:
        async with httpx.AsyncClient(base_url=client.url) as http:  # no code of the document
            answer = await http.get("/threads", headers=ANN)
        assert (answer.status_code, answer.json()["code"]) == (401, "badge_expired")


async def test_extensions_are_asked_in_their_order_until_one_knows_the_caller(
    tmp_path: Path,
) -> None:
    class Early(Badge):
        name = "early"
        order = 1
        methods = ("early",)

        async def recognise(self, request: Request[Any]) -> Principal | None:
            asked.append("early")
            known = request.headers.get("x-badge") == "ann"
            return Principal("the-first-ann", method="function") if known else None

    asked: list[str] = []
    async with served(tmp_path, Badge, Early, auth=("badge", "early", "keys")) as client:
        assert (await client.http.get("/me", headers=ANN)).json()["id"] == "the-first-ann"
        assert (await client.http.get("/me", headers=BOB)).json()["id"] == "bob"
        assert asked == ["early", "early"]
        answer = await client.http.get("/me")
        assert answer.json()["login"] is True, "the extension of keys is asked last"


async def test_an_extension_that_the_setting_does_not_name_recognises_nobody(
    tmp_path: Path,
) -> None:
    async with served(tmp_path, Badge, auth=("off",)) as client:
        assert (await client.http.get("/me", headers=ANN)).json()["id"] == "local"
    async with served(tmp_path, Badge, auth=("keys",)) as client:
        assert await code(client, headers=ANN) == (401, "unauthenticated")


def test_a_method_that_no_extension_has_keeps_the_server_from_starting(tmp_path: Path) -> None:
    given = settings(tmp_path / "t.db", auth=("badge",))
    with pytest.raises(ExtensionError, match="'badge' is none of off, keys, jwt, header and no"):
        check_methods(BUILT_IN, given)
    with pytest.raises(ExtensionError, match=r"'badge' is none of off$"):
        check_methods([], given)
    check_methods([Badge], given)
    assert [each.name for each in switched_on([Badge], given)] == ["badge"]


WITHOUT_METHODS = """
from turnstream.server.extensions.base import EXTENSION_API, Extension

class Quiet(Extension):
    name, api = "quiet", EXTENSION_API

    async def recognise(self, request): ...

class Keys(Extension):
    name, api, methods = "other_keys", EXTENSION_API, ("keys",)
"""


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Quiet", "recognises callers, and has no methods"),
        ("Keys", "the method of TURNSTREAM_AUTH 'keys' of an extension is taken"),
    ],
)
def test_it_is_clear_which_extension_a_method_means(name: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "callers.py"
    file.write_text(WITHOUT_METHODS)
    with pytest.raises(ExtensionError, match=why):
        declared([f"{file}:{name}"])


class NoTools(Rights):
    def decide_by_role(self, name: str) -> Any:
        del name
        return "deny"


class Doorman(Extension):
    name: ClassVar[str] = "doorman"
    api = EXTENSION_API
    order = 1

    def __init__(self, settings: Any) -> None:
        del settings

    def rights(self, principal: Principal) -> Rights:
        if principal.id == "bob":
            raise Forbidden("bob has the key of another house")
        if principal.id == "cat":
            raise OSError("the list is away")
        return NoTools(principal)


async def test_an_extension_gives_callers_their_rights_and_refuses_by_failing(
    tmp_path: Path,
) -> None:
    async with served(tmp_path, Badge, Doorman, auth=("badge", "keys")) as client:
        tools = (await client.http.get("/tools", headers=ANN)).json()["tools"]
        assert tools == []
        assert await code(client, headers=BOB) == (403, "forbidden")
        assert await code(client, headers={"X-Badge": "cat"}) == (503, "guard_failed")


def test_rights_that_an_extension_gives_hold_in_a_graph_of_ones_own() -> None:
    ann = Principal("ann", method="function")
    assert NoTools(ann).restricts_tools
    assert not Rights(ann).restricts_tools


def test_a_policy_that_nobody_would_read_keeps_the_server_from_starting(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("[roles.visitor]\n")
    with pytest.raises(ValueError, match="recognised by keys, jwt, header or module:function"):
        settings(tmp_path / "t.db", auth=("badge",), policy=tmp_path / "policy.toml")


def test_two_extensions_that_give_rights_keep_the_server_from_starting(tmp_path: Path) -> None:
    class Second(Doorman):
        name = "second"

    given = settings(tmp_path / "t.db")
    with pytest.raises(ExtensionError, match="doorman and second all give callers their rights"):
        RunHooks(switched_on([Doorman, Second], given))
    (tmp_path / "policy.toml").write_text("[roles.visitor]\n")
    under_policy = settings(tmp_path / "t.db", auth=("keys",), policy=tmp_path / "policy.toml")
    with pytest.raises(ExtensionError, match="doorman and users all give callers their rights"):
        RunHooks(switched_on([Doorman, UsersExtension], under_policy))


class Gate(Badge):
    """Issues badges to anybody, keeps their names, and takes them back."""

    name = "badge"
    tables: ClassVar[MetaData | None] = metadata

    def __init__(self, settings: Any) -> None:
        del settings
        self.opened: Any = None

    def open(self, opened: Any) -> Any:
        self.opened = opened
        return super().open(opened)

    def public_routes(self) -> Sequence[Route]:
        async def issue(request: Request[Any]) -> Response:
            name = await read_json(request, lambda body: body["name"])
            row = insert(badges).values(name=name)
            await self.opened.database.write(lambda connection: connection.execute(row))
            return JSONResponse({"name": name})

        return [Route("/badges", issue, methods=["POST"])]

    def principal_deleted(self, principal: str) -> Sequence[Write]:
        return [delete(badges).where(badges.c.name == principal)]

    def headers_after_deletion(self, request: Request[Any]) -> Mapping[str, str]:
        return {"X-Badge-Back": request.headers["x-badge"]}

    async def names(self) -> list[str]:
        found = select(badges.c.name)
        names: list[str] = await self.opened.database.read(
            lambda connection: [*connection.scalars(found)]
        )
        return names


def gate(client: Client) -> Gate:
    assert client.state is not None
    (found,) = [each for each in client.state["extensions"] if isinstance(each, Gate)]
    return found


async def issue(client: Client, name: str, **more: Any) -> httpx.Response:
    async with httpx.AsyncClient(base_url=client.url) as http:
        return await http.post("/badges", json={"name": name, **more})


async def test_a_public_route_is_for_anybody_and_takes_small_bodies(tmp_path: Path) -> None:
    async with served(tmp_path, Gate) as client:
        assert (await issue(client, "ann")).json() == {"name": "ann"}
        too_large = await issue(client, "bob", more="x" * 12_000)
        assert (too_large.status_code, too_large.json()["code"]) == (413, "body_too_large")
        assert await gate(client).names() == ["ann"]


def test_a_public_route_that_is_served_already_keeps_the_server_from_starting(
    tmp_path: Path,
) -> None:
    class Second(Badge):
        def public_routes(self) -> Sequence[Route]:
            return [Route("/health", lambda _request: Response())]

    with pytest.raises(ExtensionError, match="/health, which is served already"):
        create_app(settings(tmp_path / "t.db", auth=("badge",)), extensions=(*BUILT_IN, Second))


async def delete_me(client: Client, headers: Mapping[str, str]) -> httpx.Response:
    body = {"confirm": headers["X-Badge"]}
    return await client.http.request("DELETE", "/me", json=body, headers=headers)


async def test_what_an_extension_keeps_of_a_caller_goes_with_them(tmp_path: Path) -> None:
    async with served(tmp_path, Gate) as client:
        await issue(client, "ann")
        await issue(client, "bob")
        answer = await delete_me(client, ANN)
        assert (answer.status_code, answer.headers["x-badge-back"]) == (204, "ann")
        assert await gate(client).names() == ["bob"]


async def test_a_deletion_fails_if_an_extension_cannot_forget_and_can_be_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(tmp_path, Gate) as client:
        await issue(client, "ann")
        with monkeypatch.context() as patch:
            twice = [insert(badges).values(name="ann")]
            patch.setattr(Gate, "principal_deleted", lambda _self, _principal: twice)
            assert (await delete_me(client, ANN)).status_code >= 500
        assert await gate(client).names() == ["ann"]
        assert (await delete_me(client, ANN)).status_code == 204
        assert await gate(client).names() == []


async def _note(command: Command) -> None:
    def note(connection: Connection) -> list[str]:
        names = [*connection.scalars(select(badges.c.name))]
        if not names:
            connection.execute(insert(badges).values(name=command.options.name))
        return names

    names = await command.store.write(note)
    sys.stdout.write(f"{names}, recorded: {(await command.recorder()).is_on}\n")


def _add_badges(groups: Any) -> None:
    group = groups.add_parser("badges").add_subparsers(required=True)
    add_command(group, "note", _note, "note a badge", creates=True).add_argument("name")


class Registry(Gate):
    administration: ClassVar[Mapping[str, Callable[[Any], None]]] = {"badges": _add_badges}


def test_a_command_of_an_administrator_has_the_tables_of_its_extension(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    isolate(monkeypatch, tmp_path)
    monkeypatch.setenv("TURNSTREAM_DATABASE", str(tmp_path / "new.db"))
    found = (*BUILT_IN, Registry)
    for module in ("commands", "launch"):
        monkeypatch.setattr(f"turnstream.server.{module}.declared", lambda _names=(): found)
    for names in ("[]", "['ann']"):
        assert main(["badges", "note", "ann"]) == 0
        assert capsys.readouterr().out == f"{names}, recorded: True\n"
