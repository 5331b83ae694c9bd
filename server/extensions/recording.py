"""Audit records on their way to the extensions that keep them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from turnstream.server.extensions.base import MAX_WRITES, Extension, ExtensionError, Write
from turnstream.server.storage.also import Also
from turnstream.server.storage.extension_writes import required, tolerated
from turnstream.server.turns.audit_records import AuditRecord

T = TypeVar("T")

logger = logging.getLogger(__name__)


class AuditRecorder:
    """`extensions` in their declared order. With `records` they are asked even if they record
    nothing of runs and requests: an administrator's deeds are recorded before callers are known."""

    def __init__(self, extensions: Sequence[Extension] = (), *, records: bool = False) -> None:
        keeping = [each for each in extensions if records or each.records]
        self._recording = overriding(keeping, Extension.record)
        self._noting = overriding(keeping, Extension.note)
        self.is_on = bool(self._recording or self._noting)

    def joining(self, *records: AuditRecord) -> Also:
        """Return the writes that join the transaction of what the records tell."""
        also: list[Callable[..., object]] = []
        for extension in self._recording:
            try:
                also += joined(extension, extension.record(records))
            except Exception:
                named = {"extension": extension.name}
                logger.exception("extension %(extension)s records nothing: it failed", named)
        return also

    def note(self, *records: AuditRecord) -> None:
        for extension in self._noting:
            try:
                extension.note(records)
            except Exception:
                named = {"extension": extension.name}
                logger.exception("extension %(extension)s notes nothing: it failed", named)


def in_order(extensions: Sequence[Extension]) -> list[Extension]:
    return sorted(extensions, key=lambda extension: (extension.order, extension.name))


def overriding(extensions: Sequence[Extension], hook: Callable[..., object]) -> list[Extension]:
    name = hook.__name__
    return [each for each in extensions if getattr(type(each), name) is not hook]


def the_one(
    extensions: Sequence[Extension], hook: Callable[..., object], deed: str
) -> Extension | None:
    """Return the extension that has a hook of which there may be one. None: none has it. Raises
    ExtensionError if several do."""
    found = overriding(extensions, hook)
    if len(found) > 1:
        names = " and ".join(each.name for each in found)
        raise ExtensionError(f"the extensions {names} all {deed}: leave one on")
    return found[0] if found else None


async def in_time(seconds: float, work: Awaitable[T]) -> T:
    """Raises TimeoutError, and RuntimeError for work that cancels itself: a CancelledError would
    end the task that waits for it."""
    try:
        async with asyncio.timeout(seconds):
            return await work
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task and task.cancelling():
            raise
        raise RuntimeError("it cancelled itself") from None


def joined(extension: Extension, writes: Sequence[Write], *, are_required: bool = False) -> Also:
    """Return writes of an extension, those on its own tables alone, for a transaction of the
    store. `are_required`: a mistake in one of them undoes the transaction."""
    tables = extension.tables.tables.values() if extension.tables else ()
    own = [
        write
        for write in writes
        if (write[0] if isinstance(write, tuple) else write).table in tables
    ]
    if len(own) < len(writes) or len(own) > MAX_WRITES:
        named = {"extension": extension.name, "most": MAX_WRITES}
        logger.error(
            "extension %(extension)s: writes beyond its own tables, and beyond the first %(most)d, "
            "are left out",
            named,
        )
    if are_required:
        return required(own[:MAX_WRITES])
    return tolerated(f"extension {extension.name}", own[:MAX_WRITES])
