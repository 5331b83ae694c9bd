"""Databases that the server cannot start on: each is one clear line, and exit status 2."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support.environment import isolate
from tests.support.foreign_lock import foreign_lock
from tests.support.forked_server import refused_start
from tests.support.serving import Client, serving, settings
from turnstream.server.__main__ import main
from turnstream.server.storage.checkpointer import open_checkpointer
from turnstream.server.storage.database_file import usable
from turnstream.server.storage.tables import SCHEMA_VERSION
from turnstream.server.storage.unavailable import StorageError, StorageUnavailable

PAGE_BYTES = 4096


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)


@pytest.fixture
def started(capsys: pytest.CaptureFixture[str]) -> Callable[[object], str]:
    """Start the server on a database on which it cannot start: its one line."""

    def start(database: object) -> str:
        assert main(["--port", "0", "--busy-seconds", "0.2", "--database", str(database)]) == 2
        return _one_line(capsys.readouterr().err)

    return start


async def refused_process(database: Path) -> str:
    """The same in a process of its own."""
    return _one_line(await refused_start(database))


def _one_line(said: str) -> str:
    assert said.startswith("turnstream: "), said
    assert said.count("\n") == 1, said
    return said


@pytest.fixture
async def used(tmp_path: Path) -> Path:
    """A database that a server has worked on."""
    path = tmp_path / "t.db"
    async with serving(settings(path)) as client:
        await _fill(client)
    return path


async def _fill(client: Client) -> None:
    for n in range(5):
        await client.turn({"thread_id": f"t{n}", "message": f"Hello {n}"})


def test_a_database_in_memory_is_refused(started: Callable[[object], str], tmp_path: Path) -> None:
    assert "would not outlive the server" in started(":memory:")
    assert list(tmp_path.iterdir()) == []


def test_a_device_is_refused(started: Callable[[object], str]) -> None:
    assert "not a regular file" in started("/dev/null")


def test_a_pipe_is_refused(started: Callable[[object], str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in started("pipe")


@pytest.mark.parametrize("name", [".", "folder"])
def test_a_folder_is_refused(started: Callable[[object], str], tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    assert "it is a folder" in started(name)


def test_a_link_that_leads_round_in_a_circle_is_refused(
    started: Callable[[object], str], tmp_path: Path
) -> None:
    (tmp_path / "round").symlink_to("round")
    assert "cannot be opened" in started("round")


def test_a_newer_database_is_refused_and_stays_as_it_is(
    started: Callable[[object], str], tmp_path: Path
) -> None:
    path = tmp_path / "t.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
        connection.execute("CREATE TABLE of_tomorrow (x)")
    before = path.read_bytes()
    assert f"schema version {SCHEMA_VERSION + 1}" in started(path)
    assert path.read_bytes() == before


async def test_the_schema_version_is_written(used: Path) -> None:
    with closing(sqlite3.connect(used)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)


def test_a_locked_database_is_refused(started: Callable[[object], str], tmp_path: Path) -> None:
    with foreign_lock(tmp_path / "t.db"):
        assert "Wait until the other program" in started("t.db")


def test_a_database_that_has_too_much_to_do_is_refused_in_whole_sentences(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as refused, usable(tmp_path / "t.db"):
        raise StorageUnavailable("storage_busy")
    assert "Try again in a moment. Wait until the other program" in str(refused.value)


@pytest.mark.parametrize("pages", ["schema", "all but the first", "the claims"])
async def test_a_database_with_garbage_in_it_is_refused(used: Path, pages: str) -> None:
    with closing(sqlite3.connect(used)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'claims'"
        ).fetchone()
    data = used.read_bytes()  # noqa: ASYNC240
    first, last = {
        "schema": (100, PAGE_BYTES),
        "all but the first": (PAGE_BYTES, len(data)),
        "the claims": ((root - 1) * PAGE_BYTES, root * PAGE_BYTES),
    }[pages]
    used.write_bytes(data[:first] + b"\xa5" * (last - first) + data[last:])  # noqa: ASYNC240
    assert f"{used} cannot be used as a database: database disk image is malformed" in (
        await refused_process(used)
    )


@contextmanager
def _another_name(database: Path, kind: str) -> Iterator[Path]:
    folder = database.with_name("elsewhere")
    folder.mkdir()
    name = folder / "other.db"
    match kind:
        case "the same name":
            name = database
        case "a hard link":
            name.hardlink_to(database)
        case "a symbolic link":
            name.symlink_to(database)
        case "a way round":
            name = folder / ".." / database.name
    yield name


@pytest.mark.parametrize("kind", ["the same name", "a hard link", "a symbolic link", "a way round"])
async def test_a_second_server_is_refused_by_whatever_name_it_knows_the_database(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "t.db"
    async with serving(settings(path)) as client:
        await client.turn({"thread_id": "t1", "message": "Hello"})
        for beside in tmp_path.glob("*.lock"):  # noqa: ASYNC240
            beside.unlink()
        with _another_name(path, kind) as name:
            assert "in use by another turnstream process" in await refused_process(name)
        _, events = await client.turn({"thread_id": "t1", "message": "Again"})
        assert events[-1].data == "[DONE]"


async def test_a_server_that_has_ended_leaves_no_lock_and_no_file_beside_the_database(
    tmp_path: Path,
) -> None:
    for _ in range(2):
        async with open_checkpointer(tmp_path / "t.db"):
            pass
        assert [file.name for file in tmp_path.iterdir()] == ["t.db"]  # noqa: ASYNC240


async def test_another_program_can_read_and_write_the_database_while_it_is_served(
    tmp_path: Path,
) -> None:
    """The server's lock is not one of SQLite's."""
    script = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('CREATE TABLE mine (x)');"
        "c.commit(); print(c.execute('SELECT count(*) FROM threads').fetchone()[0])"
    )
    async with serving(settings(tmp_path / "t.db")) as client:
        await client.turn({"thread_id": "t1", "message": "Hello"})
        said = subprocess.run(  # noqa: ASYNC221  nothing else is to happen meanwhile
            [sys.executable, "-c", script, str(tmp_path / "t.db")],
            capture_output=True,
            text=True,
            check=True,
        )
        assert said.stdout == "1\n"
        await client.turn({"thread_id": "t1", "message": "Again"})
        assert (await client.http.get("/health")).json()["status"] == "ok"
