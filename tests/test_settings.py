"""Settings and the start: what keeps the server from starting is one clear line."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from graphs.limits import Limits
from server.__main__ import StartError, listen, main, read_settings
from server.settings import Settings
from server.storage import open_saver
from tests.serving import PROJECT


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of this machine: no variables, another folder, the offline model."""
    for name in list(os.environ):
        if name.startswith(("TURNSTREAM_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


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


def refused(*arguments: str) -> str:
    with pytest.raises(StartError) as error:
        read_settings(arguments)
    return str(error.value)


def test_the_defaults_need_no_key_and_no_argument() -> None:
    settings = read_settings([])
    assert settings.model_name == "offline"
    assert (settings.host, settings.port) == ("127.0.0.1", 8000)
    assert settings.database == Path("turnstream.db")


def test_the_limits_of_the_graph_are_the_settings() -> None:
    given = read_settings(
        ["--max-steps", "2", "--tool-timeout-seconds", "0.5", "--max-result-chars", "99"]
    ).limits
    assert (given.max_steps, given.tool_timeout_seconds, given.max_result_chars) == (2, 0.5, 99)
    assert read_settings([]).limits == Limits(), "the defaults are stated twice, and agree"


def test_an_option_beats_a_variable_and_a_variable_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TURNSTREAM_MAX_STEPS", "5")
    assert read_settings([]).max_steps == 5
    assert read_settings(["--max-steps", "6"]).max_steps == 6
    monkeypatch.setenv("TURNSTREAM_MAX_STEPS", "")
    assert read_settings([]).max_steps == 12, "empty is as good as missing"


@pytest.mark.parametrize("by", ["option", "variable"])
def test_lists_are_written_with_commas(monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    if by == "variable":
        monkeypatch.setenv("TURNSTREAM_ALLOWED_ORIGINS", "https://a.example, https://b.example")
        settings = read_settings([])
    else:
        settings = read_settings(["--allowed-origins", "https://a.example, https://b.example"])
    assert settings.allowed_origins == ("https://a.example", "https://b.example")


@pytest.mark.parametrize(
    ("variables", "model"),
    [
        ({}, "offline"),
        ({"OPENAI_API_KEY": "k"}, "gpt-4.1-mini"),
        ({"OPENAI_API_KEY": "k", "TURNSTREAM_MODEL": "gpt-x"}, "gpt-x"),
        ({"OPENAI_API_KEY": "k", "TURNSTREAM_MODEL": "offline"}, "offline"),
        ({"OPENAI_BASE_URL": "http://localhost:1", "TURNSTREAM_MODEL": "llama"}, "llama"),
    ],
)
def test_the_model_is_chosen_by_key_and_name(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], model: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert read_settings([]).model_name == model


def test_a_base_url_without_a_model_asks_for_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1")
    assert "TURNSTREAM_MODEL" in refused()


def test_a_model_without_key_or_address_asks_for_one() -> None:
    said = refused("--model", "gpt-x")
    assert "'gpt-x'" in said
    assert "OPENAI_API_KEY" in said


def test_the_system_prompt_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("Be a pirate.\n")
    settings = read_settings(["--system-prompt", f"@{tmp_path / 'prompt.txt'}"])
    assert settings.system_prompt == "Be a pirate."
    missing = refused("--system-prompt", "@missing.txt")
    assert "TURNSTREAM_SYSTEM_PROMPT" in missing
    assert "'missing.txt'" in missing


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("PORT", "99999", "65535"),
        ("PORT", "-1", "greater than or equal to 0"),
        ("PORT", "http", "integer"),
        ("MAX_STEPS", "0", "greater than 0"),
        ("MAX_RUN_SECONDS", "soon", "number"),
        ("TOOL_TIMEOUT_SECONDS", "-1", "greater than 0"),
        ("PING_SECONDS", "60", "15"),
        ("OFFLINE_WORD_SECONDS", "-0.1", "greater than or equal to 0"),
        ("MAX_BODY_BYTES", "1e6", "integer"),
        ("MAX_HISTORY_TOKENS", "none", "integer"),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, allowed: str
) -> None:
    monkeypatch.setenv(f"TURNSTREAM_{name}", value)
    said = refused()
    assert f"TURNSTREAM_{name} cannot be {value!r}" in said
    assert allowed in said


def test_all_bad_values_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNSTREAM_MAX_STEPS", "0")
    said = refused("--port", "x")
    assert "TURNSTREAM_MAX_STEPS" in said
    assert "TURNSTREAM_PORT" in said


def test_help_lists_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    assert left.value.code == 0
    said = capsys.readouterr().out
    for name, field in Settings.model_fields.items():
        assert f"--{name.replace('_', '-')} " in said
        assert field.description, name
    assert said.startswith("usage: python -m server ")


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
            *(sys.executable, "-m", "server", "--port", "0", "--database", str(database)),
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


def test_a_folder_without_rights_is_one_line(locked_folder: Path) -> None:
    assert "Permission denied" in refused_as_a_plain_user(locked_folder / "t.db")


def test_a_database_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "t.db").touch(0o400)
    assert "readonly" in refused_as_a_plain_user(tmp_path / "t.db")


async def test_a_second_server_on_the_same_file_is_kept_out(tmp_path: Path) -> None:
    async with open_saver(tmp_path / "t.db"):
        done = subprocess.run(  # noqa: ASYNC221  nothing else is to happen meanwhile
            [sys.executable, "-m", "server", "--port", "0", "--database", str(tmp_path / "t.db")],
            cwd=PROJECT,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("turnstream: ")
    assert "in use by another turnstream process" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_process_that_cannot_start_ends(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Not a database, but dear to me. " * 9)
    done = subprocess.run(
        [sys.executable, "-m", "server", "--port", "0", "--database", str(tmp_path / "notes.txt")],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
