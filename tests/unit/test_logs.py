"""The log's lines: no content of anybody's, and nobody forges one."""

import io
import itertools
import json
import logging
import sqlite3
import sys
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import httpx2
import openai
import psycopg
import pytest
from langchain_openai.chat_models.base import OpenAIRateLimitError
from pydantic import BaseModel
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from tests.support.foreign_lock import foreign_lock
from turnstream.server.extensions.built_in import ServerSettings as Settings
from turnstream.server.extensions.workers.postgres.faults import faults_named
from turnstream.server.logs.exceptions import MAX_FRAMES, MAX_LINKS, describe
from turnstream.server.logs.formats import FORMATS, JsonFormat, LogFormat, TextFormat, worker_named
from turnstream.server.logs.messages import Event, escape
from turnstream.server.logs.setup import StderrHandler
from turnstream.server.storage.store import open_store
from turnstream.server.storage.unavailable import StorageUnavailable
from turnstream.server.turns.header import ThreadKey

SECRET = "hunter2-planted"
FORGED = "\nERROR: forged"
NO_KEYS: dict[str, str] = {}
HOSTILE = "a\r\nERROR: forged\x1b[2J\x7f\x85\u2028\u2029\u202e\u2066\ud800b"


class SqlState(psycopg.Error):
    """An error that Postgres has named; its text is a secret."""

    def __init__(self, state: str) -> None:
        super().__init__(SECRET)
        self.sqlstate = state


def record(
    text: object,
    *args: Any,
    logger: str = "turnstream.server.runs.run",
    error: BaseException | None = None,
    path: str = __file__,
) -> logging.LogRecord:
    told = (type(error), error, error.__traceback__) if error else None
    given = (*args,) if args else None
    return logging.LogRecord(logger, logging.ERROR, path, 1, text, given, told)


def raised(fail: Callable[[], object]) -> BaseException:
    """What a function raises, with its traceback."""
    try:
        fail()
    except BaseException as error:  # noqa: BLE001  any kind is wanted
        return error
    raise AssertionError("nothing was raised")


def both(given: logging.LogRecord) -> str:
    """What either format makes of a record."""
    return TextFormat().format(given) + JsonFormat().format(given)


# lines


def test_what_steers_a_terminal_or_ends_a_line_is_written_out() -> None:
    assert escape(HOSTILE) == (r"a\r\nERROR: forged\x1b[2J\x7f\x85\u2028\u2029\u202e\u2066\ud800b")
    assert escape("Zürich, 東京 ✓") == "Zürich, 東京 ✓"


@pytest.mark.parametrize("named", [True, False], ids=["named value", "value by position"])
def test_a_value_cannot_begin_a_line(named: bool) -> None:
    given = (
        record("thread %(thread)s", {"thread": HOSTILE}) if named else record("thread %s", HOSTILE)
    )
    assert TextFormat().format(given) == f"ERROR: thread {escape(HOSTILE)}"
    assert_one_clean_line(JsonFormat().format(given))


@pytest.mark.parametrize(
    "logger", ["turnstream.server.http.problem_handlers", "uvicorn.error", HOSTILE]
)
@pytest.mark.parametrize("format", FORMATS.values(), ids=FORMATS)
def test_a_whole_message_cannot_begin_a_line(logger: str, format: type[logging.Formatter]) -> None:
    assert_one_clean_line(format().format(record(HOSTILE, logger=logger)))


def test_a_type_a_function_and_a_file_cannot_begin_a_line() -> None:
    scope: dict[str, Any] = {"__name__": HOSTILE}
    exec(compile("class E(Exception): pass\ndef fail(): raise E", f"{HOSTILE}.py", "exec"), scope)
    error = raised(scope["fail"])
    lines = TextFormat().format(record("failed", error=error)).split("\n")
    assert lines[0] == "ERROR: failed"
    assert all(line.startswith("  ") and line.isprintable() for line in lines[1:])
    assert_one_clean_line(JsonFormat().format(record("failed", error=error)))


def assert_one_clean_line(line: str) -> None:
    assert line.isprintable(), line
    assert "forged" not in line or "\\nERROR" in line


# messages


def test_a_library_is_quoted_without_its_values() -> None:
    given = record("Error in %s callback: %-5.2f of %(x)d%%", SECRET, logger="langchain_core")
    assert TextFormat().format(given) == "ERROR: Error in ... callback: ... of ...%"
    assert SECRET not in both(given)


