"""The part of tool results that clients see: one decision for the stream, the thread and replays.

Of what turnstream wrote they see `client_view`, always. Of the results of a graph that is not ours
they see the fields that the tool declares (`turnstream.graphs.client_fields`), or `{"hidden":
true}`.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any, Literal

from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.pregel import Pregel
from pydantic import BaseModel, TypeAdapter
from pydantic_core import to_jsonable_python

from turnstream.graphs import stored_user
from turnstream.graphs.answers import bounded, client_view, is_ours, truncated
from turnstream.graphs.client_fields import (
    Fields,
    declared,
    fields_of,
    how_to_declare,
    warn_of_unmatched,
)
from turnstream.graphs.denials import denial
from turnstream.graphs.graph_tools import tools_of
from turnstream.graphs.limits import Limits, byte_size
from turnstream.tools import strict_json
from turnstream.tools.contract import ALL_FIELDS, MAX_RESULT_CHARS, MAX_RESULT_VALUES
from turnstream.tools.json_size import has_more_values, is_larger
from turnstream.tools.strict_json import clean_text

logger = logging.getLogger(__name__)

ResultView = Callable[[ToolMessage, str], Any]
"""Returns the part, as JSON data, of an answer to a call of the tool of this name that the client
may see."""

Undeclared = Literal["hide", "show", "show_marked"]
"""`show_marked`: those of turns whose user message is marked (`stored_user`); what was stored while
results were hidden stays hidden."""

_HIDDEN = {"hidden": True}
_FAILED = "The tool failed."
_as_saved = TypeAdapter(Any).dump_python
"""Writes an artifact as a message does when it is saved: documents and dataclasses become dicts."""


def own_result(message: ToolMessage, _tool: str) -> Any:
    """The view of the built-in graph's results."""
    return client_view(message)


@dataclass(frozen=True, slots=True)
class DeclaredResults:
    """The view of the results of a graph that is not ours.

    `fields` are what its tools declare; `undeclared` hides or shows the contents of the others.
    Of a result of more than `max_bytes` as JSON, clients see the size.
    """

    fields: Fields
    undeclared: Undeclared = "hide"
    max_bytes: int = Limits().max_result_bytes
    _warned: set[str] = field(default_factory=set, compare=False, repr=False)

    def __call__(self, message: ToolMessage, tool: str) -> Any:
        if is_ours(message):
            return client_view(message)
        if denied := denial(message):
            return denied
        name = message.name or tool
        try:
            view = self._declared(message, name)
        except Exception:  # noqa: BLE001  what an author's objects raise
            self._warn(name)
            view = {**_HIDDEN}
        return _as_error(view, message) if message.status == "error" else view

    def _declared(self, message: ToolMessage, name: str) -> Any:
        fields = fields_of(self.fields, name)
        if fields is None:
            return self._whole(message, name) if self.undeclared == "show" else {**_HIDDEN}
        artifact = self._artifact(message, name)
        if ALL_FIELDS in fields:
            return self._whole(message, name, artifact or {})
        missing = artifact is None or any(field not in artifact for field in fields)
        content = _read(message) if missing else None
        if artifact is None and not isinstance(content, dict):
            return {**_HIDDEN}
        known = {**(content if isinstance(content, dict) else {}), **(artifact or {})}
        return self._object({field: known[field] for field in fields if field in known}, name)

    def _artifact(self, message: ToolMessage, name: str) -> dict[Any, Any] | None:
        """The artifact if it is a dict, or is one when it comes from the thread."""
        artifact = message.artifact
        if is_dataclass(artifact) or isinstance(artifact, BaseModel):
            try:
                artifact = _as_saved(artifact)
            except Exception:  # noqa: BLE001  what an author's objects raise
                self._warn(name)
        return artifact if isinstance(artifact, dict) else None

    def _whole(
        self, message: ToolMessage, name: str, artifact: dict[Any, Any] | None = None
    ) -> Any:
        """All of the content, with the fields of an artifact that is declared."""
        content = _read(message)
        if artifact:
            known = content if isinstance(content, dict) else {"content": content}
            fields = {key: value for key, value in artifact.items() if isinstance(key, str)}
            return self._object({**known, **fields}, name)
        try:
            return self._bounded(content)
        except Exception:  # noqa: BLE001  what an author's objects raise
            self._warn(name)
            return self._bounded(str(message.text)) if message.text else {**_HIDDEN}

    def _object(self, known: dict[str, Any], name: str) -> Any:
        try:
            return self._bounded(known)
        except Exception:  # noqa: BLE001  what an author's objects raise
            fields = {key: self._plain(value, name) for key, value in known.items()}
            return self._plain(fields, name)

    def _plain(self, value: Any, name: str) -> Any:
        try:
            return self._bounded(value)
        except Exception:  # noqa: BLE001  what an author's objects raise
            self._warn(name)
            return {**_HIDDEN}

    def _bounded(self, value: Any) -> Any:
        """Raises what an author's objects raise, and ValueError for what is not JSON."""
        if isinstance(value, str) and byte_size(value) > self.max_bytes:
            return truncated(byte_size(value), self.max_bytes)
        if is_larger(value, MAX_RESULT_CHARS, MAX_RESULT_VALUES):
            raise ValueError("it is too large")
        plain = to_jsonable_python(_as_saved(value), inf_nan_mode="null")
        return bounded(plain, self.max_bytes)

    def _warn(self, name: str) -> None:
        if name not in self._warned:
            self._warned.add(name)
            logger.warning(
                "a result of the tool %(tool)s is not JSON or too large; clients do not see it",
                {"tool": name},
            )


