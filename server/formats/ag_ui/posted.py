"""AG-UI: whether the messages that a client has posted are those of the thread.

They are compared by turns, not by messages: a client may put the steps of a turn together, and
write blanks between them. What counts is who said what in which order, which calls were made, and
which tool message answers each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnstream.server.formats.ag_ui.snapshot import Message


@dataclass(frozen=True, slots=True)
class Outline:
    turns: Sequence[Sequence[str]]
    """Of a user's turn: `user`, the message's id, the words. Of another: `assistant`, the words of
    its texts and the ids of its calls, in order."""
    results: Mapping[str, str]
    """The ids of the tool messages, by call id."""

    def lacks_results(self, truth: "Outline") -> bool:
        """Whether results are all that it lacks, if anything."""
        return self.turns == truth.turns and self.results.items() <= truth.results.items()


def outline(messages: Sequence[Any]) -> Outline:
    """Of messages as they come: what is not one of AG-UI's is passed over."""
    turns: list[list[str]] = []
    results: dict[str, str] = {}
    for message in messages:
        match message:
            case {"role": "user"}:
                turns.append(["user", str(message.get("id")), *_words(message)])
            case {"role": "assistant"}:
                if not turns or turns[-1][0] == "user":
                    turns.append(["assistant"])
                turns[-1] += [*_words(message), *_calls(message)]
            case {"role": "tool"}:
                results.setdefault(str(message.get("toolCallId")), str(message.get("id")))
    return Outline([turn for turn in turns if turn != ["assistant"]], results)


def _words(message: Mapping[str, Any]) -> list[str]:
    match message.get("content"):
        case str(text):
            return text.split()
        case list(parts):
            return [word for part in parts for word in _words_of(part)]
    return []


def _words_of(part: Any) -> list[str]:
    match part:
        case {"type": "text", "text": str(text)}:
            return text.split()
    return []


def _calls(message: Mapping[str, Any]) -> list[str]:
    calls = message.get("toolCalls")
    if not isinstance(calls, list):
        return []
    return [str(call["id"]) for call in calls if isinstance(call, dict) and "id" in call]


def keeps_order(posted: Sequence[Any], messages: Sequence[Message]) -> bool:
    """Whether a client that holds `posted` has these messages, in their order, once it has got them
    as one snapshot.

    It keeps those that it knows where they are, appends the others, and drops the rest; but not
    reasoning, unless the snapshot has some.
    """
    roles = {str(m.get("id")): str(m.get("role")) for m in posted if isinstance(m, dict)}
    ids = [message["id"] for message in messages]
    kept = [id for id in roles if id in set(ids)]
    merged = [*kept, *(id for id in ids if id not in roles)]
    has_reasoning = any(message["role"] == "reasoning" for message in messages)
    leaves = any(role == "reasoning" for id, role in roles.items() if id not in set(ids))
    return merged == ids and (has_reasoning or not leaves)
