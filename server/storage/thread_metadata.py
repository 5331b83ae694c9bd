"""Metadata of threads, which clients keep with them: the part of the store."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import RunRecord

MAX_METADATA_CHARS = 16_000
"""Of the JSON that one thread has."""

Metadata = Mapping[str, Any]
"""Values of JSON, by name."""


class MetadataTooLarge(Exception):
    """A thread would have more than MAX_METADATA_CHARS."""


class ThreadMetadata(Protocol):
    """The part of the store that keeps metadata of threads. Raises StorageUnavailable."""

    async def merge_metadata(self, key: ThreadKey, changes: Metadata) -> Metadata | None:
        """Set values by name, the others stay. Return all of them; None: there is no such thread.
        Raises MetadataTooLarge."""

    async def metadata(self, owner: str, thread_ids: Sequence[str]) -> Mapping[str, Metadata]:
        """Return what threads have, by id; those that have nothing are left out."""

    async def run_record(self, key: ThreadKey, run_id: str) -> RunRecord | None:
        """Return what a client has said of the thread's last run. None: nothing, or it is not the
        last."""


def metadata_text(kept: Metadata) -> str:
    """Write metadata as JSON. Raises MetadataTooLarge."""
    text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    if len(text) > MAX_METADATA_CHARS:
        raise MetadataTooLarge
    return text
