"""What is not used is not imported: it would cost each start its time, and its memory."""

import subprocess
import sys

STORE_OF_GRAPHS = ("langgraph.store.sqlite", "sqlite_vec")
CLIENTS_OF_MODELS = ("openai", "langchain_openai", "tiktoken")
OF_EXTRAS = (
    *("anthropic", "langchain_anthropic", "google.genai", "langchain_google_genai", "ollama"),
    *("mcp", "mcp_types"),
    "prometheus_client",
    *("redis", "hiredis"),
    *("psycopg", "psycopg_pool", "langgraph.checkpoint.postgres", "sqlalchemy.dialects.postgresql"),
)


def imported_by(module: str) -> set[str]:
    script = f"import sys, {module}; print(*sys.modules)"
    return set(subprocess.check_output([sys.executable, "-c", script], text=True).split())


def test_the_store_of_graphs_is_imported_when_a_graph_gets_one() -> None:
    assert imported_by("server.__main__").isdisjoint(STORE_OF_GRAPHS)
    assert imported_by("server.storage.graph_store").issuperset(STORE_OF_GRAPHS)


def test_the_server_imports_no_client_of_a_model_until_one_is_named() -> None:
    assert imported_by("server.__main__").isdisjoint((*CLIENTS_OF_MODELS, *OF_EXTRAS))
    assert imported_by("graphs.openai_model").issuperset(CLIENTS_OF_MODELS)
    assert imported_by("graphs.openai_model").isdisjoint(OF_EXTRAS)
    assert "langchain_anthropic" in imported_by("graphs.providers.anthropic")


def test_the_library_of_limits_is_imported_when_a_policy_has_some() -> None:
    assert "limits" not in imported_by("server.__main__")
    assert "limits" in imported_by("server.users.quotas")


def test_the_openapi_document_is_made_when_it_is_asked_for() -> None:
    assert "server.http.openapi.document" not in imported_by("server.__main__")
    schemas = {name for name in imported_by("server.__main__") if name.endswith("schemas")}
    assert not {name for name in schemas if name.startswith("server.protocols")}


def test_what_several_workers_share_is_imported_when_it_is_set() -> None:
    assert not {name for name in imported_by("server.__main__") if "storage.redis" in name}
    assert "redis" not in imported_by("server.users.quotas")
    assert "redis" in imported_by("server.storage.redis.opening")
