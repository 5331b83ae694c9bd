"""docs/deploy.md: turnstream behind nginx and Caddy, as the page configures them."""

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint, text_reply
from tests.support.endpoint.serving import serve
from tests.support.reverse_proxies import HOST, LOGIN_PROXY, behind, block, variables
from tests.support.serving import PROJECT, Client, endpoint_settings, serving, settings
from tests.support.sse_frames import event_id, frames, frames_after
from turnstream.server.app import PAGE as BUILT
from turnstream.server.extensions.users.credential_store import SqlCredentialStore
from turnstream.server.extensions.users.keys import new_key
from turnstream.server.storage.store import SqliteStore

PAGE = "deploy.md"
SITES = {"nginx": "/etc/nginx/conf.d/turnstream.conf", "caddy": "/etc/caddy/Caddyfile"}
ENVIRONMENT = "/etc/turnstream.env"
PLAIN, WITH_LOGIN_PROXY = "", ", with a login proxy"

both_proxies = pytest.mark.parametrize("program", SITES)


@dataclass(frozen=True)
class Site:
    """turnstream and the proxy before it."""

    server: Client
    proxy: Client
    endpoint: StrictEndpoint

    @property
    def origin(self) -> str:
        return self.proxy.url

    async def key(self, name: str) -> str:
        shown, key = new_key(name)
        assert self.server.state is not None
        store = cast(SqliteStore, self.server.state["store"])
        await SqlCredentialStore(store).add_key(key)
        return shown

    async def log_in(self, name: str) -> httpx.Response:
        return await self.proxy.http.post(
            "/login", json={"credential": await self.key(name)}, headers={"Origin": self.origin}
        )


@asynccontextmanager
async def site(
    program: str,
    folder: Path,
    variant: str = PLAIN,
    login_proxy: str = LOGIN_PROXY,
    **changed: str,
) -> AsyncIterator[Site]:
    environment = {**variables(PAGE, ENVIRONMENT + variant), **changed}
    del environment["database"]
    language = "nginx" if program == "nginx" else "caddy"
    configuration = block(PAGE, language, SITES[program] + variant)
    async with StrictEndpoint() as endpoint:
        values: dict[str, Any] = {**environment}
        async with serving(endpoint_settings(folder / "t.db", endpoint, **values)) as server:
            address = server.url.removeprefix("http://")
            # turnstream takes requests for the page's host alone, the test's own excepted.
            server.http.headers["Host"] = HOST
            async with behind(program, configuration, folder, address, login_proxy) as proxy:
                yield Site(server, proxy, endpoint)


@asynccontextmanager
async def login_proxy(people: Mapping[str, Mapping[str, str]]) -> AsyncIterator[str]:
    """What oauth2-proxy answers with --set-xauthrequest, by its cookie; yields its address."""

    async def auth(request: Request) -> Response:
        person = people.get(request.cookies.get("_oauth2_proxy", ""))
        assert not await request.body()
        return Response(status_code=401) if person is None else Response(None, 202, person)

    async def sign_in(request: Request) -> Response:
        return Response(f"Log in, then go to {request.query_params['rd']}")

    app = Starlette(routes=[Route("/oauth2/auth", auth), Route("/oauth2/sign_in", sign_in)])
    async with serve(app, 0, keep_alive=True) as port:
        yield f"127.0.0.1:{port}"


def named(user: str) -> dict[str, str]:
    """The cookie of somebody whom the login proxy knows."""
    return {"Cookie": f"_oauth2_proxy={user}"}


PEOPLE = {
    "ann": {"X-Auth-Request-User": "ann", "X-Auth-Request-Groups": "staff,writers"},
    "bob": {"X-Auth-Request-User": "bob"},
}


