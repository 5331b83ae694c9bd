"""Who sends wrong credentials too often is told to wait."""

from pathlib import Path

import pytest

from tests.support.serving import serving, settings
from turnstream.server.extensions.users.keys import new_key

WRONG = {"Authorization": f"Bearer {new_key('ann')[0]}"}


@pytest.mark.parametrize("path", ["/me", "/login"])
async def test_an_address_that_fails_too_often_is_told_when_to_try_again(
    path: str, tmp_path: Path
) -> None:
    async with serving(settings(tmp_path / "t.db", auth="keys", max_failed_logins=3)) as client:

        async def fail() -> tuple[int, str]:
            if path == "/me":
                answer = await client.http.get("/me", headers=WRONG)
            else:
                wrong = {"credential": WRONG["Authorization"].removeprefix("Bearer ")}
                answer = await client.http.post("/login", json=wrong)
            if answer.status_code == 429:
                assert 0 < int(answer.headers["retry-after"]) <= 60
                assert answer.json()["limit"] == "max_failed_logins"
            return answer.status_code, answer.json()["code"]

        refused = [await fail() for _ in range(5)]
        assert refused == [(401, "unauthenticated")] * 3 + [(429, "limit_exceeded")] * 2


async def test_who_sends_nothing_or_an_old_cookie_fails_no_login(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db", auth="keys", max_failed_logins=3)) as client:
        for headers in ({}, {"Cookie": "turnstream_session=old.signature"}):
            for _ in range(5):
                answer = await client.http.get("/me", headers=headers)
                assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
