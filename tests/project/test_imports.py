"""What is not used is not imported: it would cost each start its time, and its memory."""

import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.serving import PROJECT

STORE_OF_GRAPHS = ("langgraph.store.sqlite", "sqlite_vec")
CLIENTS_OF_MODELS = ("openai", "langchain_openai", "tiktoken")
OF_EXTRAS = (
    *("anthropic", "langchain_anthropic", "google.genai", "langchain_google_genai", "ollama"),
    *("mcp", "mcp_types"),
    "prometheus_client",
    *("redis", "hiredis"),
    *("psycopg", "psycopg_pool", "langgraph.checkpoint.postgres", "sqlalchemy.dialects.postgresql"),
)


SERVING = """
import asyncio, sys
from turnstream.server.app import create

async def serve():
    app = create()
    async with app.router.lifespan_context(app):
        print(*sys.modules)

asyncio.run(serve())
"""
"""The server as it is with the settings of its environment alone."""
OPENAPI = "turnstream.server.extensions.openapi"
TURN = """
import sys
from starlette.testclient import TestClient
from turnstream.server.app import create_app
from turnstream.server.settings import Settings

app = create_app(Settings(model="offline"))
with TestClient(app, base_url="http://127.0.0.1:8000") as client:
    assert "[DONE]" in client.post("/chat", json={"message": "What is 6 * 7?"}).text
print(*sys.modules)
"""


IN_TURN = (
    "launch",
    "storage.graph_store",
    "extensions.users.quotas",
    "extensions.workers.redis.opening",
)
"""Modules of the server that one process imports one after the other."""


@cache
def imported_with() -> dict[str, frozenset[str]]:
    """All that is imported once each of `IN_TURN` is."""
    names = [f"turnstream.server.{name}" for name in IN_TURN]
    script = "import sys\n" + "".join(f"import {name}; print(*sys.modules)\n" for name in names)
    said = subprocess.check_output([sys.executable, "-c", script], text=True).splitlines()
    return {name: frozenset(line.split()) for name, line in zip(IN_TURN, said, strict=True)}


@cache
def imported_by(module: str) -> frozenset[str]:
    script = f"import sys, {module}; print(*sys.modules)"
    return frozenset(subprocess.check_output([sys.executable, "-c", script], text=True).split())


@cache
def imported_by_serving(**environment: str) -> frozenset[str]:
    command, path = [sys.executable, "-c", SERVING], {"PYTHONPATH": str(PROJECT)}
    named = {"TURNSTREAM_DATABASE": "t.db", "TURNSTREAM_MODEL": "offline"}
    given = path | named | environment
    with TemporaryDirectory() as folder:
        said = subprocess.check_output(command, text=True, cwd=folder, env=given)
    return frozenset(said.split())


def serving_little() -> frozenset[str]:
    off = dict.fromkeys(("OPENAPI", "SEARCH", "VERSIONS"), "false")
    settings = {**off, "UNDO_SECONDS": "0", "FEEDBACK": "true"}
    return imported_by_serving(**{f"TURNSTREAM_{name}": each for name, each in settings.items()})


def test_the_store_of_graphs_is_imported_when_a_graph_gets_one() -> None:
    assert imported_with()["launch"].isdisjoint(STORE_OF_GRAPHS)
    assert imported_with()["storage.graph_store"].issuperset(STORE_OF_GRAPHS)


def test_the_server_imports_no_client_of_a_model_until_one_is_named() -> None:
    assert imported_with()["launch"].isdisjoint((*CLIENTS_OF_MODELS, *OF_EXTRAS))
    assert imported_by("turnstream.graphs.openai_model").issuperset(CLIENTS_OF_MODELS)
    assert imported_by("turnstream.graphs.openai_model").isdisjoint(OF_EXTRAS)


@pytest.mark.full
def test_a_client_of_a_provider_comes_with_its_module() -> None:
    assert "langchain_anthropic" in imported_by("turnstream.graphs.providers.anthropic")


def test_what_the_server_does_not_serve_with_is_not_imported_when_it_serves() -> None:
    serving = imported_by_serving()
    assert "turnstream.server.storage.store" in serving
    unused = (*STORE_OF_GRAPHS, *CLIENTS_OF_MODELS, *OF_EXTRAS, "limits", "pint", "numpy")
    assert serving.isdisjoint(unused)


def test_the_library_of_limits_is_imported_when_a_policy_has_some() -> None:
    assert "limits" not in imported_with()["storage.graph_store"]
    assert "limits" in imported_with()["extensions.users.quotas"]


def test_the_openapi_document_is_made_when_a_client_asks_for_it() -> None:
    for serving, modules in ((imported_by_serving(), {"endpoint"}), (serving_little(), set())):
        of_document = {name for name in serving if name.startswith(f"{OPENAPI}.")}
        assert of_document == {f"{OPENAPI}.{name}" for name in modules}
        schemas = {name for name in serving if name.endswith("schemas")}
        assert not {name for name in schemas if name.startswith("turnstream.server.formats")}


def test_of_an_extension_that_is_off_its_settings_and_tables_alone_are_imported() -> None:
    prefix = "turnstream.server.extensions."
    serving = serving_little()
    modules = {name.removeprefix(prefix) for name in serving if name.startswith(prefix)}
    inside = {
        name for name in modules if name.startswith(("search.", "undo.", "users.", "versions."))
    }
    assert inside == {"search.tables", "users.tables", "versions.tables"}


def test_nothing_that_forwards_feedback_is_imported_until_a_service_is_named() -> None:
    feedback = "turnstream.server.extensions.feedback"
    assert f"{feedback}.given" in serving_little()
    unused = ("forwarding", "services", "links", "traced")
    assert serving_little().isdisjoint(f"{feedback}.{name}" for name in unused)


def test_what_several_workers_share_is_imported_when_it_is_set() -> None:
    assert not {name for name in imported_with()["launch"] if "extensions.workers.redis" in name}
    assert "redis" not in imported_with()["extensions.users.quotas"]
    assert "redis" in imported_with()["extensions.workers.redis.opening"]


def test_nothing_of_ours_has_a_name_at_the_top_that_a_users_module_may_have(
    tmp_path: Path,
) -> None:
    for place in (tmp_path, PROJECT):
        command = [sys.executable, "-P", "-c", TURN]
        environment = {"TURNSTREAM_DATABASE": str(tmp_path / "t.db")}
        said = subprocess.check_output(command, text=True, cwd=place, env=environment)
        imported = {*said.split()}
        assert "turnstream.tools.calculator" in imported
        assert imported.isdisjoint(("server", "graphs", "tools", "static"))