def test_a_message_that_a_library_has_put_together_is_withheld() -> None:
    given = record(f"refused: {SECRET}", logger="httpx")
    assert "withheld (line 1 of test_logs)" in TextFormat().format(given)
    assert SECRET not in both(given)


def test_uvicorn_is_quoted_with_its_values_unless_it_has_put_the_text_together() -> None:
    given = record("running on %s\n", f"a{FORGED}", logger="uvicorn.error")
    assert TextFormat().format(given) == f"ERROR: running on a{escape(FORGED)}"
    assert "withheld" in both(record(f"Traceback: {SECRET}", logger="uvicorn.error"))
    trace = record("headers %s", SECRET, logger="uvicorn.asgi")
    trace.levelno = 5
    assert SECRET not in both(trace)
    url = record(f"running on {escape(FORGED)}", logger="uvicorn.error")
    url.levelno = logging.INFO
    assert "withheld" not in both(url)


def test_a_message_of_a_library_without_source_is_withheld() -> None:
    assert "withheld" in TextFormat().format(record("Hello.", logger="x", path="gone.py"))


def test_a_message_of_ours_is_written_out_but_an_exception_says_its_type_alone() -> None:
    error = KeyError(SECRET)
    assert TextFormat().format(record("run %s: %s", "r1", error)) == "ERROR: run r1: KeyError"
    assert SECRET not in both(record("run: %(error)s", {"error": error}))


def test_a_message_whose_values_do_not_fit_is_logged_without_them() -> None:
    given = record("run %d of %d", SECRET)
    assert TextFormat().format(given) == "ERROR: run ... of ..."
    assert SECRET not in both(given)


def test_an_event_is_one_object_as_text_and_fields_as_json() -> None:
    given = record(Event("run ended", {"run": "r1", "ended": {"reason": "stopped"}, "level": 3}))
    written = TextFormat().format(given).removeprefix("ERROR: ")
    assert json.loads(written) == {"run": "r1", "ended": {"reason": "stopped"}, "level": 3}
    line = json.loads(JsonFormat().format(given))
    assert (line["message"], line["run"], line["ended"]) == (
        "run ended",
        "r1",
        {"reason": "stopped"},
    )
    assert line["level"] == "ERROR", "a field does not take the place of what is always there"


def test_a_json_line_has_the_named_values_and_the_error() -> None:
    given = record(
        "tool %(tool)s failed, error %(error_id)s",
        {"tool": "clock", "error_id": "e1"},
        error=raised(lambda: NO_KEYS[SECRET]),
    )
    given.created = 0
    line = json.loads(JsonFormat().format(given))
    [frame, inner] = line.pop("exception").pop("frames")
    assert line == {
        "time": "1970-01-01T00:00:00.000+00:00",
        "level": "ERROR",
        "logger": "turnstream.server.runs.run",
        "message": "tool clock failed, error e1",
        "tool": "clock",
    }
    assert frame.endswith(" in raised")
    assert inner.endswith(".<locals>.<lambda>")
    assert json.loads(JsonFormat().format(given))["exception"]["error_id"] == "e1"


# exceptions


def test_an_exception_is_its_type_and_places_and_not_its_text() -> None:
    error = raised(lambda: int(SECRET))
    error.add_note(SECRET)
    lines = TextFormat().format(record("failed", error=error)).splitlines()
    assert lines[1] == "  ValueError"
    assert lines[-1].startswith("    at tests/unit/test_logs.py:")
    assert SECRET not in both(record("failed", error=error))


def fail_in_a_chain() -> None:
    try:
        try:
            raise KeyError(SECRET)
        except KeyError:
            raise OSError(28, SECRET) from None
    except OSError as error:
        try:
            raise RuntimeError(SECRET) from error
        except RuntimeError:
            raise ValueError(SECRET)  # noqa: B904  an implicit cause


def test_a_chain_is_followed_as_python_follows_it() -> None:
    error = raised(fail_in_a_chain)
    described = describe(error)
    assert described["type"] == "ValueError"
    assert described["cause"]["type"] == "RuntimeError"
    assert (described["cause"]["cause"]["type"], described["cause"]["cause"]["errno"]) == (
        "OSError",
        "ENOSPC",
    )
    assert "cause" not in described["cause"]["cause"], "`from None` cuts it"
    assert SECRET not in both(record("failed", error=error))
    text = TextFormat().format(record("failed", error=error))
    assert [line for line in text.splitlines() if "at " not in line] == [
        "ERROR: failed",
        "  ValueError",
        "  caused by:",
        "  RuntimeError",
        "  caused by:",
        "  OSError (errno ENOSPC)",
    ]


