"""What a tool has to say of itself.

A *real tool* runs on the server. It is a function that returns a JSON object; `client_fields`
names the fields of that object which the client may see, the model sees all of them:

    @real_tool(client_fields=["rolls", "total"])
    def roll_dice(count: int, sides: int = 6) -> dict[str, Any]:
        "Roll dice and add them up."

With `artifact=True` it returns a pair of objects instead: the first is for the model; the client
gets the fields of both, filtered by `client_fields`.

Raise `langchain_core.tools.ToolException` to tell model and user what went wrong in your own
words. Of any other exception both get a fixed sentence and an error id, the log gets the cause.

A *UI tool* has no code here: the browser renders its arguments, or answers it.
"""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.tools import BaseTool, StructuredTool, ToolException

from turnstream.tools import strict_json
from turnstream.tools.json_size import is_larger
from turnstream.tools.threads import in_thread

ASIDE = (100_000, 5_000)
"""Characters and values of a result that are handled on another thread."""
MAX_RESULT_CHARS, MAX_RESULT_VALUES = 4_000_000, 200_000
"""Characters and values of a result; what model and client get of it has limits of its own."""

CLIENT_FIELDS, AVAILABILITY_TOOL = "client_fields", "availability_tool"
NEEDS_APPROVAL, TIMEOUT_SECONDS = "needs_approval", "timeout_seconds"
"""Keys of a real tool's `metadata`."""
ALL_FIELDS = "*"
"""Among the client fields of a LangChain tool or of another server's: all that there is."""


class CatalogueError(Exception):
    """The catalogue cannot be served as it is; the message says which tool and why."""


Disposition = Literal["server", "shown", "client", "approval", "invalid"]
"""The side that ends a tool call: a real tool of the server; nobody, since the client shows its
arguments; the client, with its answer; a person who approves it; nobody, since the call is not
valid."""

ResultLookup = Callable[[str], Mapping[str, Any] | None]
"""The result, as the client may see it, of an earlier tool call of the thread, by the call's id or
the tool's name (its last call that worked); None if there is none."""


ApprovalRule = Callable[[Mapping[str, Any], Mapping[str, Any]], bool]
"""Decides that a person must approve a call: from its arguments, which fit the schema, and from its
caller, as LangGraph's `langgraph_auth_user` describes them (`identity`, `permissions`, ...)."""


@dataclass(frozen=True, slots=True)
class UITool:
    """A tool that lives in the browser and ends the turn.

    `parameters` is the JSON Schema that the model sees. `validate` takes the parsed arguments and
    the results of the turn and returns the arguments as the browser gets them, or raises
    ValueError with a sentence for the model. `check_answer` takes the arguments and the browser's
    answer and returns the answer in its stored form, or raises ValueError; a tool without it is
    never pending: its arguments are its result, at once. `drawable` takes a tool's result, as the
    client may see it, and returns what this tool can draw of it.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    validate: Callable[[dict[str, Any], ResultLookup], dict[str, Any]]
    check_answer: Callable[[Mapping[str, Any], Any], Any] | None = None
    drawable: Callable[[Mapping[str, Any]], list[str]] = lambda _result: []

    @property
    def awaits_client(self) -> bool:
        return self.check_answer is not None

    @property
    def function(self) -> dict[str, Any]:
        """The tool in the form that `bind_tools` of every provider takes (OpenAI's)."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }
        return {"type": "function", "function": function}


def real_tool(
    *,
    client_fields: Sequence[str],
    artifact: bool = False,
    availability_tool: str | None = None,
    needs_approval: bool | ApprovalRule = False,
) -> Callable[[Callable[..., Any]], BaseTool]:
    """Make a real tool of a function, sync or async; its docstring is the tool's description.

    `availability_tool` names the tool, callable without arguments, that knows what data there is;
    it is asked when this one answers with the `status` `no_data` or `no_data_in_window`. With
    `needs_approval`, a person approves each call before it runs, or those calls that the rule says.
    Raises CatalogueError if `client_fields` is one string: its letters would be the fields.
    """
    if isinstance(client_fields, str):
        raise CatalogueError(f'client_fields is {client_fields!r}; write ["{client_fields}"].')

    def decorate(function: Callable[..., Any]) -> BaseTool:
        def split(returned: Any) -> tuple[str, dict[str, Any]]:
            for_model, extra = returned if artifact else (returned, {})
            _check(for_model)
            return strict_json.write_spaced(for_model), _visible(
                {**for_model, **extra}, client_fields
            )

        @functools.wraps(function)
        async def run(*args: Any, **kwargs: Any) -> tuple[str, dict[str, Any]]:
            try:
                if inspect.iscoroutinefunction(function):
                    returned = await function(*args, **kwargs)
                    if is_larger(returned, *ASIDE):
                        return await in_thread(functools.partial(split, returned))
                    return split(returned)
                return await in_thread(lambda: split(function(*args, **kwargs)))
            except (SystemExit, KeyboardInterrupt) as leaving:
                # Out of a task they would end the event loop, and the server with it.
                raise RuntimeError(f"the tool raised {type(leaving).__name__}") from leaving

        tool = StructuredTool.from_function(
            coroutine=run,
            response_format="content_and_artifact",
            parse_docstring=True,
        )
        tool.metadata = {
            CLIENT_FIELDS: tuple(client_fields),
            AVAILABILITY_TOOL: availability_tool,
            NEEDS_APPROVAL: needs_approval,
        }
        return tool

    return decorate


def client_fields(
    *names: str, needs_approval: bool | ApprovalRule = False
) -> Callable[[BaseTool], BaseTool]:
    """Declare which fields of its result the client may see, and which calls need an approval, for
    a LangChain tool as it is:

        @client_fields("title", "url")
        @tool
        def search(query: str) -> dict[str, Any]: ...

    `"*"` declares all of them. Raises CatalogueError if it decorates anything but a tool.
    """

    def decorate(tool: BaseTool) -> BaseTool:
        if not isinstance(tool, BaseTool):
            raise CatalogueError(f"client_fields decorates {tool!r:.100}; write it above @tool.")
        declared = {CLIENT_FIELDS: names, NEEDS_APPROVAL: needs_approval}
        tool.metadata = {**(tool.metadata or {}), **declared}
        return tool

    return decorate


def approval_of(tool: BaseTool) -> bool | ApprovalRule:
    """Return the tool's declaration of its calls: True if a person must approve them, or a rule."""
    declared: bool | ApprovalRule = (tool.metadata or {}).get(NEEDS_APPROVAL, False)
    return declared


def _check(value: Any) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(f"a real tool returns a JSON object, not {type(value).__name__}")
    if is_larger(value, MAX_RESULT_CHARS, MAX_RESULT_VALUES):
        raise ToolException(
            f"The result is larger than {MAX_RESULT_CHARS} characters or {MAX_RESULT_VALUES} "
            "values. Ask for less."
        )


def _visible(value: Mapping[str, Any], fields: Sequence[str]) -> dict[str, Any]:
    """The client's view of a result, as plain JSON data.

    Raises ValueError if it is not JSON.
    """
    shown = {name: value[name] for name in fields if name in value}
    plain: dict[str, Any] = strict_json.copy(shown)
    return plain
