"""The function of docs/users.md recognises callers who have tokens of another application."""

from pathlib import Path

import pytest
from itsdangerous import URLSafeTimedSerializer

from tests.support.environment import isolate
from tests.support.reverse_proxies import block
from tests.support.serving import serving, settings

FIRST_LINE = "my_auth.py, in the working directory or installed; TURNSTREAM_AUTH=my_auth:auth"
SECRET = "a secret of the other application"
ANN = {"id": "ann", "name": "Ann Example", "roles": ["staff"]}


HALF = "\ud83d"
"""Half of a surrogate pair, which no UTF-8 has."""


async def test_names_that_no_utf8_has_are_shown_as_far_as_they_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    user = {"identity": "ann", "display_name": f"Ann{HALF}", "permissions": [f"staff{HALF}"]}
    (tmp_path / "half_auth.py").write_text(f"def who():\n    return {user!r}\n")
    async with serving(settings(tmp_path / "t.db", auth="half_auth:who")) as client:
        caller = await client.http.get("/me")
    assert caller.status_code == 200
    assert caller.json()["display_name"] == "Ann\ufffd"
    assert caller.json()["roles"] == ["staff\ufffd"]


async def test_the_function_of_the_page_recognises_callers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    monkeypatch.setenv("APP_SECRET", SECRET)
    (tmp_path / "my_auth.py").write_text(block("users.md", "python", FIRST_LINE))
    token, forged = (
        str(URLSafeTimedSerializer(secret).dumps(ANN)) for secret in (SECRET, "another")
    )
    async with serving(settings(tmp_path / "t.db", auth="my_auth:auth")) as client:
        caller = await client.http.get("/me", headers={"Authorization": f"Bearer {token}"})
        nobody = [
            await client.http.get("/me", headers=headers)
            for headers in ({}, {"Authorization": f"Bearer {forged}"})
        ]
        origin = {"Origin": client.url}
        login = await client.http.post("/login", json={"credential": token}, headers=origin)
        again = await client.http.get("/me")
    assert caller.json() == {
        "extensions": ["openapi"],
        "id": "ann",
        "display_name": "Ann Example",
        "roles": ["staff"],
        "method": "function",
        "session": False,
    }
    assert [answer.status_code for answer in nobody] == [401, 401]
    assert login.status_code == 200
    assert (again.json()["id"], again.json()["session"]) == ("ann", True)
