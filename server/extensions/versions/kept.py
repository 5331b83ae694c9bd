"""The versions of threads in the database.

The messages of every branch are in the checkpoints. A row names one version of a turn, so that a
thread can say which versions a message has without loading any of them.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from turnstream.server.extensions.base import Database, RunSpec, Write
from turnstream.server.extensions.versions.tables import versions
from turnstream.server.extensions.versions.tree import (
    TurnVersion,
    VersionChanges,
    VersionTree,
    changes,
)
from turnstream.server.turns.header import ThreadKey
from turnstream.tools.threads import beside_loop

ROWS_AT_ONCE = 500
"""Rows of one statement: a database takes so many parameters and no more."""

_ALL = (
    select(
        versions.c.id,
        versions.c.number,
        versions.c.parent,
        versions.c.question,
        versions.c.message_id,
        versions.c.is_original,
        versions.c.head,
    )
    .where(
        versions.c.owner == bindparam("of_owner"),
        versions.c.thread_id == bindparam("of_thread"),
    )
    .order_by(versions.c.number)
)


class KeptVersions:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_thread(self, key: ThreadKey) -> VersionTree:
        """Return the versions of a thread's turns. Raises StorageUnavailable."""
        return VersionTree(await self._database.read(_of_thread, key))

    async def follow(self, spec: RunSpec) -> Sequence[Write]:
        """Return the writes for a run that begins; none, if it leaves no branch. Raises
        StorageUnavailable."""
        branching = spec.branching
        if branching is None:
            return ()
        tree = await self.of_thread(spec.key)
        length = len(branching.left.messages) + len(branching.followed.messages)
        work = partial(changes, tree, branching, spec.run_id)
        return [*writes(spec.key, tree, await beside_loop(length, work))]


def writes(key: ThreadKey, tree: VersionTree, changed: VersionChanges) -> Iterator[Write]:
    """Yield the statements that make changes to the versions of a thread, which are those of
    `tree`."""
    of_thread = versions.c.owner == key.owner, versions.c.thread_id == key.thread_id
    for some in _portions(changed.removed):
        yield delete(versions).where(*of_thread, versions.c.id.in_(some))
    known = {version.id: version for version in tree.kept}
    # By their new values: one statement for all versions of a branch. A column that only a later
    # version of this extension knows keeps its value.
    alike = defaultdict[tuple[tuple[str, str | None], ...], list[str]](list)
    for version in changed.put:
        if version.id in known:
            alike[_difference(known[version.id], version)].append(version.id)
    for values, ids in alike.items():
        for some in _portions(ids) if values else ():
            yield update(versions).where(*of_thread, versions.c.id.in_(some)).values(dict(values))
    mine = {"owner": key.owner, "thread_id": key.thread_id}
    new = [{**mine, **asdict(version)} for version in changed.put if version.id not in known]
    for start in range(0, len(new), ROWS_AT_ONCE):
        yield insert(versions).values(new[start : start + ROWS_AT_ONCE])


def _portions(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + ROWS_AT_ONCE] for start in range(0, len(ids), ROWS_AT_ONCE))


def _difference(before: TurnVersion, after: TurnVersion) -> tuple[tuple[str, str | None], ...]:
    """The columns that change; of a version that is known no others do."""
    fields = {"parent": after.parent, "head": after.head}
    return tuple((name, value) for name, value in fields.items() if getattr(before, name) != value)


def _of_thread(connection: Connection, key: ThreadKey) -> Sequence[TurnVersion]:
    mine = {"of_owner": key.owner, "of_thread": key.thread_id}
    return [TurnVersion(*row) for row in connection.execute(_ALL, mine)]
