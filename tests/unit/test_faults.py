"""What SQLite's errors mean."""

import sqlite3

import pytest
from sqlalchemy.exc import DBAPIError

from turnstream.server.runs.failures import SENTENCES, failure
from turnstream.server.storage.faults import fault, faults_named
from turnstream.server.storage.interfaces import STORAGE_FAULTS, StorageUnavailable


def error(code: int) -> sqlite3.OperationalError:
    made = sqlite3.OperationalError("words of SQLite")
    made.sqlite_errorcode = code
    return made


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (sqlite3.SQLITE_BUSY, "storage_busy"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, "storage_busy"),
        (sqlite3.SQLITE_FULL, "storage_full"),
        (sqlite3.SQLITE_IOERR_WRITE, "storage_failed"),
        (sqlite3.SQLITE_CORRUPT, "storage_failed"),
        (sqlite3.SQLITE_CONSTRAINT_UNIQUE, None),
        (sqlite3.SQLITE_ERROR, None),
    ],
)
def test_a_fault_of_the_database_has_a_name_and_a_mistake_of_ours_has_none(
    code: int, name: str | None
) -> None:
    assert fault(error(code)) == name
    assert fault(DBAPIError("SELECT 1", {}, error(code))) == name


def test_an_error_without_a_code_has_no_name() -> None:
    assert fault(sqlite3.ProgrammingError("Cannot operate on a closed database.")) is None
    assert fault(ValueError("anything")) is None


def test_a_fault_says_what_to_do_and_keeps_the_cause_for_the_log() -> None:
    with pytest.raises(StorageUnavailable) as raised, faults_named():
        raise error(sqlite3.SQLITE_FULL)
    assert raised.value.message == STORAGE_FAULTS["storage_full"]
    assert "words of SQLite" not in raised.value.message
    assert "words of SQLite" in str(raised.value)


def test_a_mistake_of_ours_is_raised_as_it_is() -> None:
    mistake = error(sqlite3.SQLITE_ERROR)
    with pytest.raises(sqlite3.OperationalError) as raised, faults_named():
        raise mistake
    assert raised.value is mistake


@pytest.mark.parametrize("code", STORAGE_FAULTS)
def test_a_run_that_fails_by_a_fault_says_which(code: str) -> None:
    failed = failure(StorageUnavailable(code, "words of SQLite"), "id")  # type: ignore[arg-type]
    assert (failed.code, failed.message) == (code, SENTENCES[code])
