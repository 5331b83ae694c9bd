"""A proxy names the caller in a header, which counts only if it comes from a trusted proxy."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.serving import serving, settings

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