def test_a_group_shows_its_members() -> None:
    group = ExceptionGroup(SECRET, [ValueError(SECRET), ExceptionGroup("x", [KeyError(SECRET)])])
    described = describe(group)
    first, inner = described["exceptions"]
    assert (first["type"], inner["exceptions"][0]["type"]) == ("ValueError", "KeyError")
    assert SECRET not in both(record("failed", error=group))


def test_a_circle_and_an_endless_chain_come_to_an_end() -> None:
    one, other = ValueError(SECRET), KeyError(SECRET)
    one.__cause__, other.__cause__ = other, one
    assert "cause" not in describe(one)["cause"]
    chain = [ValueError() for _ in range(5_000)]
    for outer, inner in itertools.pairwise(chain):
        outer.__cause__ = inner
    assert str(describe(chain[0])).count("ValueError") == MAX_LINKS
    many = ExceptionGroup("", [ValueError() for _ in range(500)])
    assert str(describe(many)).count("ValueError") < MAX_LINKS


def test_of_endless_recursion_the_innermost_calls_are_kept() -> None:
    def down() -> None:
        down()

    described = describe(raised(down))
    assert described["type"] == "RecursionError"
    assert len(described["frames"]) == MAX_FRAMES
    assert described["frames_omitted"] > 100
    assert "more calls" in TextFormat().format(record("failed", error=raised(down)))


def status_error(
    kind: type[openai.APIStatusError], code: str | None, status: int = 429
) -> openai.APIStatusError:
    """As the client makes it: body, request and response at hand."""
    request = httpx2.Request("POST", f"http://m/{SECRET}", headers={"Authorization": SECRET})
    response = httpx2.Response(status, request=request, json={"error": {"message": SECRET}})
    return kind(SECRET, response=response, body={"message": SECRET, "code": code, "param": SECRET})


@pytest.mark.parametrize("kind", [openai.RateLimitError, OpenAIRateLimitError])
def test_a_providers_error_is_its_status_and_code(kind: type[openai.APIStatusError]) -> None:
    error = status_error(kind, "rate_limit_exceeded")
    described = describe(error)
    assert (described["status"], described["code"]) == (429, "rate_limit_exceeded")
    written = both(record("failed", error=error))
    assert "(status 429, code rate_limit_exceeded)" in written
    assert SECRET not in written


def test_a_providers_code_that_is_more_than_a_word_is_left_out() -> None:
    assert "code" not in describe(status_error(openai.RateLimitError, f"{SECRET} {SECRET}"))


def test_a_refused_exit_is_no_providers_code() -> None:
    assert describe(SystemExit("hunter2")) == {"type": "SystemExit", "frames": []}


def test_an_http_error_is_its_status() -> None:
    response = httpx.Response(418, text=SECRET, request=httpx.Request("GET", f"http://x/{SECRET}"))
    error = raised(response.raise_for_status)
    assert describe(error)["status"] == 418
    assert SECRET not in both(record("failed", error=error))


def test_a_property_that_fails_does_not_break_the_log() -> None:
    class Nasty(Exception):
        @property
        def status_code(self) -> int:
            raise RuntimeError(SECRET)

        def __str__(self) -> str:
            raise RuntimeError(SECRET)

    assert describe(Nasty())["type"].endswith("Nasty")


def test_a_validation_error_shows_no_input() -> None:
    class Person(BaseModel):
        age: int

    error = raised(lambda: Person.model_validate({"age": SECRET, SECRET: 1}))
    assert SECRET in str(error), "what Python would print"
    written = both(record("failed", error=error))
    assert SECRET not in written
    assert "ValidationError" in written


def test_a_database_error_shows_no_parameters() -> None:
    def fail() -> None:
        with create_engine("sqlite://").connect() as connection:
            connection.execute(text("SELECT :x FROM nothing"), {"x": SECRET})

    error = raised(fail)
    assert SECRET in str(error), "what Python would print"
    assert describe(error)["cause"]["sqlite"] == "SQLITE_ERROR"
    assert SECRET not in both(record("failed", error=error))


