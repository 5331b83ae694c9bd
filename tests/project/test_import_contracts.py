"""Each import contract of pyproject.toml breaks when an import breaks it."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parent.parent.parent

CORE = "The core knows no extension, but for the table of those that there are"
VIOLATIONS = {
    "Imports only look down: server > graphs > tools": (
        "tools/numbers.py",
        "turnstream.graphs.limits",
    ),
    "Inside the server imports only look down too": (
        "server/storage/tables.py",
        "turnstream.server.runs.plan",
    ),
    "Only the HTTP edge, and a format's own endpoints, know Starlette and uvicorn": (
        "graphs/limits.py",
        "starlette.responses",
    ),
    "The vocabulary imports nothing of ours": (
        "server/turns/header.py",
        "turnstream.tools.numbers",
    ),
    "Wire formats are pure, but for their own endpoints": (
        "server/formats/fields.py",
        "langgraph.graph",
    ),
    "A wire format knows no other": (
        "server/formats/native/body.py",
        "turnstream.server.formats.ai_sdk.stream",
    ),
    "Only the tools of MCP servers know the protocol": ("graphs/limits.py", "mcp_types"),
    CORE: (
        "server/runs/run.py",
        "turnstream.server.extensions.openapi.endpoint",
    ),
    "Only storage knows a database": ("server/runs/plan.py", "sqlalchemy"),
    "Only app.py chooses an implementation of storage": (
        "server/http/info.py",
        "turnstream.server.storage.store",
    ),
}


def checked(folder: Path) -> dict[str, str]:
    """Each contract's name, and `KEPT` or `BROKEN`, by a look at all modules."""
    linted = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    analyzed = re.search(r"^Analyzed (\d+) files", linted.stdout, re.MULTILINE)
    assert analyzed, linted.stdout
    assert int(analyzed[1]) > 200
    return dict(re.findall(r"^(.+?) (KEPT|BROKEN)", linted.stdout, re.MULTILINE))


def test_the_core_may_import_none_of_our_extensions() -> None:
    pyproject = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    [contract] = [c for c in pyproject["tool"]["importlinter"]["contracts"] if c["name"] == CORE]
    folders = [path.parent.name for path in (PROJECT / "server/extensions").glob("*/__init__.py")]
    ours = {f"turnstream.server.extensions.{name}" for name in folders}
    assert "turnstream.server.extensions.openapi" in ours
    assert ours <= {*contract["forbidden_modules"]}


def test_every_contract_is_kept_and_each_breaks_when_an_import_breaks_it(tmp_path: Path) -> None:
    ours = tmp_path / "turnstream"
    for package in ("server", "graphs", "tools"):
        shutil.copytree(
            PROJECT / package, ours / package, ignore=shutil.ignore_patterns("*.sqlite")
        )
    shutil.copy(PROJECT / "pyproject.toml", tmp_path)
    assert checked(tmp_path) == dict.fromkeys(VIOLATIONS, "KEPT")
    for path, module in VIOLATIONS.values():
        file = ours / path
        file.write_text(f"{file.read_text()}\n\nimport {module}\n")
    assert checked(tmp_path) == dict.fromkeys(VIOLATIONS, "BROKEN")
