"""The OpenAPI document against the code that it is of, both ways; and docs/http.md."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
from openapi_spec_validator import validate

from tests.support import problem_table
from tests.support.documented import EVERYTHING, SUBJECT, documented
from tests.support.examples import EXAMPLES, OPERATIONS, body_of
from tests.support.routes import ROUTES
from tests.support.serving import PROJECT
from turnstream.graphs.rights import NEEDS_APPROVAL, NOT_ALLOWED
from turnstream.server.extensions.openapi.document import document, endpoints
from turnstream.server.formats import WIRE_FORMATS
from turnstream.server.http.thread_listing import PAGE_PROBLEMS
from turnstream.server.http.tools import STATUSES
from turnstream.server.storage.interfaces import StorageFault
from turnstream.server.turns import problem_codes
from turnstream.server.turns.problem_codes import ALL, BODY_FIELDS, RUNS, STORAGE, Problems, pick
from turnstream.server.turns.requests import MAX_CLIENT_TOOLS

Pairs = set[tuple[int, str]]

SERVER = PROJECT / "server"

COMPUTED: dict[str, Pairs] = {
    "http.tools": {
        *((403, refusal.code) for refusal in (NOT_ALLOWED, NEEDS_APPROVAL)),
        *((status, code) for code, status in STATUSES.items()),
        (500, "tool_failed"),
    },
    "http.problem_handlers": {
        *((404, "not_found"), (405, "method_not_allowed"), (401, "http_error")),
    },
    "storage.interfaces": {(503, code) for code in get_args(StorageFault)},
}
"""Of modules that raise codes which they do not spell out."""
RAISED: dict[str, Problems] = {
    "connections": problem_codes.CONNECTION,
    "http.guard": problem_codes.HOST | pick("origin_not_allowed"),
    "http.authenticated": problem_codes.CREDENTIALS,
    "extensions.users.recognition": pick("origin_required", "authentication_unavailable")
    | pick("unauthenticated"),
    "http.byte_budget": pick("limit_reached"),
    "http.bodies": problem_codes.BODY - pick("limit_reached"),
    "http.event_streams": pick("limit_reached"),
    "http.thread_listing": PAGE_PROBLEMS,
    "http.problems": pick("shutting_down", "thread_not_found", "limit_reached"),
    "http.problem_handlers": problem_codes.NO_OPERATION
    | pick("run_in_progress", "thread_changed", "forbidden", "limit_exceeded", "limit_reached")
    | pick("thread_still_busy", "internal_error", "guard_failed", "queue_full"),
    "formats": BODY_FIELDS,
    "formats.langgraph": problem_codes.LANGGRAPH_FIELDS | pick("unknown_checkpoint"),
    "runs": RUNS | pick("unsupported_option"),
    "storage": STORAGE,
    "turns": pick("unknown_message", "unknown_version"),
}
"""The problems that a module or a folder raises, but for the modules of endpoints."""
CALLS = ("Calls", "LangGraph SDK")
"""The sections of docs/http.md that have calls."""


def raised_in(path: Path) -> Pairs:
    """Return the statuses and codes that a module spells out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {pair for call in calls for pair in _raised_by(call)}


def _raised_by(call: ast.Call) -> Iterator[tuple[int, str]]:
    name = getattr(call.func, "id", None) or getattr(call.func, "attr", "")
    values: list[Any] = [a.value if isinstance(a, ast.Constant) else None for a in call.args]
    if name == "problem" and isinstance(values[0], str):
        yield from pairs(pick(values[0]))
    elif name == "limit_reached":
        yield 503, "limit_reached"
    elif name == "Problem" and isinstance(values[0], int) and isinstance(values[1], str):
        yield values[0], values[1]
    elif name in ("Fault", "Otherwise", "OneOf") and isinstance(values[0], str):
        yield 422, values[0]
    elif name == "InvalidRequest" and isinstance(values[0], str):
        named = [k.value.value for k in call.keywords if isinstance(k.value, ast.Constant)]
        yield (*values[2:], *named, 422)[0], values[0]


def pairs(problems: Problems) -> Pairs:
    return {(problem.status, problem.code) for problem in problems}


def name_of(path: Path) -> str:
    parts = path.relative_to(SERVER).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


RAISING = {
    name: raised
    for path in SERVER.rglob("*.py")
    for name in (name_of(path),)
    if (raised := raised_in(path) | COMPUTED.get(name, set()))
}
"""By the module."""
DECLARED: dict[str, Problems] = {}
"""By the module of the endpoint."""
for one in endpoints(ROUTES):
    module = one.handler.__module__.removeprefix("turnstream.server.")
    of_body = problem_codes.NO_PROBLEMS if one.operation.body is None else problem_codes.BODY
    DECLARED[module] = DECLARED.get(module, of_body) | one.operation.problems | of_body


def home(module: str) -> str:
    """Return the key of RAISED that a module belongs to; empty if there is none. A format's own
    endpoints declare their problems, as those of `http` do."""
    if ".api" in module:
        return ""
    homes = (name for name in RAISED if f"{module}.".startswith(f"{name}."))
    return max(homes, key=len, default="")


def test_the_document_is_valid() -> None:
    validate(EVERYTHING)


def test_bounds_of_numbers_are_named_as_json_schema_has_them() -> None:
    assert not re.search(r"'(ge|le|gt|lt)':", repr(EVERYTHING))


