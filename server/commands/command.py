"""What the commands share: how one is named and called, times as people write and read them,
tables."""

import argparse
import re
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from turnstream.server.logs.messages import escape
from turnstream.server.settings import Settings
from turnstream.server.storage.also import Also
from turnstream.server.storage.audit_records import AuditEvent, AuditRecord
from turnstream.server.storage.audit_store import SqlAuditStore
from turnstream.server.storage.opened import ServerStore

_DAYS = re.compile(r"([1-9][0-9]{0,4})d")
DAY_SECONDS = 86_400


class CommandError(Exception):
    """The command cannot be carried out; the message is for who gave it."""


@dataclass(frozen=True, slots=True)
class Command:
    store: ServerStore
    settings: Settings
    options: argparse.Namespace

    @property
    def audits(self) -> bool:
        """Also while authentication is off: keys are made before it is switched on."""
        return self.settings.audit_days > 0

    def recorded(self, event: AuditEvent, principal: str | None, **values: Any) -> Also:
        """Return what records a deed in the transaction of it."""
        if not self.audits:
            return ()
        return SqlAuditStore(self.store).joining([AuditRecord(event, principal, **values)])


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


def moment(option: str, text: str, *, ahead: bool) -> float:
    """`30d`, from now on or before now, or a date: a Unix time. Raises CommandError."""
    days = _DAYS.fullmatch(text)
    if days:
        seconds = int(days[1]) * DAY_SECONDS
        return time.time() + (seconds if ahead else -seconds)
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(
            f"{option} {text!r}: give days such as 30d, or a date such as 2027-01-31"
        ) from None
    return date.replace(tzinfo=date.tzinfo or UTC).timestamp()


def shown_time(moment: float | None, *, seconds: bool = False) -> str:
    form = "%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M"
    return datetime.fromtimestamp(moment, UTC).strftime(form) if moment else "-"


def write_table(rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their widest cell; what steers a terminal is written out."""
    shown = [[escape(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write(f"{line.rstrip()}\n")
