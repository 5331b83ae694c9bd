"""`turnstream audit`: who did what, and when."""

import argparse
import json
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, get_args

from turnstream.server.extensions.audit import records
from turnstream.server.extensions.audit.records import AuditFilter
from turnstream.server.extensions.base import Database
from turnstream.server.extensions.commands import (
    Command,
    add_command,
    moment,
    shown_time,
    write_table,
)
from turnstream.server.turns.audit_records import AuditEvent, AuditRecord

PAGE = 1000
"""Records that are read at once, and whose columns have one width."""
TITLES = ("TIME", "EVENT", "CALLER", "THREAD", "RUN", "WHAT", "OUTCOME", "TOKENS", "MS", "ADDRESS")


def add_to(groups: Any) -> None:
    help = "who did what, and when; the oldest first"
    parser = add_command(groups, "audit", _show, help, opens_tables=False)
    parser.add_argument("--principal", metavar="P", help="of this caller alone")
    parser.add_argument("--thread", metavar="T", help="of this thread alone")
    parser.add_argument("--event", choices=get_args(AuditEvent), help="of this event alone")
    parser.add_argument("--since", metavar="D", help="7d, or a date: 2027-01-31")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


async def _show(command: Command) -> None:
    write = _write_json if command.options.json else _write_rows
    is_first = True
    async for page in _pages(command.store, command.options):
        write(page, is_first)
        is_first = False
    if is_first:
        write([], is_first)


async def _pages(
    database: Database, options: argparse.Namespace
) -> AsyncIterator[list[AuditRecord]]:
    since = moment("--since", options.since, ahead=False) if options.since else None
    filter = AuditFilter(options.principal, options.thread, options.event, since)
    last = 0
    if not await database.read(records.has_table):
        return
    while page := await database.read(records.page, filter, last, PAGE):
        last = page[-1][0]
        yield [record for _, record in page]


def _write_rows(records: Sequence[AuditRecord], is_first: bool) -> None:
    write_table([*([TITLES] if is_first else []), *map(_row, records)])


def _write_json(records: Sequence[AuditRecord], _is_first: bool) -> None:
    for record in records:
        values = asdict(record)
        at = datetime.fromtimestamp(values.pop("at"), UTC).isoformat(timespec="milliseconds")
        told = {name: value for name, value in values.items() if value is not None}
        # Pure ASCII: neither the terminal's control characters nor what turns a line around.
        line = json.dumps({"at": at, **told}).replace("\x7f", "\\u007f")
        sys.stdout.write(f"{line}\n")


def _row(record: AuditRecord) -> tuple[str, ...]:
    tokens = None
    if record.input_tokens is not None:
        tokens = f"{record.input_tokens}+{record.output_tokens}"
    outcome = " ".join(str(part) for part in (record.outcome, record.count) if part is not None)
    cells = (
        record.event,
        record.principal,
        record.thread_id,
        record.run_id,
        record.name,
        outcome or None,
        tokens,
        record.duration_ms,
        record.address,
    )
    shown = ("-" if cell is None else str(cell) for cell in cells)
    return shown_time(record.at, seconds=True), *shown
