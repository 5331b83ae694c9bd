"""Long threads, made at once: as the saver has them, without the runs."""

from collections.abc import Iterator

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from turnstream.graphs import stored_user


def history(turns: int, words: str = "Number") -> list[AnyMessage]:
    """Turns of a question, a call of a real tool, its result and an answer; the questions' ids are
    `u0`, `u1` and so on."""
    return [message for number in range(turns) for message in _turn(number, f"{words} {number}")]


def _turn(number: int, question: str) -> Iterator[AnyMessage]:
    call = {"name": "calculator", "args": {"expression": "17 * 23"}, "id": f"c{number}"}
    yield HumanMessage(
        question, id=f"u{number}", response_metadata=stored_user.human_metadata(None)
    )
    yield AIMessage("", id=f"a{number}", tool_calls=[call])
    yield ToolMessage('{"value": 391}', tool_call_id=f"c{number}", id=f"t{number}")
    yield AIMessage(f"The answer to {question} is 391. " * 10, id=f"b{number}")
