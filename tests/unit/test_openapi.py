"""The OpenAPI document against the code that it is of, both ways; and docs/http.md."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
from openapi_spec_validator import validate

from tests.support.documented import EVERYTHING, SUBJECT, documented
from tests.support.serving import PROJECT
from turnstream.graphs.rights import NEEDS_APPROVAL, NOT_ALLOWED
from turnstream.server.http.openapi import problems
from turnstream.server.http.openapi.document import OPERATIONS, document, endpoints
from turnstream.server.http.openapi.problems import Source, together
from turnstream.server.http.routes import ROUTES
from turnstream.server.http.tools import STATUSES
from turnstream.server.protocols import BODY_FORMATS, WIRE_FORMATS
from turnstream.server.protocols.schemas import AT_OWN_ADDRESSES, BODIES, MESSAGES
from turnstream.server.storage.interfaces import StorageFault

Pairs = set[tuple[int, str]]

SOURCES = [source for source in vars(problems).values() if isinstance(source, Source)]
COMPUTED: dict[str, Pairs] = {
    "turnstream.server.http.tools": {
        *((403, refusal.code) for refusal in (NOT_ALLOWED, NEEDS_APPROVAL)),
        *((status, code) for code, status in STATUSES.items()),
        (500, "tool_failed"),
    },
    "turnstream.server.http.problem_handlers": {(404, "not_found"), (405, "method_not_allowed")},
    "turnstream.server.storage.interfaces": {(503, code) for code in get_args(StorageFault)},
}
"""Of modules that raise codes which they do not spell out."""
CALLS = ("Calls", "LangGraph SDK")
"""The sections of docs/http.md that have calls."""
OTHER_WORDS = {
    *("limit", "value", "login", "id", "run_id", "stream_url", "stop_url", "allowed_tools"),
}
"""Of the table of problems in docs/http.md, that are no codes."""


def source_of(module: str) -> Path:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin)


def raised_in(module: str) -> Pairs:
    """The statuses and codes that a module spells out, and those that it computes."""
    tree = ast.parse(source_of(module).read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {pair for call in calls for pair in _raised_by(call)} | COMPUTED.get(module, set())


def _raised_by(call: ast.Call) -> Iterator[tuple[int, str]]:
    name = getattr(call.func, "id", None) or getattr(call.func, "attr", "")
    values: list[Any] = [a.value if isinstance(a, ast.Constant) else None for a in call.args]
    if name == "limit_reached":
        yield 503, "limit_reached"
    elif name == "Problem" and isinstance(values[0], int) and isinstance(values[1], str):
        yield values[0], values[1]
    elif name in ("Fault", "Otherwise", "OneOf") and isinstance(values[0], str):
        yield 422, values[0]
    elif name == "InvalidRequest" and isinstance(values[0], str):
        named = [k.value.value for k in call.keywords if isinstance(k.value, ast.Constant)]
        yield (*values[2:], *named, 422)[0], values[0]


def pairs(sources: list[Source]) -> Pairs:
    return {(status, code) for status, codes in together(sources).items() for code in codes}


def modules_that_raise() -> Iterator[str]:
    for path in (PROJECT / "server").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if re.search(r"\b(?:Problem|InvalidRequest|Fault|Otherwise|OneOf)\(\s*[\"\d]", text):
            parts = ("turnstream", *path.relative_to(PROJECT).with_suffix("").parts)
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_the_document_is_valid() -> None:
    validate(EVERYTHING)


def test_every_route_is_described_and_nothing_else() -> None:
    served = {(method, path) for method, path, _ in endpoints(ROUTES)}
    assert served == set(OPERATIONS)


def test_operations_have_names_of_their_own() -> None:
    ids = [operation.id for _, operation in OPERATIONS.values()]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("place", OPERATIONS, ids=" ".join)
def test_every_operation_has_examples_of_its_body(place: tuple[str, str]) -> None:
    _, operation = OPERATIONS[place]
    assert operation.examples
    for name, example in operation.examples.items():
        assert (example.body is not None) == (operation.body is not None), name
        if example.body is not None and example.status < 400 and operation.body is not None:
            schema = {**operation.body, "components": EVERYTHING["components"]}
            jsonschema.validate(example.body, schema)


@pytest.mark.parametrize("modules", sorted({source.modules for source in SOURCES}))
def test_a_source_has_the_codes_that_its_modules_raise(modules: tuple[str, ...]) -> None:
    told = pairs([source for source in SOURCES if source.modules == modules])
    raised = {pair for module in modules for pair in raised_in(module)}
    # A code that several sources have to themselves is one that the module shares with the others.
    if modules == ("turnstream.server.protocols",):
        assert told <= raised
    else:
        assert told == raised


def test_every_module_that_raises_a_problem_is_a_source() -> None:
    named = {module for source in SOURCES for module in source.modules}
    assert set(modules_that_raise()) <= named


def test_every_code_is_that_of_an_operation() -> None:
    of_operations = {
        code
        for paths in EVERYTHING["paths"].values()
        for operation in paths.values()
        for answer in operation["responses"].values()
        for code in documented(answer)
    }
    every = {code for _, code in pairs(SOURCES)}
    assert every - of_operations == {"method_not_allowed", "not_found"}


def test_the_reference_for_people_has_the_same_codes() -> None:
    text = (PROJECT / "docs" / "http.md").read_text(encoding="utf-8")
    table = text.split("## Problems")[1].split("## Limits")[0]
    told: Pairs = set()
    for statuses, cell in re.findall(r"^\| ([\d, ]+) \| (.+) \|$", table, re.MULTILINE):
        codes = set(re.findall(r"`([a-z]+(?:_[a-z]+)*)`", cell)) - OTHER_WORDS
        told |= {(int(status), code) for status in statuses.split(", ") for code in codes}
    every = pairs(SOURCES)
    assert {code for _, code in told} == {code for _, code in every}
    assert every <= told


def test_the_reference_for_people_has_the_same_calls() -> None:
    text = (PROJECT / "docs" / "http.md").read_text(encoding="utf-8")
    tables = [text.split(f"## {name}\n")[1].split("\n## ")[0] for name in CALLS]
    calls = re.findall(r"`(GET|POST|PATCH|PUT|DELETE) (/[^`?]*)", "".join(tables))
    calls = [(method, path) for method, path in calls if not path.endswith("...")]
    told = {(method, re.sub(r"\{[^}]*\}", "{}", path)) for method, path in calls}
    assert told == {(method, re.sub(r"\{[^}]*\}", "{}", path)) for method, path in OPERATIONS}


def folder(function: Callable[..., Any]) -> str:
    return function.__module__.rpartition(".")[0]


def test_every_format_has_its_schemas() -> None:
    of_chat, others = (
        [f.parse.__module__ for f in BODY_FORMATS if bool(f.address) == has_address]
        for has_address in (False, True)
    )
    assert [folder(schemas.bodies) for schemas in BODIES] == of_chat
    assert {*others} <= {folder(schemas.bodies) for schemas in AT_OWN_ADDRESSES}
    assert MESSAGES.keys() == WIRE_FORMATS.keys()


def test_without_authentication_there_is_nothing_of_it() -> None:
    off = document(ROUTES, replace(SUBJECT, schemes=()))
    assert "securitySchemes" not in off["components"]
    for paths in off["paths"].values():
        for operation in paths.values():
            assert operation["security"] == []
    assert "401" not in off["paths"]["/threads"]["get"]["responses"]


def test_the_words_of_a_search_may_be_of_any_script() -> None:
    parameters = EVERYTHING["paths"]["/threads"]["get"]["parameters"]
    (q,) = [parameter for parameter in parameters if parameter["name"] == "q"]
    jsonschema.Draft202012Validator(q["schema"]).validate("\u6771\u4eac")