def shows_marked(results: ResultView) -> bool:
    """Return True if the results of turns that begin now are to be marked as shown."""
    return isinstance(results, DeclaredResults) and results.undeclared == "show_marked"


def shows_undeclared(results: ResultView) -> bool:
    """Return True if clients see results of a graph that is not ours whose tools declare nothing
    (with `show_marked`: those of some turns)."""
    return isinstance(results, DeclaredResults) and results.undeclared != "hide"


def hidden_result(view: Any, *, is_error: bool) -> Any:
    """Hide a result that clients have seen: which tools declare it is not known any more. What
    turnstream itself wrote about an error stays."""
    if not is_error:
        return {**_HIDDEN}
    error = view.get("error") if isinstance(view, dict) else None
    is_ours = isinstance(error, dict) and error.get("code") not in (None, "tool_error")
    return view if is_ours else {"error": {"code": "tool_error", "message": _FAILED}}


def view_of_turn(results: ResultView, human: HumanMessage | None) -> ResultView:
    """The view of the results of one turn, that of a user message."""
    if not (isinstance(results, DeclaredResults) and results.undeclared == "show_marked"):
        return results
    undeclared: Undeclared = "show" if stored_user.shows_results(human) else "hide"
    return replace(results, undeclared=undeclared)


def declared_results(
    graph: Pregel[Any, Any, Any, Any],
    table: Fields,
    undeclared: Undeclared = "hide",
    max_bytes: int = Limits().max_result_bytes,
) -> ResultView:
    """The view of the results of a graph that is not ours; `table` is its module's.

    The log names the tools that declare nothing. Raises GraphError for a faulty declaration.
    """
    tools = tools_of(graph)
    fields = declared(tools, table)
    warn_of_unmatched(tools, table)
    silent = {name for name in tools if fields_of(fields, name) is None}
    if silent and undeclared == "hide":
        logger.warning("%(sentence)s", {"sentence": how_to_declare(silent)})
    return DeclaredResults(fields, undeclared, max_bytes)


def _as_error(view: Any, message: ToolMessage) -> dict[str, Any]:
    """LangGraph puts the text of an exception into the content, so that is not JSON as a rule."""
    if isinstance(view, dict) and view not in ({}, _HIDDEN):
        return view
    words = _FAILED if isinstance(view, dict) else clean_text(str(message.text))
    return {"error": {"code": "tool_error", "message": words}}


def _read(message: ToolMessage) -> Any:
    """The content: the JSON of its text, its text if that is not JSON, or its blocks."""
    content = message.content
    if isinstance(content, list) and not all(
        isinstance(block, str) or block.get("type") == "text" for block in content
    ):
        return content
    text = str(message.text)
    if len(text) > MAX_RESULT_CHARS or has_more_values(
        text.encode(errors="surrogatepass"), MAX_RESULT_VALUES
    ):
        return text
    try:
        return strict_json.read(text, constant=_null)
    except ValueError:
        return text


def _null(_constant: str) -> None:
    """For NaN and infinities, as JavaScript writes them."""