def test_every_route_is_described_and_nothing_else() -> None:
    assert {(one.method, one.route.path) for one in endpoints(ROUTES)} == set(OPERATIONS)
    for paths in EVERYTHING["paths"].values():
        assert all(operation["summary"] for operation in paths.values())


def test_operations_have_names_of_their_own() -> None:
    ids = [operation.id for operation in OPERATIONS.values()]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("place", OPERATIONS, ids=" ".join)
def test_every_operation_has_examples_of_its_body(place: tuple[str, str]) -> None:
    operation = OPERATIONS[place]
    assert EXAMPLES[place]
    assert operation.examples.keys() <= EXAMPLES[place].keys()
    described = EVERYTHING["paths"][place[1]][place[0].lower()]
    for name, example in EXAMPLES[place].items():
        body = body_of(place, name)
        assert (body is not None) == (operation.body is not None), name
        if body is not None and example.status < 400:
            schema = described["requestBody"]["content"]["application/json"]["schema"]
            jsonschema.validate(body, {**schema, "components": EVERYTHING["components"]})


def test_every_problem_that_is_raised_is_in_the_table_and_no_other() -> None:
    assert {pair for raised in RAISING.values() for pair in raised} == pairs(ALL)


@pytest.mark.parametrize("name", RAISED)
def test_a_group_has_the_codes_that_its_modules_raise(name: str) -> None:
    raised = {pair for module in RAISING if home(module) == name for pair in RAISING[module]}
    assert raised == pairs(RAISED[name])


@pytest.mark.parametrize("module", sorted(RAISING.keys() & DECLARED.keys()))
def test_an_endpoint_declares_the_codes_that_its_module_raises(module: str) -> None:
    assert RAISING[module] <= pairs(DECLARED[module])


def test_every_module_that_raises_a_problem_has_a_group_or_an_endpoint() -> None:
    """A helper that several endpoints share counts for each endpoint of its folder."""
    for module in {module for module in RAISING if not home(module)} - DECLARED.keys():
        folder, _, _ = module.rpartition(".")
        beside = [pairs(DECLARED[one]) for one in DECLARED if one.startswith(f"{folder}.")]
        assert RAISING[module] <= set[tuple[int, str]]().union(*beside), module


def test_every_code_is_that_of_an_operation() -> None:
    of_operations = {
        code
        for paths in EVERYTHING["paths"].values()
        for operation in paths.values()
        for answer in operation["responses"].values()
        for code in documented(answer)
    }
    every = {problem.code for problem in ALL}
    assert every - of_operations == {"method_not_allowed", "not_found", "http_error"}


def test_the_reference_for_people_has_the_table_of_problems() -> None:
    assert problem_table.of_reference() == problem_table.made(), (
        "make it anew: python -m tests.support.problem_table"
    )


def test_the_document_has_the_sentences_of_each_code() -> None:
    codes = EVERYTHING["components"]["schemas"]["Problem"]["properties"]["code"]["oneOf"]
    sentences = {code["const"]: code["description"] for code in codes}
    assert sentences.keys() == {problem.code for problem in ALL}
    for problem in ALL:
        assert problem.means in sentences[problem.code]
        assert problem.remedy in sentences[problem.code]


def test_the_reference_for_people_has_the_same_calls() -> None:
    text = (PROJECT / "docs" / "http.md").read_text(encoding="utf-8")
    tables = [text.split(f"## {name}\n")[1].split("\n## ")[0] for name in CALLS]
    calls = re.findall(r"`(GET|POST|PATCH|PUT|DELETE) (/[^`?]*)", "".join(tables))
    calls = [(method, path) for method, path in calls if not path.endswith("...")]
    told = {(method, re.sub(r"\{[^}]*\}", "{}", path)) for method, path in calls}
    assert told == {(method, re.sub(r"\{[^}]*\}", "{}", path)) for method, path in OPERATIONS}


def test_every_wire_format_has_the_schema_of_a_message() -> None:
    schemas = EVERYTHING["components"]["schemas"]
    assert {f"Message.{name}" for name in WIRE_FORMATS} <= schemas.keys()
    assert len(schemas["Message"]["anyOf"]) == len(WIRE_FORMATS)


def test_limits_of_the_schemas_are_those_of_the_code() -> None:
    schemas = EVERYTHING["components"]["schemas"]
    for body, key in (("MessageBody", "client_tools"), ("AgUi.MessagesBody", "tools")):
        assert schemas[body]["properties"][key]["anyOf"][0]["maxItems"] == MAX_CLIENT_TOOLS
    for body in ("CommandsBody", "SubmitBody"):
        tools = schemas[body]["properties"]["tools"]["anyOf"][0]
        assert (tools["maxProperties"], tools["additionalProperties"]) == (MAX_CLIENT_TOOLS, False)


def test_without_authentication_there_is_nothing_of_it() -> None:
    off = document(ROUTES, replace(SUBJECT, extensions=()))
    assert "securitySchemes" not in off["components"]
    for paths in off["paths"].values():
        for operation in paths.values():
            assert operation["security"] == []
    assert "401" not in off["paths"]["/threads"]["get"]["responses"]


def test_the_words_of_a_search_may_be_of_any_script() -> None:
    parameters = EVERYTHING["paths"]["/threads"]["get"]["parameters"]
    (q,) = [parameter for parameter in parameters if parameter["name"] == "q"]
    jsonschema.Draft202012Validator(q["schema"]).validate("\u6771\u4eac")
