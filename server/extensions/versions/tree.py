"""The versions of a thread's turns: which of them messages belong to, and how a new one begins.

A message that began a branch names its run (`turnstream.graphs.stored_user`), which is the id of
its version. So it is always the messages that say which versions a thread is made of, and a crash
leaves nothing that contradicts them; the rows say which others there are, and where they end.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from langchain_core.messages import AnyMessage, HumanMessage

from turnstream.graphs import stored_user
from turnstream.server.extensions.base import Branch, Branching
from turnstream.server.runs.transcript import assistant_id
from turnstream.server.turns.versions import Versions, unknown_version


@dataclass(frozen=True, slots=True)
class TurnVersion:
    """A user's message and what follows it: one of several in the same place of a thread.

    Those in one place have the same `parent`; a parent has versions in one further place at most.
    """

    id: str
    number: int
    """Its number among the thread's versions, in the order in which they were noted."""
    parent: str | None
    """The version in an earlier place that this one belongs to. None: there is no earlier place."""
    question: str
    """The id of the first version with the same words: the others answer them anew."""
    message_id: str
    """The user message's."""
    is_original: bool
    """It was there before any other in its place: its message does not name its version."""
    head: str | None = None
    """The last checkpoint of the branch, when the thread left it last. None: never yet."""


@dataclass(frozen=True, slots=True)
class VersionChanges:
    """The changes that a run makes to its thread's versions when it begins a branch, or goes to
    another one."""

    put: Sequence[TurnVersion] = ()
    """New ones, and others as they are from now on."""
    removed: Sequence[str] = ()
    """The ids of those whose run broke off before it began its branch."""


Path = Sequence[TurnVersion]
"""The versions that messages are made of, in the order of their places."""


class VersionTree:
    """The versions of a thread, as they are kept: implements
    `turnstream.server.extensions.base.ThreadVersions`."""

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

    def head(self, version: str, thread: Sequence[AnyMessage]) -> str | None:
        found = self._by_id.get(version)
        if found is not None and found in self.path(thread):
            return None
        if found is None or found.head is None:
            raise unknown_version(version)
        return found.head

    def shown(
        self, messages: Sequence[AnyMessage], thread: Sequence[AnyMessage]
    ) -> Mapping[str, Versions]:
        path = self.path(messages)
        now = path if thread is messages else self.path(thread)
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


def _questions(others: Path, version: TurnVersion, now: Collection[str]) -> tuple[str, ...]:
    """One of each question: that which is shown, or the thread has, or was left last."""

    def rank(other: TurnVersion) -> tuple[bool, bool, str]:
        return other == version, other.id in now, other.head or ""

    asked = dict[str, list[TurnVersion]]()
    for other in others:
        asked.setdefault(other.question, []).append(other)
    return tuple(max(answers, key=rank).id for answers in asked.values())


def changes(tree: VersionTree, branching: Branching, run_id: str) -> VersionChanges:
    """Return the changes that a run makes to its thread's versions."""
    left, followed = branching.left, branching.followed
    now, path = tree.path(left.messages), tree.path(followed.messages)
    removed = _never_begun(tree, now)
    put = {version.id: version for version in _left(now, path, left.head)}
    if branching.replaced is not None:
        here = [put.get(version.id, version) for version in tree.kept if version.id not in removed]
        begun = _begun(VersionTree(here), followed, branching, branching.replaced, run_id)
        put |= {version.id: version for version in begun}
    return VersionChanges([*put.values()], removed)


def _left(now: Path, path: Path, head: str | None) -> Iterator[TurnVersion]:
    kept = {version.id for version in path}
    return (replace(version, head=head) for version in now if version.id not in kept)


def _never_begun(tree: VersionTree, now: Path) -> Sequence[str]:
    there = {version.id for version in now}
    return [v.id for v in tree.kept if v.head is None and v.id not in there]


def _begun(
    tree: VersionTree, branch: Branch, branching: Branching, replaced: HumanMessage, run_id: str
) -> Iterator[TurnVersion]:
    """The new version, and the others that the branch leaves for it."""
    path = tree.path(branch.messages)
    places = {message.id: place for place, message in enumerate(branch.messages)}
    place = places[replaced.id]
    before = [version for version in path if places[version.message_id] < place]
    parent = before[-1].id if before else None
    number = 1 + max((version.number for version in tree.kept), default=0)
    old = next((version for version in path if places[version.message_id] == place), None)
    if old is None:
        # A message that names a version that is not kept began its branch while nothing kept it.
        named = stored_user.version(replaced)
        id = named or f"before-{run_id}"
        old = TurnVersion(id, number, parent, id, replaced.id or "", is_original=named is None)
        number += 1
        # What is kept of later places belongs to this version from now on.
        for version in tree.kept:
            if version.parent == parent:
                yield replace(version, parent=id, head=_head(version, path, branch))
    yield replace(old, head=branch.head)
    for version in path:
        if places[version.message_id] > place and version.parent != parent:
            yield replace(version, head=branch.head)
    question = run_id if branching.is_edit else old.question
    yield TurnVersion(run_id, number, parent, question, branching.message_id, is_original=False)


def _head(version: TurnVersion, path: Path, branch: Branch) -> str | None:
    return branch.head if version in path else version.head
