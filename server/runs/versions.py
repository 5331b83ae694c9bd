"""The versions of a thread's turns: which of them messages belong to, and how a new one begins.

A message that began a branch names its version (`turnstream.graphs.stored`). So it is always the
messages that say which versions a thread is made of, and a crash leaves nothing that contradicts
them; what the store keeps says which others there are, and where they end.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from langchain_core.messages import AnyMessage, HumanMessage

from turnstream.graphs import stored_user
from turnstream.server.runs.transcript import assistant_id
from turnstream.server.storage.kept_versions import TurnVersion, VersionChanges
from turnstream.server.turns.messages import AssistantTurn, Turn, UserTurn
from turnstream.server.turns.requests import InvalidRequest
from turnstream.server.turns.versions import Versions

Path = Sequence[TurnVersion]
"""The versions that messages are made of, in the order of their places."""
ShownVersions = Mapping[str, Versions]
"""By the id of the turn."""
NO_OTHERS: ShownVersions = {}


class VersionTree:
    """The versions of a thread, as they are kept."""

    def __init__(self, kept: Sequence[TurnVersion] = ()) -> None:
        self.kept = kept
        self._by_id = {version.id: version for version in kept}
        self._original = {
            (version.parent, version.message_id): version for version in kept if version.is_original
        }
        self._message_ids = {version.message_id for version in kept}
        self._in_place = dict[str | None, list[TurnVersion]]()
        for version in kept:
            self._in_place.setdefault(version.parent, []).append(version)

    def path(self, messages: Sequence[AnyMessage]) -> Path:
        if not self.kept:
            return ()
        found, parent = list[TurnVersion](), None
        for message in messages:
            if isinstance(message, HumanMessage) and message.id in self._message_ids:
                named = stored_user.version(message)
                version = (
                    self._original.get((parent, message.id))
                    if named is None
                    else self._by_id.get(named)
                )
                if version is not None:
                    found.append(version)
                    parent = version.id
        return found

    def of(self, messages: Sequence[AnyMessage]) -> ShownVersions:
        """The versions of the thread's messages."""
        path = self.path(messages)
        return self.shown(path, path)

    def find(self, id: str, now: Path) -> TurnVersion | None:
        """A version that is to be looked at or gone on from. None: it is the thread's, of whose
        messages `now` is the path.

        Raises InvalidRequest if the thread has no such version.
        """
        version = self._by_id.get(id)
        if version is not None and version in now:
            return None
        if version is None or version.head is None:
            raise InvalidRequest(
                "unknown_version",
                f"The thread has no version {id[:100]!r}; GET the thread for those of its "
                "messages.",
                404,
            )
        return version

    def shown(self, path: Path, now: Path) -> ShownVersions:
        """The versions of the messages that have several; `path` is that of the messages, `now` the
        thread's."""
        shown = dict[str, Versions]()
        there_now = {version.id for version in now}
        there = there_now | {version.id for version in path}
        for version in path:
            others = [
                other for other in self._in_place[version.parent] if other.head or other.id in there
            ]
            answers = [other.id for other in others if other.question == version.question]
            questions = _questions(others, version, there_now)
            if len(questions) > 1:
                shown[version.message_id] = Versions(questions, version.id)
            if len(answers) > 1:
                shown[assistant_id(version.message_id)] = Versions(tuple(answers), version.id)
        return shown


NO_VERSIONS = VersionTree()


def _questions(others: Path, version: TurnVersion, now: Collection[str]) -> tuple[str, ...]:
    """One of each question: that which is shown, or the thread has, or was left last."""

    def rank(other: TurnVersion) -> tuple[bool, bool, str]:
        return other == version, other.id in now, other.head or ""

    asked = dict[str, list[TurnVersion]]()
    for other in others:
        asked.setdefault(other.question, []).append(other)
    return tuple(max(answers, key=rank).id for answers in asked.values())


def with_versions(turns: tuple[Turn, ...], versions: ShownVersions) -> tuple[Turn, ...]:
    if not versions:
        return turns
    return tuple(
        replace(turn, versions=versions[turn.id]) if turn.id in versions else turn for turn in turns
    )


def with_empty_answer(turns: tuple[Turn, ...], versions: ShownVersions) -> tuple[Turn, ...]:
    """The last turns of a thread. An answer made anew of which a crash has left nothing stands
    there empty: its message is where the other versions are found."""
    if not turns or not isinstance(turns[-1], UserTurn):
        return turns
    id = assistant_id(turns[-1].id)
    return (*turns, AssistantTurn(id, ())) if id in versions else turns


@dataclass(frozen=True, slots=True)
class Left:
    """A branch as it is when a request leaves it."""

    messages: Sequence[AnyMessage]
    head: str | None
    """Its last checkpoint."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that asks something in the place of a message, or that message again."""

    run_id: str
    replaced: AnyMessage
    message_id: str
    """The id of the message that it asks."""
    is_edit: bool


def changes(tree: VersionTree, thread: Left, branch: Left, begun: Begun | None) -> VersionChanges:
    """Return the changes of a run that leaves `thread` and goes on from `branch`, which is the
    thread itself or one that it had left; None: from its end."""
    now, path = tree.path(thread.messages), tree.path(branch.messages)
    removed = _never_begun(tree, now)
    put = {version.id: version for version in _left(now, path, thread.head)}
    if begun is not None:
        here = [put.get(version.id, version) for version in tree.kept if version.id not in removed]
        put |= {version.id: version for version in _begun(VersionTree(here), branch, begun)}
    changed = {*put, *removed}
    replaced = [version for version in tree.kept if version.id in changed]
    return VersionChanges([*put.values()], removed, replaced=replaced)


def _left(now: Path, path: Path, head: str | None) -> Iterator[TurnVersion]:
    kept = {version.id for version in path}
    return (replace(version, head=head) for version in now if version.id not in kept)


def _never_begun(tree: VersionTree, now: Path) -> Sequence[str]:
    there = {version.id for version in now}
    return [v.id for v in tree.kept if v.head is None and v.id not in there]


def _begun(tree: VersionTree, branch: Left, begun: Begun) -> Iterator[TurnVersion]:
    """The new version, and the others that the branch leaves for it."""
    path = tree.path(branch.messages)
    places = {message.id: place for place, message in enumerate(branch.messages)}
    place = places[begun.replaced.id]
    before = [version for version in path if places[version.message_id] < place]
    parent = before[-1].id if before else None
    number = 1 + max((version.number for version in tree.kept), default=0)
    old = next((version for version in path if places[version.message_id] == place), None)
    if old is None:
        id = f"before-{begun.run_id}"
        old = TurnVersion(id, number, parent, id, begun.replaced.id or "", is_original=True)
        number += 1
        # What is kept of later places belongs to this version from now on.
        for version in tree.kept:
            if version.parent == parent:
                yield replace(version, parent=id, head=_head(version, path, branch))
    yield replace(old, head=branch.head)
    for version in path:
        if places[version.message_id] > place and version.parent != parent:
            yield replace(version, head=branch.head)
    question = begun.run_id if begun.is_edit else old.question
    yield TurnVersion(begun.run_id, number, parent, question, begun.message_id, is_original=False)


def _head(version: TurnVersion, path: Path, branch: Left) -> str | None:
    return branch.head if version in path else version.head
