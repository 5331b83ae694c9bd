"""The watch over the files that a server has open."""

import logging
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.databases import open_command_store, open_storage
from turnstream.server.storage.checkpointer import open_checkpointer
from turnstream.server.storage.database_file import DatabaseFile
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.tools.solar import visits


@pytest.fixture
def path(tmp_path: Path) -> Path:
    for name in ("t.db", "t.db-wal", "t.db-shm"):
        (tmp_path / name).touch()
    return tmp_path / "t.db"


def test_what_is_gone_is_said_once_and_so_is_its_return(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = DatabaseFile(path, look_every_seconds=0)
    aside = path.rename(path.with_name("aside"))
    with caplog.at_level(logging.INFO, "turnstream.server.storage.database_file"):
        assert [file.gone for _ in range(3)] == [True] * 3
        with pytest.raises(StorageUnavailable):
            file.require()
        aside.rename(path)
        assert [file.gone for _ in range(3)] == [False] * 3
        file.require()
    assert [record.levelname for record in caplog.records] == ["ERROR", "INFO"]


def test_a_file_of_the_same_name_is_another_file(path: Path) -> None:
    file = DatabaseFile(path, look_every_seconds=0)
    path.rename(path.with_name("aside"))
    path.touch()
    assert file.gone


def test_a_database_behind_a_link_is_watched_where_it_is(path: Path) -> None:
    link = path.with_name("link.db")
    link.symlink_to(path)
    file = DatabaseFile(link, look_every_seconds=0)
    assert not file.gone
    path.with_name("t.db-wal").unlink()
    assert file.gone


def test_the_files_are_looked_at_once_in_a_while(path: Path) -> None:
    file = DatabaseFile(path, look_every_seconds=3600)
    assert not file.gone
    path.unlink()
    assert not file.gone


# Who can read the files


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    return {each.name: oct(stat.S_IMODE(each.stat().st_mode)) for each in folder.iterdir()}


PRIVATE = dict.fromkeys(("t.db", "t.db-wal", "t.db-shm"), "0o600")


@pytest.mark.usefixtures("umask")
async def test_the_files_of_a_new_database_are_the_servers_own(tmp_path: Path) -> None:
    async with open_storage(tmp_path / "t.db"):
        assert modes(tmp_path) == PRIVATE
    assert modes(tmp_path) == {"t.db": "0o600"}


@pytest.mark.usefixtures("umask")
async def test_a_command_that_comes_before_the_server_makes_the_same_files(tmp_path: Path) -> None:
    async with open_command_store(tmp_path / "t.db"):
        made = modes(tmp_path)
        assert "t.db" in made
        assert {*made.values()} == {"0o600"}


async def test_a_database_behind_a_link_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "t.db")
    async with open_checkpointer(tmp_path / "link.db"):
        assert modes(tmp_path)["t.db"] == "0o600"


@pytest.mark.parametrize(("mode", "is_named"), [(0o644, True), (0o604, True), (0o640, False)])
async def test_a_database_keeps_its_mode_and_one_that_all_can_read_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, is_named: bool
) -> None:
    path = tmp_path / "t.db"
    with closing(sqlite3.connect(path)):
        path.chmod(mode)
        async with open_storage(path):
            assert {*modes(tmp_path).values()} == {oct(mode)}
    assert (f"chmod 600 {path}" in caplog.text) is is_named


def test_the_visits_of_the_demo_are_their_owners_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(visits.FILE_VARIABLE, str(tmp_path / "v.db"))
    visits.cancel_visit(1)
    assert modes(tmp_path)["v.db"] == "0o600"