def test_a_database_that_is_locked_says_so() -> None:
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorname = "SQLITE_BUSY"
    assert "sqlite3.OperationalError (sqlite SQLITE_BUSY)" in both(record("failed", error=error))


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        (SqlState("55P03"), "storage_busy postgres 55P03"),
        (SqlState("57P01"), "storage_unreachable postgres 57P01"),
        (SqlState("42P05"), "storage_failed postgres 42P05"),
        (psycopg.OperationalError(SECRET), "storage_unreachable postgres"),
    ],
)
def test_a_fault_of_postgres_is_its_code_and_sqlstate(cause: psycopg.Error, said: str) -> None:
    def fail() -> None:
        with faults_named():
            raise cause

    error = raised(fail)
    assert TextFormat().format(record("no: %s", error)) == f"ERROR: no: {said}"
    described = describe(error)
    assert described["storage"] == said
    assert described["cause"].get("sqlstate") == cause.sqlstate
    assert SECRET not in both(record("%(error)s", {"error": error}, error=error))


async def test_a_fault_of_sqlite_is_its_code_and_name(tmp_path: Path) -> None:
    async with open_store(tmp_path / "t.db", 300) as store:
        with foreign_lock(tmp_path / "t.db"), pytest.raises(StorageUnavailable) as busy:
            await store.create(ThreadKey("local", "t1"))
    assert both(record("%s", busy.value)).count("storage_busy sqlite") == 2


def test_each_line_names_the_worker_as_the_database_does() -> None:
    with worker_named("ab12"):
        assert TextFormat().format(record("Hello.")) == "ERROR [ab12]: Hello."
        assert json.loads(JsonFormat().format(record("Hello.")))["worker"] == "ab12"
    assert TextFormat().format(record("Hello.")) == "ERROR: Hello."


def test_bad_settings_do_not_show_the_key() -> None:
    """Short, since pydantic cuts what it quotes."""
    bad = {"openai_api_key": "k3y", "openai_base_url": ""}
    error = raised(lambda: Settings.model_validate(bad | {"openai_base_url": "h"}))
    assert "TURNSTREAM_MODEL" in str(error)
    assert "k3y" not in str(error)
    assert "k3y" not in repr(Settings.model_validate(bad | {"model": "offline"}))


async def test_the_stores_own_errors_hold_no_parameters(tmp_path: Path) -> None:
    """Also for a log that is not ours."""
    key = ThreadKey("local", "t1")
    async with open_store(tmp_path / "t.db", 100) as store:
        with closing(sqlite3.connect(tmp_path / "t.db", isolation_level=None)) as database:
            database.execute("ALTER TABLE threads RENAME TO elsewhere")
        with pytest.raises(OperationalError) as refused:
            await store.rename(key, SECRET)
    assert SECRET not in str(refused.value)


# stderr


def written(handler: logging.Handler, given: logging.LogRecord) -> str:
    before, sys.stderr = sys.stderr, io.StringIO()
    try:
        handler.handle(given)
        return sys.stderr.getvalue()
    finally:
        sys.stderr = before


@pytest.mark.parametrize("log_format", FORMATS)
def test_a_record_that_cannot_be_formatted_shows_nothing_and_raises_nothing(
    log_format: LogFormat,
) -> None:
    class Nasty:
        def __str__(self) -> str:
            raise RuntimeError(SECRET)

    handler = StderrHandler()
    handler.setFormatter(FORMATS[log_format]())
    said = written(handler, record("%(value)s", {"value": Nasty()}))
    assert "a record of the log could not be formatted" in said
    assert SECRET not in said
    assert said.count("\n") == 1


def test_a_closed_stderr_ends_nothing() -> None:
    handler = StderrHandler()
    before, sys.stderr = sys.stderr, io.StringIO()
    try:
        sys.stderr.close()
        handler.handle(record("Hello."))
    finally:
        sys.stderr = before


def test_a_warning_is_its_type_and_place(monkeypatch: pytest.MonkeyPatch) -> None:
    from turnstream.server.logs import setup

    shown: list[logging.LogRecord] = []
    monkeypatch.setattr(setup.logger, "handle", shown.append)
    with warnings.catch_warnings():
        setup_warning = setup._warning
        monkeypatch.setattr(warnings, "showwarning", setup_warning)
        warnings.simplefilter("always")
        warnings.warn(f"Expected str, {SECRET}", UserWarning, stacklevel=1)
    [said] = map(both, shown)
    assert "UserWarning at " in said
    assert SECRET not in said
