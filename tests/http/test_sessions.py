"""Browser sessions: whatever is wrong with a cookie, it opens nothing, and no log has it."""

import hashlib
import logging
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from itsdangerous import Signer

from tests.support.serving import Client, http_client, serving
from tests.support.users import (
    COOKIE,
    bearer,
    browser_of,
    client_of,
    cookie_of,
    credentials_of,
    keys_settings,
    log_in,
    make_key,
    set_cookies,
)
from turnstream.server.extensions.users import sessions
from turnstream.server.extensions.users.credentials import SessionSecret
from turnstream.server.extensions.users.sessions import SALT, SECRET_SECONDS

ELSEWHERE = "https://elsewhere.example"
TLS = {"X-Forwarded-Proto": "https"}


async def status_with(client: Client, cookie: str, name: str = COOKIE) -> int:
    """The status of GET /me with this cookie alone."""
    answer = await client.http.get("/me", headers={"Cookie": f"{name}={cookie}"})
    assert answer.status_code == 200 or answer.json()["code"] == "unauthenticated"
    return answer.status_code


async def test_a_login_is_a_cookie_that_scripts_and_other_sites_cannot_use(tmp_path: Path) -> None:
    given = keys_settings(tmp_path, session_seconds=60)
    async with serving(given) as client, http_client(client.url) as http:
        answer = await log_in(http, await make_key(client, "ann"))
        ((name, value, attributes),) = set_cookies(answer)
        only, age, path, site = attributes
        assert (name, only, path, site) == (COOKIE, "httponly", "path=/", "samesite=strict")
        assert 0 < int(age.removeprefix("max-age=")) <= 60
        assert answer.json()["session"] is True
        assert await status_with(client, value) == 200


async def test_by_tls_the_cookie_is_of_this_host_and_of_tls_alone(tmp_path: Path) -> None:
    async with serving(keys_settings(tmp_path)) as client:
        credential = {"credential": await make_key(client, "ann")}
        answer = await client.http.post("/login", json=credential, headers=TLS)
        ((name, value, attributes),) = set_cookies(answer)
        assert name == f"__Host-{COOKIE}"
        assert "secure" in attributes
        me = await client.http.get("/me", headers={**TLS, "Cookie": f"{name}={value}"})
        assert me.status_code == 200
        # What somebody on the network has planted by plain HTTP is not looked at.
        me = await client.http.get("/me", headers={**TLS, "Cookie": f"{COOKIE}={value}"})
        assert me.status_code == 401
        assert await status_with(client, value, name) == 401


async def test_a_strangers_body_is_small_and_has_a_length(tmp_path: Path) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"credential": "a"}'

    json_type = {"Content-Type": "application/json"}
    async with serving(keys_settings(tmp_path)) as client:
        for body in (pieces(), b'{"credential": "' + b"a" * 20_000 + b'"}'):
            answer = await client.http.post("/login", content=body, headers=json_type)
            assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
        small = b'{"credential": "' + b"a" * 9_999 + b'"}'
        answer = await client.http.post("/login", content=small, headers=json_type)
        assert answer.status_code == 401


@pytest.mark.parametrize(
    "body", [{}, [], {"credential": ""}, {"credential": 1}, {"credential": "a\nb"}]
)
async def test_a_login_without_a_credential_is_told_what_to_send(
    body: object, tmp_path: Path
) -> None:
    async with serving(keys_settings(tmp_path)) as client:
        answer = await client.http.post("/login", json=body)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_credential")


async def test_a_forged_cookie_is_nobodys(tmp_path: Path) -> None:
    async with serving(keys_settings(tmp_path)) as client, browser_of(client, "ann") as ann:
        cookie = cookie_of(ann.http)
        token, _, signature = cookie.rpartition(".")
        forged = [
            token,
            f"{token}.",
            f".{signature}",
            f"{token[:-1]}{'A' if token[-1] != 'A' else 'B'}.{signature}",
            f"{token}.{signature[:-2]}AA",
            Signer("secret", SALT, digest_method=hashlib.sha256).sign(token).decode(),
            Signer("", SALT, digest_method=hashlib.sha256).sign(token).decode(),
            hashlib.sha256(token.encode()).hexdigest(),
            "x" * 8000,
            '"quoted\\040"',
            "",
        ]
        for value in forged:
            assert await status_with(client, value) == 401
        assert await status_with(client, cookie) == 200