@both_proxies
async def test_events_pass_the_proxy_one_at_a_time(program: str, tmp_path: Path) -> None:
    async with site(program, tmp_path) as here:
        pause = Pause(asyncio.Event())
        here.endpoint.script(Reply((Say("One, "), pause, Say("two."))))
        assert (await here.log_in("ann")).status_code == 200
        origin = {"Origin": here.origin}
        async with here.proxy.chat({"message": "Count."}, headers=origin) as stream:
            said = await stream.until("text-delta")
            pause.event.set()
            rest = await stream.rest()
    assert said.data["textDelta"] == "One, "
    assert rest[-1].data == "[DONE]"


@both_proxies
async def test_a_login_sets_a_cookie_that_goes_to_this_host_by_tls_alone(
    program: str, tmp_path: Path
) -> None:
    async with site(program, tmp_path) as here:
        answer = await here.log_in("ann")
        cookie = answer.headers["set-cookie"]
        me = await here.proxy.http.get("/me")
    assert cookie.startswith("__Host-turnstream_session=")
    attributes = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert {"secure", "httponly", "path=/", "samesite=strict"} <= attributes
    assert not any(attribute.startswith("domain") for attribute in attributes)
    assert (me.json()["id"], me.json()["session"]) == ("ann", True)


@both_proxies
async def test_only_the_pages_own_origin_may_change_something(program: str, tmp_path: Path) -> None:
    async with site(program, tmp_path) as here:
        here.endpoint.script(text_reply("Hello."))
        await here.log_in("ann")
        answers = [
            await here.proxy.http.post("/chat", json={"message": "Hi"}, headers=headers)
            for headers in (
                {"Origin": here.origin},
                {"Origin": here.origin.replace("https", "http")},
                {"Origin": "https://evil.example"},
                {},
            )
        ]
    assert [answer.status_code for answer in answers] == [200, 403, 403, 403]
    codes = [answer.json()["code"] for answer in answers[1:]]
    assert codes == ["origin_not_allowed", "origin_not_allowed", "origin_required"]


@both_proxies
async def test_a_reader_that_comes_back_gets_the_rest(program: str, tmp_path: Path) -> None:
    async with site(program, tmp_path) as here:
        here.endpoint.script(Reply(tuple(Say(f"word{n} ") for n in range(30))))
        await here.log_in("ann")
        accepted = await here.proxy.http.post(
            "/chat",
            json={"message": "Hi"},
            headers={"Origin": here.origin, "Prefer": "respond-async"},
        )
        location = accepted.headers["location"]
        async with here.proxy.stream("GET", location) as stream:
            first = await stream.until("text-delta")
        assert first.id is not None
        whole = await here.proxy.http.get(location)
        path = location.partition("?")[0]
        rest = await here.proxy.http.get(path, headers={"Last-Event-ID": first.id})
        last = event_id(frames(whole.content)[-1])
        assert last is not None
        over = await here.proxy.http.get(path, headers={"Last-Event-ID": last})
    assert rest.content == frames_after(whole.content, first.id)
    assert over.status_code == 204


@both_proxies
async def test_a_body_of_15_megabytes_passes(program: str, tmp_path: Path) -> None:
    history = {
        "id": "m1",
        "role": "assistant",
        "parts": [{"type": "text", "text": "a" * 15_000_000}],
    }
    question = {"id": "m2", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}
    body = {"id": "t1", "trigger": "submit-message", "messages": [history, question]}
    async with site(program, tmp_path) as here:
        here.endpoint.script(text_reply("Hello."))
        bearer = {"Authorization": f"Bearer {await here.key('ann')}"}
        answer = await here.proxy.http.post("/chat", json=body, headers=bearer)
    assert answer.status_code == 200, answer.text
    assert "Hello." in answer.text


@both_proxies
async def test_a_clients_own_user_headers_are_dropped(program: str, tmp_path: Path) -> None:
    forged = {"X-Forwarded-User": "ann", "X-Forwarded-Groups": "admin"}
    async with site(program, tmp_path, auth="header") as here:
        assert (await here.server.http.get("/me", headers=forged)).json()["roles"] == ["admin"]
        assert (await here.proxy.http.get("/me", headers=forged)).status_code == 401


