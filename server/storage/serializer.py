"""LangGraph's serializer, for threads whose tools return artifacts that it cannot write."""

import logging
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

logger = logging.getLogger(__name__)

MAX_LEVELS = 4
"""Levels of a saved value in which messages are looked for."""


class ThreadSerializer(JsonPlusSerializer):
    """Writes a tool message without what cannot be saved of its artifact: objects of classes that
    msgpack does not know, functions, cycles.

    An entry of an artifact that is a dict becomes `{"hidden": true}`, any other artifact None.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._warned: set[str] = set()

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        try:
            return super().dumps_typed(obj)
        except TypeError:
            return super().dumps_typed(self._cleaned(obj, MAX_LEVELS))

    def _cleaned(self, value: Any, levels: int) -> Any:
        if isinstance(value, ToolMessage):
            return value if self._can_write(value.artifact) else self._without(value)
        if levels and isinstance(value, list | tuple):
            return [self._cleaned(item, levels - 1) for item in value]
        if levels and isinstance(value, dict):
            return {key: self._cleaned(item, levels - 1) for key, item in value.items()}
        return value

    def _without(self, message: ToolMessage) -> ToolMessage:
        name = message.name or ""
        if name not in self._warned:
            self._warned.add(name)
            logger.warning("an artifact of the tool %(tool)s cannot be saved", {"tool": name})
        artifact = None
        if isinstance(message.artifact, dict):
            artifact = {
                key: item if self._can_write(item) else {"hidden": True}
                for key, item in message.artifact.items()
            }
        return message.model_copy(update={"artifact": artifact})

    def _can_write(self, value: Any) -> bool:
        """In a message, which makes dicts of the models within."""
        try:
            super().dumps_typed(ToolMessage("", tool_call_id="", artifact=value))
        except TypeError:
            return False
        return True