async def test_odd_cookie_headers_are_no_error_of_the_server(tmp_path: Path) -> None:
    async with serving(keys_settings(tmp_path)) as client:
        for header in ("=", ";;;", f"{COOKIE}", f"{COOKIE}=\x80\xff", f"a={'b' * 9000}", "$Path=x"):
            raw = header.encode("latin-1")
            answer = await client.http.get("/me", headers=[(b"Cookie", raw)])
            assert answer.status_code == 401


async def test_odd_cookies_of_others_on_the_host_do_not_hide_ours(tmp_path: Path) -> None:
    async with serving(keys_settings(tmp_path)) as client, browser_of(client, "ann") as ann:
        ours = f"{COOKIE}={cookie_of(ann.http)}"
        for other in ("a[b]=c", "a b=c d", 'a="', "=x", "a={}"):
            answer = await client.http.get("/me", headers={"Cookie": f"{other}; {ours}; {other}"})
            assert answer.status_code == 200


async def test_of_two_cookies_of_the_name_the_last_counts(tmp_path: Path) -> None:
    """A browser sends the one of a longer path first, which is not the one that we have set."""
    async with serving(keys_settings(tmp_path)) as client, browser_of(client, "ann") as ann:
        cookie = cookie_of(ann.http)
        assert await status_with(client, f"planted; {COOKIE}={cookie}") == 200
        assert await status_with(client, f"{cookie}; {COOKIE}=planted") == 401


async def test_wrong_credentials_leave_a_good_session_alone(tmp_path: Path) -> None:
    async with serving(keys_settings(tmp_path)) as client, browser_of(client, "ann") as ann:
        for answer in (
            await ann.http.post("/login", json={"credential": "ts_wrong"}),
            await ann.http.get("/me", headers=bearer("ts_wrong")),
        ):
            assert answer.status_code == 401
            assert not list(set_cookies(answer))
        assert (await ann.http.get("/me")).status_code == 200


async def test_a_cookie_opens_nothing_after_the_logout(tmp_path: Path) -> None:
    async with serving(keys_settings(tmp_path)) as client, browser_of(client, "ann") as ann:
        cookie = cookie_of(ann.http)
        alone = {"Cookie": f"{COOKIE}={cookie}"}
        refused = await client.http.post("/logout", headers=alone)
        assert (refused.status_code, refused.json()["code"]) == (403, "origin_required")
        assert await status_with(client, cookie) == 200
        answer = await ann.http.post("/logout")
        assert answer.status_code == 204
        ((name, value, attributes),) = set_cookies(answer)
        assert (name, value) == (COOKIE, '""')
        assert "max-age=0" in attributes
        assert await status_with(client, cookie) == 401
        assert (await ann.http.post("/logout")).status_code == 204


async def test_a_session_ends_with_the_key_that_it_was_begun_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnstream.server.extensions.users.remembered.SECONDS", 0)
    async with serving(keys_settings(tmp_path)) as client:
        key = await make_key(client, "ann")
        async with http_client(client.url) as http:
            await log_in(http, key)
            assert (await http.get("/me")).status_code == 200
            await credentials_of(client).revoke_key(key.split("_")[1], time.time())
            refused = await http.get("/me")
            assert refused.status_code == 401
            # The cookie is of no use any more: the browser is told to forget it.
            assert "max-age=0" in next(set_cookies(refused))[2]


async def test_a_cookie_from_before_the_login_is_not_the_session_afterwards(
    tmp_path: Path,
) -> None:
    async with serving(keys_settings(tmp_path)) as client, browser_of(client, "eve") as eve:
        planted = cookie_of(eve.http)
        async with http_client(client.url) as http:
            http.cookies.set(COOKIE, planted)
            answer = await log_in(http, await make_key(client, "ann"))
            ((_, value, _),) = set_cookies(answer)
        assert value != planted
        assert await status_with(client, planted) == 401


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/chat"), ("POST", "/chat/t1/stop"), ("DELETE", "/threads/t1")]
)
async def test_another_site_can_do_nothing_with_a_cookie(
    method: str, path: str, tmp_path: Path
) -> None:
    async with serving(keys_settings(tmp_path)) as client, browser_of(client, "ann") as ann:
        await ann.turn({"thread_id": "t1", "message": "Hello"})
        for origin, code in (
            (ELSEWHERE, "origin_not_allowed"),
            ("null", "origin_not_allowed"),
            (None, "origin_required"),
        ):
            ann.http.headers.pop("Origin", None)
            headers = {"Origin": origin} if origin else {}
            body = {"message": "Hi", "thread_id": "t1"} if path == "/chat" else None
            answer = await ann.http.request(method, path, headers=headers, json=body)
            assert (answer.status_code, answer.json()["code"]) == (403, code)
        assert len((await ann.thread("t1"))["messages"]) == 2


