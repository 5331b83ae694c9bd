"""The catalogue: what tools it has, and what it refuses."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from langchain_core.tools import BaseTool, StructuredTool, tool

from tests.support.serving import PROJECT
from turnstream.tools.builtin import CATALOGUE
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.components import further_components
from turnstream.tools.contract import CatalogueError, ResultLookup, UITool, real_tool
from turnstream.tools.ui import with_components


@real_tool(client_fields=["total"])
def roll(count: int) -> dict[str, Any]:
    """Roll dice.

    Args:
        count: How many dice.
    """
    return {"total": count}


def _accept(args: dict[str, Any], _results: ResultLookup) -> dict[str, Any]:
    return args


def a_ui_tool(name: str = "show", description: str = "Show it.") -> UITool:
    return UITool(name, description, {"type": "object", "properties": {}}, _accept)


def a_real_tool(name: str = "roll", description: str = "Roll dice.") -> BaseTool:
    return roll.model_copy(update={"name": name, "description": description})


def test_the_catalogue_has_the_tools() -> None:
    assert {"calculator", "multiply", "get_current_time", "convert_units"} <= set(
        CATALOGUE.real_by_name
    )
    assert set(CATALOGUE.ui_by_name) == {"render_ui_component", "request_user_selection"}


def test_a_tool_is_found_by_its_name() -> None:
    catalogue = Catalogue((roll,), (a_ui_tool(),))
    assert catalogue.real_by_name["roll"] is roll
    assert catalogue.ui_by_name["show"] is catalogue.ui[0]
    assert catalogue.real_by_name is catalogue.real_by_name


def test_every_tool_is_described_with_a_schema_of_its_arguments() -> None:
    described = CATALOGUE.describe()
    assert [entry["name"] for entry in described] == [
        *CATALOGUE.real_by_name,
        *CATALOGUE.ui_by_name,
    ]
    for entry in described:
        assert entry.keys() == {"name", "kind", "description", "parameters"}
        assert entry["description"]
        Draft202012Validator.check_schema(entry["parameters"])
        assert entry["parameters"]["type"] == "object"


def test_no_schema_has_at_its_top_what_providers_refuse() -> None:
    for entry in CATALOGUE.describe():
        assert not {"oneOf", "anyOf", "allOf", "if", "$ref"} & entry["parameters"].keys()


@pytest.mark.parametrize("folders", [[], [PROJECT / "tests" / "data" / "components"]])
def test_no_description_is_longer_than_providers_take(folders: list[Path]) -> None:
    for entry in with_components(CATALOGUE, further_components(folders)).describe():
        assert len(entry["description"]) <= 1024, entry["name"]


def test_every_argument_of_a_real_tool_is_described() -> None:
    for entry in CATALOGUE.describe():
        if entry["kind"] == "real":
            for argument in entry["parameters"]["properties"].values():
                assert argument["description"], entry["name"]


def test_a_description_is_in_the_order_real_then_ui() -> None:
    assert Catalogue((roll,), (a_ui_tool(),)).describe() == [
        {
            "name": "roll",
            "kind": "real",
            "description": "Roll dice.",
            "parameters": {
                "type": "object",
                "properties": {"count": {"type": "integer", "description": "How many dice."}},
                "required": ["count"],
            },
        },
        {
            "name": "show",
            "kind": "ui",
            "description": "Show it.",
            "parameters": {"type": "object", "properties": {}},
        },
    ]


def _twice_real() -> Catalogue:
    return Catalogue((roll, a_real_tool()), ())


def _twice_ui() -> Catalogue:
    return Catalogue((), (a_ui_tool(), a_ui_tool()))


def _across() -> Catalogue:
    return Catalogue((roll,), (a_ui_tool("roll"),))


@pytest.mark.parametrize("clash", [_twice_real, _twice_ui, _across])
def test_a_name_is_unique_among_real_and_ui_tools(clash: Callable[[], Catalogue]) -> None:
    with pytest.raises(CatalogueError, match=r"Two tools are named '\w+'.* Rename one of them"):
        clash()


def test_a_clash_names_both_definitions() -> None:
    with pytest.raises(CatalogueError) as refused:
        _across()
    assert f"{roll_line()} and {__name__}._accept, line " in str(refused.value)


def roll_line() -> str:
    assert isinstance(roll, StructuredTool)
    assert roll.coroutine is not None
    line = inspect.unwrap(roll.coroutine).__code__.co_firstlineno
    return f"{__name__}.roll, line {line}"


@pytest.mark.parametrize("name", ["", "a b", "naïve", "a.b", "x" * 65, "roll\n"])
def test_a_name_that_no_provider_takes_is_refused(name: str) -> None:
    for catalogue in (((a_real_tool(name),), ()), ((), (a_ui_tool(name),))):
        with pytest.raises(CatalogueError, match="use 1 to 64 ASCII letters"):
            Catalogue(*catalogue)


@pytest.mark.parametrize("name", ["a", "A-b_9", "x" * 64])
def test_a_name_that_providers_take_is_accepted(name: str) -> None:
    assert name in Catalogue((a_real_tool(name),), ()).real_by_name


@pytest.mark.parametrize("description", ["", "  \n"])
def test_a_tool_without_a_description_is_refused(description: str) -> None:
    for catalogue in (
        ((a_real_tool(description=description),), ()),
        ((), (a_ui_tool(description=description),)),
    ):
        with pytest.raises(CatalogueError, match="has no description"):
            Catalogue(*catalogue)


def test_a_plain_langchain_tool_is_refused_with_the_way_to_mend_it() -> None:
    @tool
    def plain(count: int) -> int:
        """Count."""
        return count

    with pytest.raises(CatalogueError) as refused:
        Catalogue((plain,), ())
    sentence = str(refused.value)
    assert "'plain'" in sentence
    assert f"{__name__}.test_a_plain" in sentence
    assert '@real_tool(client_fields=["..."])' in sentence


def test_a_tool_that_shows_the_client_nothing_has_said_so_and_is_accepted() -> None:
    @real_tool(client_fields=[])
    def secret() -> dict[str, Any]:
        """Keep it."""
        return {"word": "xyzzy"}

    assert Catalogue((secret,), ()).real_by_name["secret"] is secret


def test_one_string_is_no_list_of_fields() -> None:
    with pytest.raises(CatalogueError, match=r'write \["total"\]'):
        real_tool(client_fields="total")


def test_a_bare_function_is_refused() -> None:
    stray: Any = _accept
    with pytest.raises(CatalogueError, match=r"REAL has .*decorate the function with @real_tool"):
        Catalogue((stray,), ())
    with pytest.raises(CatalogueError, match=r"UI has .*make it a UITool"):
        Catalogue((), (stray,))
