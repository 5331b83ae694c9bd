"""Assistants that clients keep: a graph under a name, with values that its runs get. The part of
the store."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

MAX_ASSISTANTS = 200
"""Bound of one owner."""
MAX_VERSIONS = 20
"""Bound of one assistant: the oldest make room."""
MAX_ASSISTANT_CHARS = 16_000
"""Bound of the JSON of one version."""

Json = Mapping[str, Any]


class AssistantTooLarge(Exception):
    """A version would have more than MAX_ASSISTANT_CHARS."""


class TooManyAssistants(Exception):
    """The owner has MAX_ASSISTANTS."""


@dataclass(frozen=True, slots=True)
class Content:
    """The content of one version: all that a client can change."""

    graph: str
    name: str
    description: str | None = None
    config: Json = field(default_factory=dict)
    context: Json = field(default_factory=dict)
    metadata: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Assistant:
    """One version of an assistant."""

    id: str
    version: int
    created_at: str
    """The time at which the assistant was made."""
    updated_at: str
    """The time at which this version was made."""
    content: Content


class AssistantStore(Protocol):
    """The part of the store that keeps assistants. Raises StorageUnavailable."""

    async def create_assistant(self, owner: str, id: str, content: Content) -> Assistant | None:
        """None: the owner has an assistant of this id. Raises AssistantTooLarge,
        TooManyAssistants."""

    async def update_assistant(self, owner: str, id: str, changes: Json) -> Assistant | None:
        """Make a version of the latest one and of these fields of `Content`, of which `metadata` is
        merged. None: there is no such assistant. Raises AssistantTooLarge."""

    async def choose_version(self, owner: str, id: str, version: int) -> Assistant | None:
        """Make a version the latest one. None: there is no such version."""

    async def delete_assistant(self, owner: str, id: str) -> bool:
        """False: there is no such assistant."""

    async def forget_assistants(self, owner: str) -> None:
        """Delete all assistants of an owner."""

    async def assistant(self, owner: str, id: str) -> Assistant | None:
        """Return the latest version."""

    async def assistants(self, owner: str) -> Sequence[Assistant]:
        """List the latest version of each assistant, the newest assistant first."""

    async def assistant_versions(self, owner: str, id: str) -> Sequence[Assistant]:
        """List the versions, the newest first; none if there is no such assistant."""


def content_text(content: Json) -> str:
    """Write the content of a version as JSON. Raises AssistantTooLarge."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    if len(text) > MAX_ASSISTANT_CHARS:
        raise AssistantTooLarge
    return text