@both_proxies
async def test_who_guesses_keys_is_counted_whatever_address_they_name(
    program: str, tmp_path: Path
) -> None:
    async with site(program, tmp_path, max_failed_logins="2") as here:
        answers = [
            await here.proxy.http.get(
                "/me",
                headers={"Authorization": "Bearer ts_wrong", "X-Forwarded-For": f"192.0.2.{n}"},
            )
            for n in range(3)
        ]
    assert [answer.status_code for answer in answers] == [401, 401, 429]


@both_proxies
async def test_whom_the_login_proxy_names_is_the_caller(program: str, tmp_path: Path) -> None:
    forged = {"X-Forwarded-User": "eve", "X-Forwarded-Groups": "admin"}
    async with (
        login_proxy(PEOPLE) as address,
        site(program, tmp_path, WITH_LOGIN_PROXY, address) as here,
    ):
        callers = [
            (await here.proxy.http.get("/me", headers={**named(user), **forged})).json()
            for user in ("ann", "bob")
        ]
        here.endpoint.script(text_reply("Hello."))
        headers = {**named("ann"), "Origin": here.origin}
        thread_id, _ = await here.proxy.turn({"message": "Hi"}, headers=headers)
        of_others = await here.proxy.http.get(f"/threads/{thread_id}", headers=named("bob"))
        own = await here.proxy.http.get(f"/threads/{thread_id}", headers=named("ann"))
    assert [(caller["id"], caller["method"]) for caller in callers] == [
        ("ann", "proxy"),
        ("bob", "proxy"),
    ]
    assert callers[0]["roles"] == ["staff", "writers"]
    assert "admin" not in callers[1]["roles"]
    assert (own.status_code, of_others.status_code) == (200, 404)


@both_proxies
async def test_nobody_passes_the_login_proxy_but_to_its_login_and_to_health(
    program: str, tmp_path: Path
) -> None:
    forged = {"X-Forwarded-User": "eve", "X-Forwarded-Groups": "admin"}
    script = f"/{next(BUILT.glob('keys-dialog-*.js')).name}"
    async with (
        login_proxy(PEOPLE) as address,
        site(program, tmp_path, WITH_LOGIN_PROXY, address) as here,
    ):
        refused = [
            await here.proxy.http.request(method, path, json={"message": "Hi"}, headers=forged)
            for method, path in (("GET", "/me"), ("POST", "/chat"), ("GET", script))
        ]
        page = await here.proxy.http.get("/", headers=forged)
        login = await here.proxy.http.get(page.headers["location"])
        health = await here.proxy.http.get("/health")
    assert [answer.status_code for answer in refused] == [401] * 3
    for answer in refused:
        assert answer.headers["content-type"] == "application/problem+json"
        assert (answer.json()["code"], answer.json()["login"]) == ("unauthenticated", False)
    assert page.status_code == 302
    assert login.text == "Log in, then go to /"
    assert health.json()["status"] == "ok"


async def test_a_backup_that_is_made_beside_a_live_run_has_the_threads(tmp_path: Path) -> None:
    page = (PROJECT / "docs" / PAGE).read_text(encoding="utf-8")
    commands = re.findall(r"\"VACUUM INTO '[^']+'\"", page)
    assert len(commands) == 1
    copy = tmp_path / "copy.db"
    async with StrictEndpoint() as endpoint:
        pause = Pause(asyncio.Event())
        endpoint.script(text_reply("Hello."), Reply((Say("One, "), pause, Say("two."))))
        async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
            thread_id, _ = await client.turn({"message": "Hi"})
            thread = await client.thread(thread_id)
            async with client.chat({"message": "Count."}) as stream:
                await stream.until("text-delta")
                live = stream.thread_id
                with sqlite3.connect(tmp_path / "t.db") as connection:
                    connection.execute(f"VACUUM INTO '{copy}'")
                connection.close()
                pause.event.set()
                assert (await stream.rest())[-1].data == "[DONE]"
    async with serving(settings(copy)) as client:
        assert await client.thread(thread_id) == thread
        assert (await client.thread(live))["run_state"] == "interrupted"
        await client.turn({"thread_id": live, "message": "And now?"})