async def test_another_site_can_log_nobody_in_or_out(tmp_path: Path) -> None:
    async with serving(keys_settings(tmp_path)) as client, browser_of(client, "ann") as ann:
        credential = {"credential": await make_key(client, "eve")}
        for path, body in (("/login", credential), ("/logout", None)):
            answer = await ann.http.post(path, json=body, headers={"Origin": ELSEWHERE})
            assert (answer.status_code, answer.json()["code"]) == (403, "origin_not_allowed")
        assert (await ann.http.get("/me")).json()["id"] == "ann"


async def test_the_secret_is_replaced_daily_and_older_cookies_stay_good(tmp_path: Path) -> None:
    async with serving(keys_settings(tmp_path, session_seconds=3600)) as client:
        store = credentials_of(client)
        async with browser_of(client, "ann") as ann:
            (first,) = await store.secrets()
            now = time.time()
            # As if a day had passed: the secret is older than its time.
            await store.rotate_secret(SessionSecret("newer", now), now + 1, 0)
            async with browser_of(client, "ben") as ben:
                assert [each.secret for each in await store.secrets()] == [first.secret, "newer"]
                for person in (ann, ben):
                    assert (await person.http.get("/me")).status_code == 200
                token = cookie_of(ben.http).rpartition(".")[0]
                signer = Signer("newer", SALT, digest_method=hashlib.sha256)
                assert signer.sign(token).decode() == cookie_of(ben.http)


async def test_a_secret_is_dropped_when_no_cookie_of_it_can_be_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(keys_settings(tmp_path, session_seconds=60)) as client:
        store = credentials_of(client)
        old = time.time() - SECRET_SECONDS - 61
        await store.rotate_secret(SessionSecret("old", old), old, 0)
        async with browser_of(client, "ann") as ann:
            assert "old" not in [each.secret for each in await store.secrets()]
            monkeypatch.setattr(sessions, "RELOAD_SECONDS", 0)
            token = cookie_of(ann.http).rpartition(".")[0]
            signed = Signer("old", SALT, digest_method=hashlib.sha256).sign(token).decode()
            assert await status_with(client, signed) == 401


@pytest.mark.parametrize(
    "authorization",
    [b"", b"Bearer", b"Basic YW5uOg==", b"bearer \xff\xfe", b"Bearer " + b"a" * 12_000],
)
async def test_an_odd_authorization_is_nobodys_whatever_the_cookie(
    authorization: bytes, tmp_path: Path
) -> None:
    async with serving(keys_settings(tmp_path)) as client, browser_of(client, "ann") as ann:
        answer = await ann.http.get("/me", headers=[(b"Authorization", authorization)])
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


async def test_of_two_authorizations_neither_makes_the_other_good(tmp_path: Path) -> None:
    async with serving(keys_settings(tmp_path)) as client:
        good = (b"Authorization", f"Bearer {await make_key(client, 'ann')}".encode())
        wrong = (b"Authorization", b"Bearer ts_wrong")
        for headers in ([good, wrong], [wrong, good]):
            answer = await client.http.get("/me", headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


async def test_a_key_in_the_address_is_not_looked_at_and_not_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with serving(keys_settings(tmp_path)) as client:
        key = await make_key(client, "ann")
        for name in ("key", "api_key", "token", "access_token", "authorization"):
            answer = await client.http.get("/threads", params={name: key})
            assert answer.status_code == 401
            assert key not in answer.text
    server = [record.getMessage() for record in caplog.records if record.name != "httpx"]
    assert key not in "".join(line for line in server if "HTTP Request" not in line)


async def test_no_credential_is_ever_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "turnstream")
    async with serving(keys_settings(tmp_path)) as client:
        key = await make_key(client, "ann")
        async with browser_of(client, "ben") as ben, client_of(client, "cat"):
            cookie = cookie_of(ben.http)
            wrong = key[:-3] + "AAA"
            answers: list[httpx.Response] = [
                await client.http.get("/me", headers=bearer(wrong)),
                await client.http.post("/login", json={"credential": wrong}),
                await client.http.post("/login", json={"credential": [wrong]}),
                await client.http.get("/me", headers={"Cookie": f"{COOKIE}={cookie}x"}),
            ]
            said = caplog.text + "".join(answer.text for answer in answers)
            for secret in (key, wrong, cookie, wrong.rpartition("_")[2]):
                assert secret not in said
    assert "not authenticated" in caplog.text
