"""The start of the server: what keeps it from starting is one clear line."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.environment import isolate
from tests.support.forked_server import refused_start
from tests.support.serving import COMMAND, PROJECT
from turnstream.server.__main__ import main
from turnstream.server.launch import listen
from turnstream.server.storage.checkpointer import open_checkpointer


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)


@pytest.fixture
def started(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Start the server, which cannot start: its one line."""

    def start(*arguments: str) -> str:
        assert main(["--port", "0", *arguments]) == 2
        said = capsys.readouterr().err
        assert said.startswith("turnstream: ")
        assert said.count("\n") == 1
        assert "Traceback" not in said
        return said

    return start


def test_an_option_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--modle", "offline"])
    assert left.value.code == 2
    assert "--modle" in capsys.readouterr().err


def test_a_bad_setting_is_one_line(started: Callable[..., str]) -> None:
    assert "TURNSTREAM_MAX_STEPS cannot be '0'" in started("--max-steps", "0")


def test_a_port_in_use_is_one_line_that_says_how_to_choose_another(
    started: Callable[..., str],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = started("--port", str(port))
    assert f"127.0.0.1:{port}" in said
    assert "TURNSTREAM_PORT" in said


def test_port_0_is_a_free_one() -> None:
    with listen("127.0.0.1", 0) as listener:
        assert listener.getsockname()[1] > 0


def test_a_host_that_is_none_is_one_line(started: Callable[..., str]) -> None:
    assert "256.0.0.1" in started("--host", "256.0.0.1")


def test_a_database_in_a_missing_folder_is_one_line(started: Callable[..., str]) -> None:
    said = started("--database", "missing/t.db")
    assert "missing/t.db" in said
    assert "TURNSTREAM_DATABASE" in said


def test_a_folder_as_database_is_one_line(started: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert "cannot be used as a database" in started("--database", "folder")


def test_a_file_that_is_no_database_is_one_line_and_stays_as_it_is(
    started: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("Not a database, but dear to me. " * 9)
    assert "not a database" in started("--database", "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "Not a database, but dear to me. " * 9


@pytest.fixture
def locked_folder(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o500)
    yield folder
    folder.chmod(0o700)


def refused_as_a_plain_user(database: Path) -> str:
    """Start the server without root's right to ignore rights: its one line."""
    without_rights = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    done = subprocess.run(
        [
            *(without_rights if os.geteuid() == 0 else []),
            *(sys.executable, *COMMAND, "--database", str(database)),
        ],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith("turnstream: ")
    return done.stderr


@pytest.mark.full
def test_a_folder_without_rights_is_one_line(locked_folder: Path) -> None:
    assert "Permission denied" in refused_as_a_plain_user(locked_folder / "t.db")


def test_a_database_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "t.db").touch(0o400)
    assert "readonly" in refused_as_a_plain_user(tmp_path / "t.db")


async def test_a_second_server_on_the_same_file_is_kept_out(tmp_path: Path) -> None:
    async with open_checkpointer(tmp_path / "t.db"):
        said = await refused_start(tmp_path / "t.db")
    assert said.startswith("turnstream: ")
    assert "in use by another turnstream process" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("former", [("server",), ("uvicorn", "server.app:create", "--factory")])
def test_in_a_clone_a_former_name_is_answered_with_the_name_of_today(
    former: tuple[str, ...],
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *former], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "the package is turnstream.server: run `turnstream`" in done.stderr


def test_a_process_that_cannot_start_ends(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Not a database, but dear to me. " * 9)
    done = subprocess.run(
        [sys.executable, *COMMAND, "--database", str(tmp_path / "notes.txt")],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize(
    ("arguments", "variable"),
    [
        (("--openai-api-key", "sk-123456"), "OPENAI_API_KEY"),
        (("--openai-api-key=sk-123456",), "OPENAI_API_KEY"),
        (("--openai-ap", "sk-123456"), "OPENAI_API_KEY"),
        (("--redis", "redis://:sk-123456@localhost"), "TURNSTREAM_REDIS"),
        (("--database=postgresql://ann:sk-123456@localhost/t",), "TURNSTREAM_DATABASE"),
    ],
)
def test_a_secret_on_the_command_line_is_refused_with_its_variable(
    started: Callable[..., str], arguments: tuple[str, ...], variable: str
) -> None:
    said = started(*arguments)
    assert f"as {variable}." in said
    assert "sk-123456" not in said
