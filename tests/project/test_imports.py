"""What is not used is not imported: it would cost each start its time, and its memory."""

import subprocess
import sys
from functools import cache
from pathlib import Path

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
from server.app import create_app
from server.settings import Settings

async def serve():
    app = create_app(Settings(database="t.db", model="offline"))
    async with app.router.lifespan_context(app):
        print(*sys.modules)

asyncio.run(serve())
"""
"""The server as it is without any other setting."""


@cache
def imported_by(module: str) -> frozenset[str]:
    script = f"import sys, {module}; print(*sys.modules)"
    return frozenset(subprocess.check_output([sys.executable, "-c", script], text=True).split())


@pytest.mark.full
def test_the_store_of_graphs_is_imported_when_a_graph_gets_one() -> None:
    assert imported_by("server.__main__").isdisjoint(STORE_OF_GRAPHS)
    assert imported_by("server.storage.graph_store").issuperset(STORE_OF_GRAPHS)


def test_the_server_imports_no_client_of_a_model_until_one_is_named() -> None:
    assert imported_by("server.__main__").isdisjoint((*CLIENTS_OF_MODELS, *OF_EXTRAS))
    assert imported_by("graphs.openai_model").issuperset(CLIENTS_OF_MODELS)
    assert imported_by("graphs.openai_model").isdisjoint(OF_EXTRAS)
    assert "langchain_anthropic" in imported_by("graphs.providers.anthropic")


@pytest.mark.full
def test_what_the_server_does_not_serve_with_is_not_imported_when_it_serves(tmp_path: Path) -> None:
    command, path = [sys.executable, "-c", SERVING], {"PYTHONPATH": str(PROJECT)}
    serving = {*subprocess.check_output(command, text=True, cwd=tmp_path, env=path).split()}
    assert "server.storage.store" in serving
    unused = (*STORE_OF_GRAPHS, *CLIENTS_OF_MODELS, *OF_EXTRAS, "limits")
    assert serving.isdisjoint(unused)


def test_the_library_of_limits_is_imported_when_a_policy_has_some() -> None:
    assert "limits" not in imported_by("server.__main__")
    assert "limits" in imported_by("server.users.quotas")


def test_the_openapi_document_is_made_when_it_is_asked_for() -> None:
    assert "server.http.openapi.document" not in imported_by("server.__main__")
    schemas = {name for name in imported_by("server.__main__") if name.endswith("schemas")}
    assert not {name for name in schemas if name.startswith("server.protocols")}


@pytest.mark.full
def test_what_several_workers_share_is_imported_when_it_is_set() -> None:
    assert not {name for name in imported_by("server.__main__") if "storage.redis" in name}
    assert "redis" not in imported_by("server.users.quotas")
    assert "redis" in imported_by("server.storage.redis.opening")
