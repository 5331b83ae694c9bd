"""Factories of graphs: functions, sync or async, that return a graph or a context manager of one.

One that takes the config, LangGraph's `ServerRuntime` or the user is called for each run, as on
LangGraph's own server, and once at the start for what a graph is made of. One that takes nothing,
or what the server has made (`build(model, catalogue, ...)`), is called once.
"""

import asyncio
import inspect
from collections.abc import Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore

from turnstream.graphs.faults import GraphError

AUTH_USER = "langgraph_auth_user"
"""The configurable value that is the caller."""
RESERVED = ("thread_id", "run_id", "checkpoint", "langgraph", "__", "messages")
"""Beginnings of names that mean something to LangGraph among configurable values."""
Argument = Literal["config", "runtime", "user"]
_TYPES: Mapping[str, Argument] = {
    "RunnableConfig": "config",
    "ServerRuntime": "runtime",
    "BaseUser": "user",
}
"""By a part of the parameter's annotation, which may be text."""


@dataclass(frozen=True, slots=True)
class FactoryCall:
    """The arguments of a call of a factory."""

    config: Mapping[str, Any]
    user: Any
    store: BaseStore | None
    is_run: bool = False
    context: Any = None
    """The context of the run, as its nodes get it."""

    def value(self, argument: Argument) -> Any:
        if argument == "runtime":
            return self._runtime()
        return self.user if argument == "user" else {**self.config}

    def _runtime(self) -> Any:
        """Read in langgraph-sdk 0.4.14, whose public name is a union of these two classes."""
        from langgraph_sdk.runtime import _ExecutionRuntime, _ReadRuntime

        given: dict[str, Any] = {"user": self.user, "store": self.store}
        if not self.is_run:
            return _ReadRuntime(access_context="assistants.read", **given)
        return _ExecutionRuntime(access_context="threads.create_run", context=self.context, **given)


@dataclass(frozen=True, slots=True)
class Factory:
    make: Any
    arguments: Mapping[str, Argument]
    """By parameter; those behind `positional` are given by name."""
    positional: tuple[str, ...] = ()

    @classmethod
    def of(cls, make: Any, ours: Mapping[str, Any]) -> "Factory":
        """Raises GraphError for a factory that wants something else. `ours` is for the sentence."""
        signature = inspect.signature(make)
        parameters = [*signature.parameters.values()]
        found = {one.name: kind for one in parameters if (kind := _argument(one))}
        required = [one for one in parameters if _is_required(one) and one.name not in found]
        if not found and len(required) == 1 and required[0].kind is not required[0].KEYWORD_ONLY:
            found, required = {required[0].name: "config"}, []
        if required:
            raise GraphError(
                f"it wants {signature}; a factory is called with nothing, with any of a config, a "
                "ServerRuntime and the user, or with model, catalogue, "
                f"{', '.join(f'{name}=' for name in ours)}"
            )
        bare = [one.name for one in parameters if one.kind is one.POSITIONAL_ONLY]
        return cls(make, found, tuple(name for name in bare if name in found))

    @property
    def is_per_run(self) -> bool:
        return bool(self.arguments)

    async def __call__(self, call: FactoryCall, stack: AsyncExitStack) -> Pregel[Any, Any]:
        """Make a graph; what it opens is closed with the stack. Raises GraphError, and what the
        factory raises."""
        values = {name: call.value(kind) for name, kind in self.arguments.items()}
        args = [values.pop(name) for name in self.positional]
        if inspect.isasyncgenfunction(self.make):
            made: Any = asynccontextmanager(self.make)(*args, **values)
        elif call.is_run and not inspect.iscoroutinefunction(self.make):
            made = await asyncio.to_thread(self.make, *args, **values)  # It may block.
        else:
            made = self.make(*args, **values)
        return await graph_of(made, stack)


async def graph_of(made: Any, stack: AsyncExitStack) -> Pregel[Any, Any]:
    """The graph that a factory has returned. Raises GraphError if that is none."""
    if inspect.isawaitable(made):
        made = await made
    if not isinstance(made, Pregel | StateGraph):
        if hasattr(made, "__aenter__"):
            made = await stack.enter_async_context(made)
        elif hasattr(made, "__enter__"):
            made = stack.enter_context(made)
    if isinstance(made, StateGraph):
        made = made.compile()
    if not isinstance(made, Pregel):
        raise GraphError(f"it made a {type(made).__name__}; return a graph")
    return made


def takes(make: Any, *args: Any, **named: Any) -> bool:
    """Return True if the function can be called with these."""
    try:
        inspect.signature(make).bind(*args, **named)
    except TypeError:
        return False
    return True


def _argument(parameter: inspect.Parameter) -> Argument | None:
    if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
        return None
    annotation = str(parameter.annotation)
    for part, kind in _TYPES.items():
        if part in annotation:
            return kind
    named: Mapping[str, Argument] = {kind: kind for kind in _TYPES.values()}
    return named.get(parameter.name)


def _is_required(parameter: inspect.Parameter) -> bool:
    optional = (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    return parameter.default is parameter.empty and parameter.kind not in optional
