"""The tools that a graph runs, found in its `ToolNode`s wherever they are."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from langchain_core.runnables import Runnable, RunnableParallel, RunnableWithFallbacks
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel


def tools_of(graph: Pregel[Any, Any, Any, Any]) -> Mapping[str, BaseTool]:
    """The tools by name; of several of one name, the one that is found first.

    Looked through are nodes, subgraphs, what wraps them, and what functions of nodes and tools
    refer to, one function deep. Not found is what a function gets in another way.
    """
    tools: dict[str, BaseTool] = {}
    waiting: list[Any] = [graph]
    seen: dict[int, Any] = {}  # Kept, so that no id is another's later.
    while waiting:
        value = waiting.pop(0)
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, ToolNode):
            for name, tool in value.tools_by_name.items():
                tools.setdefault(name, tool)
        waiting += _within(value)
    return tools


def _within(value: Any) -> Iterable[Any]:
    match value:
        case Pregel():
            return [part for node in value.nodes.values() for part in (node.bound, *node.subgraphs)]
        case ToolNode():
            return value.tools_by_name.values()
        case RunnableParallel():
            return value.steps__.values()
        case RunnableBindingBase():
            return [value.bound]
        case RunnableWithFallbacks():
            return value.runnables
    # LangChain's and LangGraph's sequences and functions have no class in common.
    functions = (getattr(value, name, None) for name in ("func", "afunc", "coroutine"))
    referred = [found for function in functions for found in _referred(function)]
    return [*getattr(value, "steps", ()), *referred]


def _referred(function: Callable[..., Any] | None) -> Iterable[Any]:
    """The runnables that a function has beside its arguments."""
    if function is None:
        return []
    if isinstance(function, partial):
        held = [*function.args, *function.keywords.values()]
        return [*_runnables(held), *_referred(function.func)]
    owner = getattr(function, "__self__", None)
    try:
        variables = inspect.getclosurevars(inspect.unwrap(function))
    except (TypeError, ValueError):
        return _runnables([owner])
    return _runnables([owner, *variables.nonlocals.values(), *variables.globals.values()])


def _runnables(values: Iterable[Any]) -> list[Any]:
    """Return the runnables among the values: those themselves, and those whose methods, or
    collections, are."""
    found = []
    for value in values:
        owner = getattr(value, "__self__", value)
        members = owner.values() if isinstance(owner, dict) else owner
        several = isinstance(owner, dict | list | tuple)
        found += [one for one in (members if several else [owner]) if isinstance(one, Runnable)]
    return found
