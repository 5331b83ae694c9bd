"""What a run brings along and the thread does not keep, and which messages are a run's own."""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from graphs import stored
from tools.contract import UITool


@dataclass(frozen=True, slots=True)
class TurnContext:
    run_id: str | None = None
    client_tools: tuple[UITool, ...] = ()
    """UI tools that the client declared for this run; they join the catalogue's."""


def run_messages(
    messages: Sequence[AnyMessage], context: TurnContext
) -> list[AIMessage | ToolMessage]:
    """The run's own messages so far, and the answers to their calls, newest first."""
    found: list[AIMessage | ToolMessage] = []
    for message in reversed(messages):
        if isinstance(message, ToolMessage) or (
            isinstance(message, AIMessage) and stored.run_id(message) == context.run_id
        ):
            found.append(message)
        else:
            break
    while found and isinstance(found[-1], ToolMessage):
        found.pop()  # an answer to a call of the run before
    return found
