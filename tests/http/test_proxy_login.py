"""A proxy names the caller in a header, which counts only if it comes from a trusted proxy."""

from pathlib import Path
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from tests.support.serving import serving, settings
from tests.support.users import make_key, set_cookies
from turnstream.server.http.proxies import PEER, TrustedProxies

ANN = {"X-Forwarded-User": "ann"}


async def seen_as(folder: Path, headers: dict[str, str], **values: Any) -> tuple[int, Any]:
    """The status of GET /me, and who it is."""
    given = {"auth": "header", "trusted_proxies": "10.0.0.1", **values}
    async with serving(settings(folder / "t.db", **given)) as client:
        answer = await client.http.get("/me", headers=headers)
        return answer.status_code, answer.json().get("id")


async def test_the_header_of_a_trusted_proxy_is_believed(tmp_path: Path) -> None:
    assert await seen_as(tmp_path, ANN, trusted_proxies="127.0.0.1") == (200, "ann")


async def test_the_header_of_anybody_else_is_not(tmp_path: Path) -> None:
    assert await seen_as(tmp_path, ANN) == (401, None)


@pytest.mark.parametrize("forwarded", ["10.0.0.1", "10.0.0.1, 10.0.0.1", "::ffff:10.0.0.1"])
async def test_nobody_becomes_a_trusted_proxy_by_a_header(forwarded: str, tmp_path: Path) -> None:
    headers = {**ANN, "X-Forwarded-For": forwarded, "X-Real-IP": "10.0.0.1"}
    assert await seen_as(tmp_path, headers) == (401, None)


async def test_the_proxy_stays_trusted_whomever_it_forwards(tmp_path: Path) -> None:
    headers = {**ANN, "X-Forwarded-For": "203.0.113.9"}
    assert await seen_as(tmp_path, headers, trusted_proxies="127.0.0.1") == (200, "ann")


async def test_the_headers_may_have_other_names(tmp_path: Path) -> None:
    named = {"trusted_proxies": "127.0.0.0/8", "user_header": "Remote-User"}
    assert await seen_as(tmp_path, {"remote-user": "ann"}, **named) == (200, "ann")
    assert await seen_as(tmp_path, ANN, **named) == (401, None)


async def test_behind_a_proxy_alone_nobody_can_log_in_here(tmp_path: Path) -> None:
    given = {"auth": "header", "trusted_proxies": "10.0.0.1"}
    async with serving(settings(tmp_path / "t.db", **given)) as client:
        refused = await client.http.get("/me")
        assert refused.json()["login"] is False
        answer = await client.http.post("/login", json={"credential": "ann"})
        assert (answer.status_code, answer.json()["code"]) == (404, "no_login")


async def test_the_header_does_not_log_in_where_the_method_is_off(tmp_path: Path) -> None:
    given = {"auth": "keys", "trusted_proxies": "127.0.0.1"}
    assert await seen_as(tmp_path, ANN, **given) == (401, None)


@pytest.mark.parametrize("name", ["X-Forwarded-User", "X-Forwarded-Groups"])
async def test_a_header_that_the_client_has_sent_beside_the_proxys_is_refused(
    name: str, tmp_path: Path
) -> None:
    given = {"auth": "header", "trusted_proxies": "127.0.0.1"}
    async with serving(settings(tmp_path / "t.db", **given)) as client:
        twice = [*ANN.items(), (name.lower(), "eve"), (name.upper(), "admin")]
        answer = await client.http.get("/me", headers=twice)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


async def test_names_are_utf_8(tmp_path: Path) -> None:
    given = {"auth": "header", "trusted_proxies": "127.0.0.1"}
    async with serving(settings(tmp_path / "t.db", **given)) as client:
        for name, status in ((bytes("Übel 雪", "utf-8"), 200), (b"\xdcbel", 401)):
            answer = await client.http.get("/me", headers=[(b"X-Forwarded-User", name)])
            assert answer.status_code == status
            assert answer.json().get("id") == ("Übel 雪" if status == 200 else None)


@pytest.mark.parametrize("trusted", ["127.0.0.1", "127.0.0.9/8"])
async def test_tls_of_whichever_proxy_may_name_callers_is_believed(
    trusted: str, tmp_path: Path
) -> None:
    given = {"auth": "keys,header", "trusted_proxies": trusted}
    async with serving(settings(tmp_path / "t.db", **given)) as client:
        key = {"credential": await make_key(client, "ann")}
        answer = await client.http.post("/login", json=key, headers={"X-Forwarded-Proto": "https"})
        ((name, _, attributes),) = set_cookies(answer)
        assert name.startswith("__Host-")
        assert "secure" in attributes


async def test_a_proxy_on_a_socket_for_both_families_is_the_same_proxy() -> None:
    seen: list[Scope] = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        seen.append(scope)

    forwarded = [(b"x-forwarded-proto", b"https"), (b"x-forwarded-for", b"203.0.113.9")]
    scope: Scope = {
        "type": "http",
        "scheme": "http",
        "path": "/",
        "client": ("::ffff:10.0.0.1", 50_000),
        "headers": forwarded,
    }
    await TrustedProxies(app, ["10.0.0.0/8"])(scope, nothing, nothing)
    (scope,) = seen
    assert (scope[PEER], scope["scheme"]) == ("10.0.0.1", "https")
    assert scope["client"][0] == "203.0.113.9"


async def nothing(*_given: Any) -> Any:
    raise AssertionError("nothing is read or sent")
