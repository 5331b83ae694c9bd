"""Versions of turns, at random: every branch that was left is found again, as it was."""

import random
from dataclasses import dataclass, field

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from turnstream.graphs import stored_user
from turnstream.server.extensions.base import Branch, Branching
from turnstream.server.extensions.versions.tree import (
    TurnVersion,
    VersionChanges,
    VersionTree,
    changes,
)

Messages = list[AnyMessage]
Said = tuple[str, ...]


@dataclass
class Thread:
    """A thread, its checkpoints, and what is kept of its versions."""

    messages: Messages = field(default_factory=list)
    heads: dict[str, Messages] = field(default_factory=dict)
    kept: dict[str, TurnVersion] = field(default_factory=dict)
    runs: int = 0

    @property
    def tree(self) -> VersionTree:
        return VersionTree(sorted(self.kept.values(), key=lambda version: version.number))

    @property
    def now(self) -> Branch:
        return Branch(self.messages, self._saved(self.messages))

    def look(self, version: str) -> Branch:
        head = self.tree.head(version, self.messages)
        return self.now if head is None else Branch(self.heads[head], head)

    def run(
        self,
        branch: Branch,
        replaced: HumanMessage | None,
        *,
        edits: bool,
        begins: bool = True,
        notes: bool = True,
    ) -> None:
        """`begins`: False, the process dies when the store has noted the run and no more. `notes`:
        False, nothing keeps versions."""
        self.runs += 1
        run_id, number = f"r{self.runs}", self.runs
        asked = HumanMessage(f"Q{number}", id=f"q{number}")
        before = list(branch.messages)
        if replaced is not None:
            before = before[: before.index(replaced)]
            if not edits:
                asked = HumanMessage(replaced.content, id=replaced.id)
            asked = stored_user.with_version(asked, run_id)
        if notes:
            branching = Branching(self.now, branch, replaced, asked.id or "", is_edit=edits)
            self._change(changes(self.tree, branching, run_id))
        if begins:
            self.messages = [*before, asked, AIMessage(f"A{number}", id=f"a{number}")]

    def _change(self, done: VersionChanges) -> None:
        for id in (*done.removed, *(version.id for version in done.put)):
            self.kept.pop(id, None)
        self.kept |= {version.id: version for version in done.put}

    def _saved(self, messages: Messages) -> str:
        head = f"head of {said(messages)}"
        self.heads[head] = messages
        return head


def said(messages: Messages) -> Said:
    return tuple(message.text for message in messages)


def reached(thread: Thread) -> set[Said]:
    """All branches that a person finds who looks at one version after the other."""
    found, todo = set[Said](), [thread.now]
    while todo:
        branch = todo.pop()
        if said([*branch.messages]) in found:
            continue
        found.add(said([*branch.messages]))
        tree = thread.tree
        shown = tree.shown(branch.messages, thread.messages)
        for turn_id, versions in shown.items():
            assert versions.shown in versions.ids
            assert len(set(versions.ids)) == len(versions.ids) > 1
            others = [thread.look(id) for id in versions.ids]
            words = {asked_as(thread, *pair) for pair in zip(others, versions.ids, strict=True)}
            assert len(words) == (1 if turn_id.endswith(".a") else len(others))
            todo += others
    return found


def asked_as(thread: Thread, branch: Branch, id: str) -> str:
    """The words of the user's message that a version is of."""
    message_id = thread.kept[id].message_id
    return next(message.text for message in branch.messages if message.id == message_id)


def branches(thread: Thread) -> set[Said]:
    """Those that no other goes on from."""
    all_said = {said(thread.messages), *map(said, thread.heads.values())}
    return {one for one in all_said if not any(o != one and o[: len(one)] == one for o in all_said)}


@pytest.mark.parametrize("seed", range(40))
def test_every_branch_is_found_from_every_other(seed: int) -> None:
    dice, thread = random.Random(seed), Thread()
    thread.run(thread.now, None, edits=False)
    for _ in range(25):
        shown = thread.tree.kept
        branch = thread.now
        if shown and dice.random() < 0.3:
            branch = thread.look(dice.choice([v for v in shown if v.head]).id)
        asked = [m for m in branch.messages if isinstance(m, HumanMessage)]
        replaced = dice.choice([None, None, *asked])
        begins = dice.random() < 0.9
        thread.run(branch, replaced, edits=dice.random() < 0.5, begins=begins)
        assert reached(thread) == branches(thread)
        if begins:
            path = thread.tree.path(thread.messages)
            assert all(version.head or version in path for version in thread.tree.kept)


@pytest.mark.parametrize("seed", range(20))
def test_versions_are_right_behind_branches_that_nothing_has_noted(seed: int) -> None:
    dice, thread = random.Random(seed), Thread()
    thread.run(thread.now, None, edits=False)
    for step in range(40):
        asked = [m for m in thread.messages if isinstance(m, HumanMessage)]
        notes = step % 20 > 4
        replaced = dice.choice([None, *asked])
        before = thread.messages
        thread.run(thread.now, replaced, edits=dice.random() < 0.5, notes=notes)
        found = reached(thread)
        assert found <= branches(thread)
        if notes and replaced is not None:
            assert {said(before), said(thread.messages)} <= found


def test_what_a_version_is_called_stays() -> None:
    thread = Thread()
    thread.run(thread.now, None, edits=False)
    for _ in range(3):
        [asked] = (each for each in thread.messages if isinstance(each, HumanMessage))
        thread.run(thread.now, asked, edits=False)
    tree = thread.tree
    [shown] = tree.shown(thread.messages, thread.messages).values()
    assert (shown.ids, shown.shown) == (("before-r2", "r2", "r3", "r4"), "r4")
    assert said([*thread.look("before-r2").messages]) == ("Q1", "A1")


def test_a_thread_without_versions_looks_at_none_of_its_messages() -> None:
    class Unread(list[AnyMessage]):
        def __iter__(self) -> None:  # type: ignore[override]
            raise AssertionError("read")

    assert VersionTree().shown(Unread(), Unread()) == {}
