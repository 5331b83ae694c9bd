"""A thread's state, its checkpoints, and the calls of its models, as `turnstream dev` shows them to
the developer of the graph: everything but keys.

No other server keeps or shows any of it.
"""

import json
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult
from langgraph.types import StateSnapshot
from pydantic import BaseModel

from turnstream.server.runs.causes import is_secret_name, without_secrets
from turnstream.server.turns.header import ThreadKey

MAX_CHECKPOINTS = 20
MAX_CALLS = 50
"""Model calls that are kept of a thread."""
MAX_THREADS = 20
MAX_TEXT_CHARS = 20_000
"""Characters of a text: of an image or a file no more is of interest."""
HIDDEN = "***"
_HEADERS = frozenset(("headers", "default_headers", "extra_headers"))

Json = dict[str, Any]


class ModelCalls:
    """The latest model calls of the latest threads, in the order in which they began."""

    def __init__(self) -> None:
        self._of_threads: OrderedDict[ThreadKey, list[Json]] = OrderedDict()

    def of(self, key: ThreadKey) -> Sequence[Json]:
        return [*self._of_threads.get(key, ())]

    def watcher(self, key: ThreadKey, run_id: str) -> BaseCallbackHandler:
        """Return what keeps the calls of a run."""
        return _Watcher(self._begun(key), run_id)

    def clear(self) -> None:
        self._of_threads.clear()

    def _begun(self, key: ThreadKey) -> list[Json]:
        calls = self._of_threads.setdefault(key, [])
        self._of_threads.move_to_end(key)
        while len(self._of_threads) > MAX_THREADS:
            self._of_threads.popitem(last=False)
        return calls


CALLS = ModelCalls()


class _Watcher(BaseCallbackHandler):
    run_inline = True

    def __init__(self, calls: list[Json], run_id: str) -> None:
        self._calls, self._run_id = calls, run_id
        self._open: dict[UUID, tuple[Json, float]] = {}

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        invocation_params: Mapping[str, Any] | None = None,
        **_about: Any,
    ) -> None:
        del serialized
        about = metadata or {}
        call = {
            "run_id": self._run_id,
            "node": about.get("langgraph_node"),
            "step": about.get("langgraph_step"),
            "model": about.get("ls_model_name"),
            "request": {
                "messages": plain([one for prompt in messages for one in prompt]),
                "options": plain(invocation_params or {}),
            },
        }
        self._open[run_id] = (call, time.monotonic())
        self._calls.append(call)
        del self._calls[:-MAX_CALLS]

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_about: Any) -> None:
        said = [getattr(one, "message", one.text) for each in response.generations for one in each]
        self._end(run_id, response=plain(said))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_about: Any) -> None:
        said = f"{type(error).__name__}: {error}"
        self._end(run_id, error=plain(said))

    def _end(self, run_id: UUID, **end: Any) -> None:
        call, began = self._open.pop(run_id, ({}, 0.0))
        call.update(end, ms=round((time.monotonic() - began) * 1000))


def checkpoint_json(snapshot: StateSnapshot) -> Json:
    """`{"id", "parent_id", "step", "source", "next", "created_at"}`."""
    metadata, parent = snapshot.metadata or {}, snapshot.parent_config or {}
    return {
        "id": snapshot.config["configurable"].get("checkpoint_id"),
        "parent_id": parent.get("configurable", {}).get("checkpoint_id"),
        "step": metadata.get("step"),
        "source": metadata.get("source"),
        "next": list(snapshot.next),
        "created_at": snapshot.created_at,
    }


def plain(value: Any) -> Any:
    """The value as JSON, without the values of secret variables, and of keys and headers."""
    text = json.dumps(_shown(value), ensure_ascii=False)
    return json.loads(without_secrets(text))


def _shown(value: Any) -> Any:
    match value:
        case str():
            return value if len(value) <= MAX_TEXT_CHARS else f"{value[:MAX_TEXT_CHARS]}…"
        case bool() | int() | None:
            return value
        case float():
            return value if value == value and abs(value) != float("inf") else str(value)
        case BaseMessage():
            known = value.model_dump(exclude_defaults=True, exclude={"artifact"})
            return {"type": value.type, **_shown(known)}
        case BaseModel():
            return _shown(value.model_dump())
        case Mapping():
            return {
                str(key): HIDDEN if _is_hidden(str(key), item) else _shown(item)
                for key, item in value.items()
            }
        case list() | tuple() | set() | frozenset():
            return [_shown(item) for item in value]
    return _shown(repr(value))


def _is_hidden(name: str, value: Any) -> bool:
    """Numbers of tokens are no secrets."""
    has_value = isinstance(value, str | Mapping) and bool(value)
    return has_value and (name.lower() in _HEADERS or is_secret_name(name))
