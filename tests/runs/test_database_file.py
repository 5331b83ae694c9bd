"""The watch over the files that a server has open."""

import logging
from pathlib import Path

import pytest

from server.storage.database_file import DatabaseFile
from server.storage.interfaces import StorageUnavailable


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
    with caplog.at_level(logging.INFO, "server.storage.database_file"):
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
