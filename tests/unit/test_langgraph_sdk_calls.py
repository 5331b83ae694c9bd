"""The tables of LangGraph's calls in docs/clients.md are those of the routes."""

from pathlib import Path

from tests.support import langgraph_paths, langgraph_sdk_calls

PAGE = Path(__file__).parent.parent.parent / "docs" / "clients.md"


async def test_the_documents_say_which_calls_of_the_sdk_are_there() -> None:
    made = await langgraph_sdk_calls.requests()
    assert len(made) > 40
    assert langgraph_sdk_calls.table(made) in PAGE.read_text(encoding="utf-8"), (
        "make it anew: python -m tests.support.langgraph_sdk_calls"
    )


def test_the_documents_say_what_each_address_of_langgraph_does() -> None:
    assert langgraph_paths.table() in PAGE.read_text(encoding="utf-8"), (
        "make it anew: python -m tests.support.langgraph_paths"
    )
