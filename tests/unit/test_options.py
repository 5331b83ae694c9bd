"""The help of the command, and the page of settings, say what the settings are."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.settings_page import SEE, made, of_page
from turnstream import __version__
from turnstream.server.__main__ import main
from turnstream.server.extensions.built_in import BUILT_IN, ServerSettings
from turnstream.server.extensions.loading import ADMINISTRATION
from turnstream.server.help_text import HELP
from turnstream.server.options import GROUPS, Option, grouped

OPTIONS = {each.option: each for _, options in grouped(ServerSettings) for each in options}
EXTENSION = """
from pydantic_settings import BaseSettings
from turnstream.server.extensions.base import EXTENSION_API, Extension

class Section(BaseSettings):
    notes_colour: str = "green"

class Notes(Extension):
    name, api, settings = "notes", EXTENSION_API, Section
"""


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_every_setting_is_in_one_group() -> None:
    names = [name for group in GROUPS.values() for name in group]
    assert sorted(names) == sorted(ServerSettings.model_fields)


def test_the_page_of_settings_is_made_from_the_code() -> None:
    assert of_page() == made(), "python -m tests.support.settings_page makes it anew"
    assert {*SEE} <= {*ServerSettings.model_fields}


def test_the_short_help_fits_a_screen_and_has_the_options_of_the_code() -> None:
    lines = HELP.splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 90
    shown = re.findall(r"^  (--.+?)(?:  |$)", HELP, re.MULTILINE)
    assert len(shown) > 15
    for each in shown:
        assert re.sub(r" +(\S+).*", r" \1", each) in OPTIONS, each
    of_extensions = [name for each in BUILT_IN for name in (*each.commands, *each.administration)]
    for each in (*ADMINISTRATION, *of_extensions):
        assert each in HELP.splitlines()[2]


def test_the_defaults_in_the_short_help_are_those_of_the_code() -> None:
    entries = re.split(r"\n(?=  --|\S)", HELP)
    for entry in entries:
        named = re.match(r"  (--\S+(?: (?! )\S+)?)", entry)
        default = re.search(r"\(([^() ]+)\)$", entry)
        if named and default:
            assert default[1] == OPTIONS[named[1]].default, entry


@pytest.mark.parametrize(
    "arguments", [["--help"], ["-h"], ["./agent.py:graph", "--help"], ["--port", "1", "-h"]]
)
def test_help_is_the_short_one(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, *arguments) == HELP


def test_the_whole_help_has_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "--help", "all")
    for option in OPTIONS.values():
        shown = option.variable if option.name == "openai_api_key" else f"  {option.option}\n"
        assert shown in text
        assert option.meaning, option.name


def test_the_whole_help_has_the_settings_of_ones_own_extensions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.py").write_text(EXTENSION)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNSTREAM_EXTENSIONS", "notes.py:Notes")
    assert "Extensions:\n  --notes-colour TEXT" in said(capsys, "--help", "all")


def test_a_command_has_its_own_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["keys", "--help"])
    assert left.value.code == 0
    assert capsys.readouterr().out.startswith("usage: turnstream keys")


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "--version") == f"turnstream {__version__}\n"


def test_help_and_version_import_nothing_of_the_server() -> None:
    script = (
        "import sys; from turnstream.server.__main__ import main; main(['--help']); "
        "main(['--version']); sys.stderr.write(' '.join(sys.modules))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    ours = {name for name in ended.stderr.split() if name.startswith("turnstream")}
    assert ours == {
        *("turnstream", "turnstream.server", "turnstream.server.__main__"),
        "turnstream.server.help_text",
    }
    assert not {"pydantic", "starlette", "langgraph"} & {*ended.stderr.split()}


def test_a_type_has_its_bounds() -> None:
    fields = ServerSettings.model_fields
    types = {name: Option(name, field).type for name, field in fields.items()}
    assert types["port"] == "int, 0 to 65535"
    assert types["max_steps"] == "int, 1 or more"
    assert types["ping_seconds"] == "float, above 0, at most 15"
    assert types["thread_retention_days"] == "float, above 0"
    assert types["auth"] == "list of str"
    assert types["think_tags"] == "reasoning or text"
