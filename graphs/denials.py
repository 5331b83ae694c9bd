"""Denials of tools to the caller of a graph that is not ours: a callback that raises before the
tool runs.

LangChain tells its callbacks before it runs a tool, wherever the tool is: in a subgraph, in another
tool, in a thread. A handler that is not async and asks for it (`raise_error`, `run_inline`) stops
the tool by raising; what an async one raises is lost where the tool runs in a thread. A ToolNode
answers the call with the error as it does with wrong arguments, unless its author lets errors end
the run.
"""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import ToolMessage
from langgraph.prebuilt.tool_node import ToolInvocationError

from turnstream.graphs.rights import NEEDS_APPROVAL, NOT_ALLOWED, Refusal
from turnstream.tools.strict_json import text_of

REFUSALS = (NOT_ALLOWED, NEEDS_APPROVAL)

Check = Callable[[str, Mapping[str, Any]], Refusal | None]


class ToolDenied(ToolInvocationError):
    """A ToolNode puts `message` into the answer of the call."""

    def __init__(self, tool: str, refusal: Refusal) -> None:
        Exception.__init__(self, refusal.message)
        self.message = text_of(_view(refusal))
        self.tool_name = tool
        self.tool_kwargs = {}
        self.filtered_errors = None


class Denials(BaseCallbackHandler):
    """`check` says by name and arguments why a call is refused."""

    raise_error = True
    run_inline = True

    def __init__(self, check: Check) -> None:
        self._check = check

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        del run_id, kwargs
        name = str(serialized.get("name", ""))
        refusal = self._check(name, {"input": input_str} if inputs is None else inputs)
        if refusal:
            raise ToolDenied(name, refusal)


def denial(message: ToolMessage) -> dict[str, Any] | None:
    """Return what clients see of an answer that says that its call was denied; None for any
    other."""
    if message.status != "error":
        return None
    return next((_view(known) for known in REFUSALS if message.text == text_of(_view(known))), None)


def _view(refusal: Refusal) -> dict[str, Any]:
    return {"error": {"code": refusal.code, "message": refusal.message}}
