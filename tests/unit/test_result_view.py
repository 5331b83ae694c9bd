"""What clients see of a result of a foreign tool: what it declares, as JSON."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import BaseModel, field_serializer

from turnstream.graphs.answers import answer, client_view, failed
from turnstream.graphs.client_fields import declared, how_to_declare, table_of
from turnstream.graphs.faults import GraphError
from turnstream.graphs.result_view import DeclaredResults
from turnstream.tools.contract import CatalogueError, client_fields

HIDDEN = {"hidden": True}
FAILED = {"error": {"code": "tool_error", "message": "The tool failed."}}
VIEW = DeclaredResults({"search": ("title", "rows"), "all": ("*",), "none": ()}, max_bytes=1000)
SHOWN = DeclaredResults({}, "show")
SERIALIZER = JsonPlusSerializer()
FOUND = '{"title": "Tides", "secret": 7}'


@dataclass
class Row:
    id: int


class Priced(BaseModel):
    """Is written in another way as JSON than in Python, which is how a thread keeps it."""

    price: int

    @field_serializer("price", when_used="json")
    def _in_cents(self, price: int) -> int:
        return price * 100


def message(content: Any, name: str | None = "search", **fields: Any) -> ToolMessage:
    return ToolMessage(content, tool_call_id="c1", name=name, **fields)


def seen(message: ToolMessage, view: DeclaredResults = VIEW, tool: str = "") -> Any:
    """What clients see of a message, which is the same when the message comes from the thread."""
    result = view(message, tool)
    json.dumps(result, allow_nan=False)
    assert view(SERIALIZER.loads_typed(SERIALIZER.dumps_typed(message)), tool) == result
    return result


@pytest.mark.parametrize("status", ["success", "error"])
def test_of_a_tool_that_declares_nothing_nothing_is_seen(status: Any) -> None:
    result = seen(message(FOUND, "other", status=status, artifact={"title": "Tides"}))
    assert result == (HIDDEN if status == "success" else FAILED)


def test_of_an_object_the_declared_fields_are_seen() -> None:
    assert seen(message(FOUND)) == {"title": "Tides"}
    assert seen(message(FOUND, "all")) == {"title": "Tides", "secret": 7}
    assert seen(message(FOUND, "none")) == {}


@pytest.mark.parametrize("content", ["Tides: 7", '["Tides"]', "7", ""])
def test_what_is_not_an_object_is_seen_only_if_all_is_declared(content: str) -> None:
    assert seen(message(content)) == HIDDEN
    assert seen(message(content, "none")) == HIDDEN
    expected = {"": HIDDEN, "7": 7, '["Tides"]': ["Tides"]}.get(content, content)
    assert seen(message(content, "all")) == ("" if content == "" else expected)


def test_text_blocks_are_read_as_one_text() -> None:
    half, rest = FOUND[:9], {"type": "text", "text": FOUND[9:]}
    assert seen(message([half, rest])) == {"title": "Tides"}


def test_other_blocks_are_seen_only_if_all_is_declared() -> None:
    blocks = [{"type": "text", "text": FOUND}, {"type": "image", "base64": "AAAA"}]
    assert seen(message(blocks)) == HIDDEN
    assert seen(message(blocks, "all")) == blocks


def test_a_message_without_a_name_is_that_of_its_call() -> None:
    assert seen(message(FOUND, None), tool="search") == {"title": "Tides"}
    assert seen(message(FOUND, None), tool="other") == HIDDEN


def test_declared_fields_of_an_artifact_come_last() -> None:
    artifact = {"title": "Ebb", "rows": [1], "raw": "secret"}
    assert seen(message(FOUND, artifact=artifact)) == {"title": "Ebb", "rows": [1]}
    assert seen(message("Found one.", artifact={"rows": [1]})) == {"rows": [1]}
    assert seen(message("Found one.", "all", artifact={"rows": [1]})) == {
        "content": "Found one.",
        "rows": [1],
    }


@pytest.mark.parametrize("artifact", [[Document("secret")], "secret", b"secret"])
def test_an_artifact_that_is_not_an_object_is_not_seen(artifact: Any) -> None:
    assert seen(message("Found one.", "all", artifact=artifact)) == "Found one."
    assert seen(message(FOUND, artifact=artifact)) == {"title": "Tides"}


@pytest.mark.parametrize("artifact", [Row(7), Document("Tides", metadata={})])
def test_an_artifact_that_the_thread_keeps_as_an_object_is_one(artifact: Any) -> None:
    assert seen(message(FOUND, artifact=artifact)) == {"title": "Tides"}
    fields = seen(message("Found one.", "all", artifact=artifact))
    assert {"content", "id"} <= fields.keys()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Row(7), {"id": 7}),
        (Priced(price=3), {"price": 3}),
        ([Row(7), (1, 2)], [{"id": 7}, [1, 2]]),
        (float("nan"), None),
        (b"text", "text"),
        (b"\xff", HIDDEN),
    ],
)
def test_what_json_has_no_word_for_is_written_as_the_thread_keeps_it_or_hidden(
    value: Any, expected: Any
) -> None:
    result = seen(message(FOUND, artifact={"rows": value}))
    assert result == {"title": "Tides", "rows": expected}


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_numbers_that_json_does_not_have_are_null(number: str) -> None:
    assert seen(message(f'{{"title": {number}}}')) == {"title": None}


def test_documents_of_an_artifact_that_is_declared_are_seen() -> None:
    result = seen(message("One.", artifact={"rows": [Document("Tides", metadata={"page": 2})]}))
    assert result["rows"][0]["page_content"] == "Tides"
    assert result["rows"][0]["metadata"] == {"page": 2}


class Stubborn(Mapping[str, Any]):
    def __getitem__(self, name: str) -> Any:
        raise OSError(name)

    def __iter__(self) -> Any:
        raise OSError

    def __len__(self) -> int:
        raise OSError


def cyclic() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [cyclic(), deep(150), deep(20_000), [0] * 300_000, object(), print, Stubborn()],
    ids=["cyclic", "deep", "very deep", "huge", "object", "function", "stubborn"],
)
def test_what_cannot_be_written_is_hidden_and_logged_once_a_tool(
    value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    view = DeclaredResults(VIEW.fields)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            shown = view(message(FOUND, artifact={"rows": value}), "")
            assert shown == {"title": "Tides", "rows": HIDDEN}
            assert view(message([{"type": "odd", "value": value}], "all"), "") == HIDDEN
    assert [record.getMessage().split(" is not")[0] for record in caplog.records] == [
        "a result of the tool search",
        "a result of the tool all",
    ]


def test_an_artifact_whose_own_code_fails_is_not_seen() -> None:
    assert VIEW(message(FOUND, artifact=Stubborn()), "") == {"title": "Tides"}


def test_text_that_stands_for_json_is_bounded_too() -> None:
    content = '{"title": ' + "[" * 150 + "]" * 150 + ', "more": "' + "x" * 1000 + '"}'
    assert seen(message(content, "all"))["bytes"] == len(content)


@pytest.mark.parametrize(
    "content",
    ['{"title": ' + "[" * 500 + "]" * 500 + "}", "[0" + ",0" * 300_000 + "]"],
    ids=["deep", "many values"],
)
def test_json_text_that_is_out_of_bounds_is_seen_as_text(content: str) -> None:
    assert seen(message(content, "all"), DeclaredResults({"all": ("*",)})) == content
    assert seen(message(content)) in (HIDDEN, {"title": HIDDEN})


def test_a_result_that_is_too_large_is_seen_as_its_size() -> None:
    size = {"truncated": True, "bytes": 1002, "max_bytes": 1000}
    assert seen(message(json.dumps("x" * 1000), "all")) == size
    assert seen(message("x" * 5_000_000, "all"))["bytes"] == 5_000_000
    assert seen(message("One.", artifact={"rows": ["x" * 1000]}))["truncated"]


def test_errors_have_fixed_words_unless_they_are_declared() -> None:
    error = message("Error: KeyError('secret')", status="error")
    assert seen(error) == FAILED
    words = {"error": {"code": "tool_error", "message": "Error: KeyError('secret')"}}
    assert seen(error, SHOWN) == words
    assert seen(error, DeclaredResults({"search": ("*",)})) == words
    assert seen(message(FOUND, status="error")) == {"title": "Tides"}
    assert seen(message('{"secret": 7}', status="error")) == FAILED


def test_undeclared_contents_can_be_shown_and_artifacts_cannot() -> None:
    assert seen(message("Tides: 7", artifact={"raw": 1}), SHOWN) == "Tides: 7"
    assert seen(message(FOUND), SHOWN) == {"title": "Tides", "secret": 7}


def test_what_turnstream_wrote_is_seen_as_it_is() -> None:
    call: Any = {"name": "other", "args": {}, "id": "c1", "type": "tool_call"}
    for own in (
        answer(call, "{}", "result", artifact={"raw": 1}),
        failed(call, "cancelled", "The run was stopped.", end="cancelled"),
        answer(call, '{"value": "red"}', "result"),
    ):
        assert seen(own) == client_view(own)
    assert seen(message("x", id="tool-mine")) == HIDDEN


def test_a_plain_tool_declares_its_fields_and_a_table_takes_precedence() -> None:
    @client_fields("title")
    @tool
    def search(query: str) -> str:
        """Search."""
        return query

    search.metadata = {**(search.metadata or {}), "other": 1}
    tools = {"search": client_fields("title", "url")(search)}
    assert search.metadata["other"] == 1
    assert declared(tools, {}) == {"search": ("title", "url")}
    assert declared(tools, {"search": ("rows",)}) == {"search": ("rows",)}


def test_only_a_tool_can_declare_fields() -> None:
    with pytest.raises(CatalogueError, match="above @tool"):
        client_fields("title")(len)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (["search"], "its CLIENT_FIELDS is a list; write a dict"),
        ({"search": "title"}, r"CLIENT_FIELDS\[\"search\"\] is 'title'; write a list"),
        ({"search": [1]}, r"CLIENT_FIELDS\[\"search\"\] is \[1\]; write a list"),
        ({1: ["title"]}, "its CLIENT_FIELDS has the key 1; write the name of a tool"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(table: Any, sentence: str) -> None:
    class Module:
        CLIENT_FIELDS = table

    with pytest.raises(GraphError, match=sentence):
        table_of(Module)


def test_the_sentence_names_the_tools_and_what_to_do() -> None:
    sentence = how_to_declare({"search", "book"})
    assert "the results of book, search: " in sentence
    assert 'CLIENT_FIELDS = {"book": ["a field"]}' in sentence
    assert "TURNSTREAM_UNDECLARED_RESULTS=show" in sentence
    assert " and 80 more: " in how_to_declare({f"tool_{n}" for n in range(100)})
