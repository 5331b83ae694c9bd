"""The speakers of a graph, and whose words a client does not get to see or to keep."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Speaker:
    """A node at work. `namespace` has the tasks of the subgraphs around it, outermost first, each
    `node:task id` as LangGraph writes them; `task` is the root graph's, in the same form."""

    node: str | None = None
    namespace: tuple[str, ...] = ()
    task: str = ""
    agent: str | None = None
    """The name of an agent that runs under a tool call."""

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes around the speaker and itself: the same in every run."""
        around = (segment.partition(":")[0] for segment in self.namespace)
        return (*around, self.node or "")


def speaker_of(namespace: tuple[str, ...], about: Mapping[str, Any]) -> Speaker:
    """Return the speaker of an item of the stream mode `messages`, by its metadata."""
    task, _, _ = str(about.get("langgraph_checkpoint_ns", "")).partition("|")
    return Speaker(about.get("langgraph_node"), namespace, task)


def is_internal(about: Mapping[str, Any]) -> bool:
    """Check that a model call is one that middleware of LangChain makes for itself, as for a
    summary: it marks the call's metadata."""
    return bool(about.get("lc_internal_call")) or "lc_source" in about


@dataclass(slots=True)
class Speakers:
    """The server's knowledge of a graph's speakers: `hidden` by a setting, and from the runs since
    it started those whose words the thread did not get."""

    hidden: frozenset[str] = frozenset()
    _withdrawn: set[tuple[str, ...]] = field(default_factory=set)

    def is_hidden(self, speaker: Speaker) -> bool:
        return bool(self.hidden) and not self.hidden.isdisjoint(speaker.names)

    def note_withdrawn(self, speaker: Speaker) -> None:
        self._withdrawn.add(speaker.names)

    def is_lasting(self, speaker: Speaker) -> bool:
        """Check that the thread is to keep what the speaker said before it was cut off."""
        return speaker.names not in self._withdrawn


@dataclass(slots=True)
class RunningTasks:
    """The tasks that are at work, by the namespace of their graph, from the stream mode `tasks`."""

    _names: dict[tuple[str, ...], dict[str, str]] = field(default_factory=dict)

    def take(self, namespace: tuple[str, ...], data: Mapping[str, Any]) -> None:
        """A task begins, or ends: then it has a `result`."""
        tasks = self._names.setdefault(namespace, {})
        if "result" in data:
            tasks.pop(data["id"], None)
        else:
            tasks[data["id"]] = data["name"]

    def only(self, namespace: tuple[str, ...]) -> str | None:
        """The node that is at work in a graph; None if there are several."""
        names = set(self._names.get(namespace, {}).values())
        return names.pop() if len(names) == 1 else None
