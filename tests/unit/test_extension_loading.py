"""Which extensions there are, and why one keeps the server from starting."""

from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import Field, model_validator
from pydantic_settings import BaseSettings

from turnstream.server.extensions.base import (
    EXTENSION_API,
    Extension,
    ExtensionError,
    ThreadVersions,
)
from turnstream.server.extensions.built_in import BUILT_IN, ServerSettings
from turnstream.server.extensions.loading import (
    declared,
    engine_of,
    named,
    search_of,
    settings_with,
    switched_on,
)
from turnstream.server.extensions.search import SearchExtension, SearchSettings
from turnstream.server.extensions.versions import VersionsExtension, VersionsSettings
from turnstream.server.runs.hooks import RunHooks
from turnstream.server.settings import Settings
from turnstream.server.storage.search import Search
from turnstream.server.turns.header import ThreadKey


class ToySettings(BaseSettings):
    toy_word: str = Field("none", description="a word")


class Toy(Extension):
    name = "toy"
    api = EXTENSION_API
    settings: ClassVar[type[BaseSettings]] = ToySettings

    @staticmethod
    def is_on(settings: Any) -> bool:
        return bool(settings.toy_word != "off")


def written(folder: Path, source: str) -> str:
    (folder / "toys.py").write_text(source)
    return f"{folder / 'toys.py'}:Toy"


HEAD = "from turnstream.server.extensions.base import *\nfrom sqlalchemy import MetaData, Table\n"


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("1 / 0", "cannot be loaded"),
        ("", "cannot be loaded"),
        ("Toy = 1", "is not a class"),
        ("class Toy(Extension): name = 'toy'", "update the one or the other"),
        ("class Toy(Extension): name, api = 'toy', 2", "version 2 of the door"),
        ("class Toy(Extension): api = 1", "has the name None"),
        ("class Toy(Extension): name, api = 'Toy!', 1", "lower-case"),
        (
            "class Toy(Extension): name, api = 'metrics', 1",
            "'metrics' of an extension is taken",
        ),
        (
            "m = MetaData()\nTable('threads', m)\n"
            "class Toy(Extension): name, api, tables = 'toy', 1, m",
            "its tables begin with toy_",
        ),
        (
            "m = MetaData()\nTable('threads', m)\n"
            "class Toy(Extension): name, api, tables = 'threads', 1, m",
            "the table 'threads' of an extension is taken",
        ),
        (
            "class Toy(Extension): name, api, commands = 'toy', 1, {'keys': print}",
            "the command 'keys' of an extension is taken",
        ),
    ],
)
def test_an_extension_that_does_not_fit_is_refused_with_a_way_out(
    tmp_path: Path, source: str, sentence: str
) -> None:
    with pytest.raises(ExtensionError, match=sentence):
        declared([written(tmp_path, HEAD + source)])


def test_an_extension_of_a_file_is_declared_beside_ours(tmp_path: Path) -> None:
    name = written(tmp_path, HEAD + "class Toy(Extension): name, api = 'toy', 1")
    *ours, toy = declared([name])
    assert tuple(ours) == BUILT_IN
    assert toy.name == "toy"


def test_an_extension_that_is_named_twice_is_one(tmp_path: Path) -> None:
    name = written(tmp_path, HEAD + "class Toy(Extension): name, api = 'toy', 1")
    assert len(declared([name, name])) == len(BUILT_IN) + 1


def test_a_section_is_read_from_its_own_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNSTREAM_TOY_WORD", "hello")
    read = settings_with([Toy]).model_validate({})
    assert getattr(read, "toy_word", None) == "hello"
    assert isinstance(read, ServerSettings)


def test_what_the_settings_switch_off_is_not_made() -> None:
    kind = settings_with([Toy])
    assert [each.name for each in switched_on([Toy], kind.model_validate({}))] == ["toy"]
    assert switched_on([Toy], kind.model_validate({"toy_word": "off"})) == ()


def test_settings_of_the_core_alone_name_no_database_that_an_extension_opens() -> None:
    settings = Settings.model_validate({"database": "postgresql://host/name"})
    with pytest.raises(ExtensionError, match=r"make them with .*ServerSettings"):
        engine_of(BUILT_IN, settings)


def test_a_setting_of_another_name_is_refused() -> None:
    class Other(BaseSettings):
        word: str = ""

    class Odd(Toy):
        settings = Other

    with pytest.raises(ExtensionError, match="its settings begin with toy_"):
        settings_with([Odd])


def test_a_validator_that_would_replace_one_of_the_server_is_refused() -> None:
    class Other(BaseSettings):
        toy_word: str = ""

        @model_validator(mode="after")
        def _check(self) -> "Other":
            return self

    class Odd(Toy):
        settings = Other

    with pytest.raises(ExtensionError, match="begin it with toy_"):
        settings_with([Odd])


def test_extensions_are_named_by_the_environment_or_the_command_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert named(["./agent.py:graph", "--port", "1", "--help"]) == ()
    monkeypatch.setenv("TURNSTREAM_EXTENSIONS", "a:B, c:D")
    assert named() == ("a:B", "c:D")
    assert named(["./agent.py:graph", "--extensions=e:F", "--port=1"]) == ("e:F",)


def test_one_extension_may_search_the_list_of_threads() -> None:
    class Other(Extension):
        name, api = "other", EXTENSION_API

        def search(self, text: str) -> Search:
            raise ValueError(text)

    ours = SearchExtension(SearchSettings.model_validate({}))
    assert search_of([]) is None
    assert search_of([ours]) == ours.search
    with pytest.raises(ExtensionError, match="search and other all search"):
        search_of([ours, Other(None)])


def test_one_extension_may_keep_the_versions_of_messages() -> None:
    class Other(Extension):
        name, api = "other", EXTENSION_API

        async def versions(self, key: ThreadKey) -> ThreadVersions:
            raise ValueError(key)

    ours = VersionsExtension(VersionsSettings.model_validate({}))
    assert RunHooks([ours]).versions == ours.versions
    with pytest.raises(ExtensionError, match="other and versions all keep"):
        RunHooks([ours, Other(None)])
