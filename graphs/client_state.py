"""The part of a graph's state that clients see beside its messages: the values that a setting
names.

Nothing else of the state is read. A value is shown as JSON: documents, dataclasses and Pydantic
models are objects, NaN is null, and keys that no browser takes are left out. What is not JSON or
too large is `{"hidden": true}`.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph.channels import UntrackedValue
from langgraph.graph.state import CompiledStateGraph
from langgraph.graph.ui import ui_message_reducer
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from turnstream.graphs.faults import GraphError
from turnstream.graphs.limits import byte_size
from turnstream.tools import strict_json
from turnstream.tools.contract import MAX_RESULT_VALUES
from turnstream.tools.json_size import is_larger
from turnstream.tools.strict_json import clean_text

logger = logging.getLogger(__name__)

MAX_STATE_BYTES = 200_000
"""Characters of one value, as JSON, unless a setting says otherwise."""
HIDDEN = {"hidden": True}
"""Stands for a value that is not JSON or too large."""
_as_plain = TypeAdapter(Any).dump_python


@dataclass(frozen=True, slots=True)
class ClientState:
    """The view of one graph's state: the values of `names`, each of up to `max_bytes` as JSON.
    `lists` are those that grow with the thread: of one that is too large the newest items are
    shown."""

    names: tuple[str, ...] = ()
    max_bytes: int = MAX_STATE_BYTES
    lists: frozenset[str] = frozenset()
    _warned: set[str] = field(default_factory=set, compare=False, repr=False)

    def texts(self, values: Mapping[str, Any]) -> dict[str, str]:
        """The JSON texts of the named values among all values of a state."""
        return {name: self._text(name, values[name]) for name in self.names if name in values}

    def shown(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The same as JSON data that shares nothing with the state."""
        return {name: strict_json.read(text) for name, text in self.texts(values).items()}

    def _text(self, name: str, value: Any) -> str:
        if name in self.lists and isinstance(value, list):
            return self._newest(name, value)
        try:
            return self._written(value)
        except Exception:  # noqa: BLE001  what an author's objects raise
            self._warn(name)
            return strict_json.write(HIDDEN)

    def _newest(self, name: str, items: list[Any]) -> str:
        """The newest items that are as large as one value may be, together."""
        texts, left = list[str](), self.max_bytes - len("]")
        for item in reversed(items):
            try:
                text = self._written(item)
            except Exception:  # noqa: BLE001  what an author's objects raise
                self._warn(name)
                continue
            left -= byte_size(text) + len(",")
            if left < 0:
                break
            texts.append(text)
        return f"[{','.join(reversed(texts))}]"

    def _written(self, value: Any) -> str:
        """Raises ValueError for a value that is not JSON or too large, and what an author's objects
        raise."""
        if is_larger(value, self.max_bytes, MAX_RESULT_VALUES):
            raise ValueError("it is too large")
        plain = to_jsonable_python(_as_plain(value), inf_nan_mode="null")
        plain = strict_json.read_storable(clean_text(strict_json.write_for_browsers(plain)))
        text = strict_json.write(plain)
        if byte_size(text) > self.max_bytes:
            raise ValueError("it is too large")
        return text

    def _warn(self, name: str) -> None:
        if name not in self._warned:
            self._warned.add(name)
            logger.warning(
                "%(name)s of the graph's state is not JSON or too large; clients do not see it",
                {"name": name},
            )


NOTHING = ClientState()


def state_keys(graph: CompiledStateGraph[Any, Any, Any, Any]) -> list[str]:
    """The keys of a graph's state that a thread keeps."""
    channels = graph.builder.channels.items()
    return [name for name, kept in channels if not isinstance(kept, UntrackedValue)]


def ui_keys(graph: CompiledStateGraph[Any, Any, Any, Any]) -> list[str]:
    """The keys of a graph's state that hold LangGraph's UI messages (`push_ui_message`)."""
    channels = graph.builder.channels.items()
    return [
        name for name, kept in channels if getattr(kept, "operator", None) is ui_message_reducer
    ]


def check_names(names: Sequence[str], known: Collection[str]) -> None:
    """Raises GraphError if a name is no key of the state of any graph; `known` are those keys."""
    unknown = [name for name in names if name not in known]
    if unknown:
        others = ", ".join(sorted({*known} - {"messages"})) or "nothing"
        raise GraphError(
            f"TURNSTREAM_CLIENT_STATE names {', '.join(map(repr, unknown))}, which no graph keeps "
            f"in its state; beside the messages there is {others}."
        )
