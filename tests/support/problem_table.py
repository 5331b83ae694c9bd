"""The table of problems in docs/http.md: `python -m tests.support.problem_table` makes it anew."""

from pathlib import Path

from turnstream.server.turns.problem_codes import ALL

REFERENCE = Path(__file__).parent.parent.parent / "docs" / "http.md"
HEAD = """| status | code | meaning | remedy |
|---|---|---|---|
"""
END = "\n\n408, "
"""The text behind the table."""


def made() -> str:
    """Make the table from the codes."""
    rows = [f"| {one.status} | `{one.code}` | {one.means} | {one.remedy} |" for one in sorted(ALL)]
    return HEAD + "\n".join(rows)


def of_reference() -> str:
    """Return the table that the reference has."""
    text = REFERENCE.read_text(encoding="utf-8")
    return HEAD + text.split(HEAD)[1].split(END)[0]


if __name__ == "__main__":
    REFERENCE.write_text(
        REFERENCE.read_text(encoding="utf-8").replace(of_reference(), made()), encoding="utf-8"
    )
