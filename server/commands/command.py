"""A command of an administrator: how it is named, and what it gets."""

import argparse
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from turnstream.server.extensions.base import Extension
from turnstream.server.extensions.loading import switched_on, tables_of
from turnstream.server.extensions.recording import AuditRecorder, in_order, overriding
from turnstream.server.settings import Settings
from turnstream.server.storage.opened import ServerStore


@dataclass(frozen=True, slots=True)
class Command:
    store: ServerStore
    settings: Settings
    options: argparse.Namespace
    extensions: tuple[type[Extension], ...]

    async def recorder(self) -> AuditRecorder:
        """Return what records the administrator's deeds. Raises ExtensionError, StorageError,
        StorageUnavailable."""
        on = in_order(switched_on(self.extensions, self.settings))
        recording = overriding(on, Extension.record)
        await self.store.open_extensions(tables_of(recording), is_shared=False)
        return AuditRecorder(recording, records=True)


def add_command(
    group: Any,
    name: str,
    carry_out: Callable[[Command], Awaitable[None]],
    help: str,
    *,
    creates: bool = False,
) -> argparse.ArgumentParser:
    """`creates`: it may make the database."""
    parser: argparse.ArgumentParser = group.add_parser(name, help=help, description=help)
    parser.set_defaults(carry_out=carry_out, creates=creates)
    return parser
