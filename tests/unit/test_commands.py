"""`turnstream keys`: keys are made, listed and revoked, while the server runs or not."""

import asyncio
import re
import time
from pathlib import Path

import pytest

from tests.support.environment import isolate
from tests.support.serving import serving, settings
from tests.support.users import bearer, keys_settings
from tests.support.waiting import eventually
from turnstream.server.__main__ import main

Said = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)
    monkeypatch.setenv("TURNSTREAM_DATABASE", str(tmp_path / "t.db"))


def added(capsys: Said, *options: str) -> str:
    """A new key, which is all that is on stdout."""
    assert main(["keys", "add", "ann", *options]) == 0
    said = capsys.readouterr()
    key = said.out.removesuffix("\n")
    assert re.fullmatch(r"ts_[0-9a-f]{12}_[A-Za-z0-9-]+", key)
    assert key not in said.err
    return key


def listed(capsys: Said) -> list[list[str]]:
    """The rows, cells in order; two spaces or more are between them."""
    assert main(["keys", "list"]) == 0
    _, *rows = capsys.readouterr().out.splitlines()
    return [re.split(r" {2,}", row) for row in rows]


def test_keys_are_listed_without_their_secrets_and_with_their_state(capsys: Said) -> None:
    keys = [added(capsys), added(capsys, "--role", "admin", "--expires", "30d")]
    assert main(["keys", "revoke", keys[0].split("_")[1]]) == 0
    rows = listed(capsys)
    assert [row[0] for row in rows] == [key.split("_")[1] for key in keys]
    assert [(row[1], row[2], row[-1]) for row in rows] == [
        ("ann", "-", "revoked"),
        ("ann", "admin", "valid"),
    ]
    month = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 30 * 86_400))
    assert rows[1][4].startswith(month)
    assert not any(key.rpartition("_")[2] in str(rows) for key in keys)


async def test_a_command_that_only_looks_makes_no_tables(tmp_path: Path, capsys: Said) -> None:
    async with serving(settings(tmp_path / "t.db")):
        assert await asyncio.to_thread(main, ["keys", "list"]) == 2
        assert await asyncio.to_thread(main, ["keys", "revoke", "a"]) == 2
    assert capsys.readouterr().err.count("the database has nothing of the extension 'users'") == 2


async def test_a_running_server_takes_a_new_key_and_refuses_a_revoked_one(
    tmp_path: Path, capsys: Said
) -> None:
    async with serving(keys_settings(tmp_path)) as client:

        async def status(key: str) -> int:
            return (await client.http.get("/me", headers=bearer(key))).status_code

        key = await asyncio.to_thread(added, capsys)
        assert await status(key) == 200
        assert await asyncio.to_thread(main, ["keys", "revoke", key.split("_")[1]]) == 0

        async def refused() -> bool:
            return await status(key) == 401

        await eventually(refused)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["add", "local"], "owner of threads made without authentication"),
        (["add", ""], "1 to 255"),
        (["add", "a\x1b[2J"], "printable"),
        (["add", "ann", "--expires", "soon"], "give days such as 30d"),
        (["add", "ann", "--expires", "2001-01-01"], "in the past"),
        (["revoke", "0123456789ab"], "no valid key"),
    ],
)
def test_what_cannot_be_done_is_one_line(arguments: list[str], why: str, capsys: Said) -> None:
    added(capsys)
    assert main(["keys", *arguments]) == 2
    said = capsys.readouterr()
    assert why in said.err
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "\x1b" not in said.err
    assert len(listed(capsys)) == 1


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [("AUTH", "jwt", "TURNSTREAM_JWT_ISSUER"), ("PORT", "x", "TURNSTREAM_PORT cannot be 'x'")],
)
def test_a_bad_setting_is_one_line_here_too(
    name: str, value: str, why: str, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"TURNSTREAM_{name}", value)
    assert main(["keys", "list"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("turnstream: ")
    assert why in said
    assert said.count("\n") == 1
