"""The tables of docs/settings.md: `python -m tests.support.settings_page` makes them anew."""

from pathlib import Path

from turnstream.server.extensions.built_in import ServerSettings
from turnstream.server.options import SECRETS, Option, grouped

PAGE = Path(__file__).parent.parent.parent / "docs" / "settings.md"
START = "<!-- made from the code by `python -m tests.support.settings_page` -->\n"
SEE = {
    "access_log": "operate.md#the-access-log",
    "allowed_origins": "clients.md",
    "approval_seconds": "approvals.md",
    "audit_days": "audit.md",
    "auth": "users.md",
    "client_state": "graph.md#state-for-clients",
    "context": "graph.md#context-configurable-and-input",
    "client_context": "graph.md#context-configurable-and-input",
    "extensions": "extensions.md",
    "feedback": "extensions.md#feedback",
    "graph": "graph.md",
    "image_models": "models.md#images",
    "mcp": "mcp.md",
    "metrics_port": "operate.md",
    "model": "models.md",
    "policy": "policy.md",
    "redis": "deploy.md#several-workers",
    "think_tags": "models.md#reasoning",
    "thread_retention_days": "deploy.md#old-threads-and-the-size-of-the-file",
    "title_model": "models.md#titles",
    "traces": "operate.md#traces",
    "undeclared_results": "graph.md#tool-results",
    "undo_seconds": "http.md#deleting-a-thread",
}
"""Pages that say more about a setting."""


def made() -> str:
    """Make the tables from the code."""
    parts = []
    for title, options in grouped(ServerSettings):
        rows = "\n".join(_row(each) for each in options)
        parts.append(
            f"## {title}\n\n| name | type | default | meaning |\n|---|---|---|---|\n{rows}\n"
        )
    return "\n".join(parts)


def of_page() -> str:
    """Return the tables that the page has."""
    return PAGE.read_text(encoding="utf-8").split(START)[1].lstrip("\n")


def _row(option: Option) -> str:
    default = f"`{option.default}`" if option.default not in ("", "built in") else option.default
    meaning = option.meaning.replace("<think>", "`<think>`").replace("</think>", "`</think>`")
    if option.name in SEE:
        meaning += f" ([more]({SEE[option.name]}))"
    if option.name in SECRETS:
        meaning += "; no option, because every user of a machine can read its command lines"
    return f"| `{option.variable}` | {option.type} | {default} | {meaning} |"


if __name__ == "__main__":
    head = PAGE.read_text(encoding="utf-8").split(START)[0]
    PAGE.write_text(f"{head}{START}\n{made()}", encoding="utf-8")
