"""Callers with JWTs, against the real server and a real issuer."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.support.issuer import AUDIENCE, LocalIssuer
from tests.support.serving import Client, serving, settings
from turnstream.server.extensions.users.tokens import TokenSettings


@pytest.fixture
async def issuer() -> AsyncIterator[LocalIssuer]:
    async with LocalIssuer() as issuer:
        yield issuer


def server(directory: Path, issuer: LocalIssuer) -> AbstractAsyncContextManager[Client]:
    return serving(
        settings(directory / "t.db", auth=("jwt",), jwt_issuer=issuer.url, jwt_audience=AUDIENCE)
    )


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def test_a_token_reaches_the_threads_of_its_caller_alone(
    tmp_path: Path, issuer: LocalIssuer
) -> None:
    async with server(tmp_path, issuer) as client:
        ann, bob = bearer(issuer.token("ann")), bearer(issuer.token("bob"))
        thread_id, _ = await client.turn({"message": "Hello"}, headers=ann)
        assert (await client.http.get(f"/threads/{thread_id}", headers=ann)).status_code == 200
        assert (await client.http.get(f"/threads/{thread_id}", headers=bob)).status_code == 404


async def test_a_forged_token_is_nobody(tmp_path: Path, issuer: LocalIssuer) -> None:
    async with server(tmp_path, issuer) as client:
        header, payload, _ = issuer.token().split(".")
        _, _, signature = issuer.token("bob").split(".")
        for token in (f"{header}.{payload}.{signature}", f"{header}.{payload}.", "a.b.c"):
            answer = await client.http.get("/threads", headers=bearer(token))
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


async def test_the_server_starts_while_the_issuer_is_down_and_says_so_to_callers(
    tmp_path: Path, issuer: LocalIssuer
) -> None:
    await issuer.stop()
    async with server(tmp_path, issuer) as client:
        assert (await client.http.get("/health")).status_code == 200
        answer = await client.http.get("/threads", headers=bearer(issuer.token()))
        assert (answer.status_code, answer.json()["code"]) == (503, "authentication_unavailable")
        assert issuer.url not in answer.text


async def test_a_login_with_a_token_lasts_no_longer_than_the_token(
    tmp_path: Path, issuer: LocalIssuer
) -> None:
    async with server(tmp_path, issuer) as client:
        claims = issuer.claims("ann", name="Ann Lee", roles=["admin"])
        answer = await client.http.post("/login", json={"credential": issuer.sign(claims)})
        assert answer.status_code == 200, answer.text
        me = (await client.http.get("/me")).json()
        assert (me["id"], me["display_name"], me["roles"]) == ("ann", "Ann Lee", ["admin"])
        max_age = answer.headers["set-cookie"].lower().partition("max-age=")[2].partition(";")[0]
        assert int(max_age) <= 3600 + TokenSettings(issuer.url, AUDIENCE).leeway_seconds
