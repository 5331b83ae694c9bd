"""The words of the offline model when no tool is called for."""

from collections.abc import Callable, Mapping
from re import Match, Pattern
from typing import Any

from turnstream.graphs.offline.ask import RENDER, any_case, past
from turnstream.graphs.offline.examples import EXAMPLES, PLANNING
from turnstream.graphs.offline.figure import listed
from turnstream.graphs.offline.history import Turn
from turnstream.graphs.offline.maintenance import NO_COMMAND, SCHEDULE, UNPLANNED
from turnstream.tools.solar import offers_demo

MAX_WORDS = 5000
STORY_WORDS = 300

Tools = Mapping[str, Mapping[str, Any]]
Reply = Callable[[Match[str], Turn, Tools], str]

_NAME = any_case(
    r"\b(?:my name is\s+|(?:call me|I'm|I am)\s+(?=(?-i:[A-Z])))(?P<name>[^\W\d_][\w'-]*)"
)

MARKDOWN = """\
## A sample of markdown

Text can be **bold**, *italic* or `code`, with a [link](https://langchain-ai.github.io/langgraph/).

- a list
- of two items

1. first
2. second

| fruit | count |
|---|---:|
| apples | 3 |
| pears | 5 |

```python
def greet(name: str) -> str:
    return f"Hello, {name}!"
```

> And a quotation to end with."""


def talk(turn: Turn, tools: Tools) -> str:
    """Nothing is said to images alone beyond what `sees` has said."""
    if turn.images and not turn.text.strip():
        return ""
    for pattern, reply in REPLIES:
        match = pattern.search(turn.text)
        if match:
            return reply(match, turn, tools)
    return _honest(turn, tools)


def sees(turn: Turn) -> str:
    """Say what was sent beside the text."""
    got = f"You have sent {listed(turn.images)}. I cannot look at images."
    return got if turn.images else ""


def _abilities(_: object, __: Turn, tools: Tools) -> str:
    names = "\n".join(f"- `{name}`" for name in tools) or "- none"
    bound = f"These tools are bound to me:\n\n{names}"
    if not offers_demo(tools):
        return bound
    prompts = "\n".join(f"- {example}" for example in EXAMPLES)
    return f"{bound}\n\nTry one of these:\n\n{prompts}"


def _greeting(_: object, __: Turn, tools: Tools) -> str:
    hint = f"Try me: {EXAMPLES[0]}" if offers_demo(tools) else "Ask me what I can do."
    return f"Hello! I am turnstream's offline model. {hint}"


def _name(_: object, turn: Turn, __: Tools) -> str:
    names = [match["name"] for text in turn.said for match in _NAME.finditer(text)]
    return f"Your name is {names[-1]}." if names else "You have not told me your name."


def _first_said(_: object, turn: Turn, __: Tools) -> str:
    return f'First you said: "{turn.said[0]}"' if turn.said else "This is your first message."


def _last_said(_: object, turn: Turn, __: Tools) -> str:
    return f'Before this you said: "{turn.said[-1]}"' if turn.said else "You said nothing before."


def _shown(_: object, turn: Turn, __: Tools) -> str:
    shown = [
        str(result.arguments.get("component", "component")).replace("_", " ")
        for step in turn.earlier
        for result in step
        if result.tool == RENDER and not result.failed
    ]
    return f"I showed you this: {listed(shown)}." if shown else "I have just shown you nothing."


def _unplanned(_: object, turn: Turn, tools: Tools) -> str:
    if SCHEDULE not in tools or NO_COMMAND.search(turn.text):
        return _honest(turn, tools)
    return f"To plan a visit I need an inverter and a day, as in: {PLANNING}"


def _honest(_: Turn, tools: Tools) -> str:
    using = f" by calling {listed([f'`{name}`' for name in tools])}" if tools else ""
    return (
        f"I am turnstream's offline model: I understand a few kinds of question and answer "
        f"them{using}, but not this one. Ask me what I can do, or set `OPENAI_API_KEY` and start "
        "the server again to talk to a real model."
    )


_WHO = ("The lighthouse keeper", "A patient heron", "The night train", "An old cartographer")
_DID = ("followed", "remembered", "drew", "counted", "outlived")
_WHAT = ("the slow river", "every lamp along the shore", "a map without borders")
_WHEN = ("before the fog came in", "while the harbour slept", "as if time were tide")


def prose(count: int) -> str:
    """Exactly so many words, in paragraphs of five sentences; the same text every time."""
    words: list[str] = []
    sentence = 0
    while len(words) < count:
        parts = (table[sentence % len(table)] for table in (_WHO, _DID, _WHAT, _WHEN))
        closing = "." if (sentence + 1) % 5 else ".\n\n"
        words += f"{' '.join(parts)}".split()
        words[-1] += closing
        sentence += 1
    text = " ".join(words[:count]).replace("\n ", "\n").rstrip()
    return text if text.endswith(".") or not text else f"{text}."


_SAID = r"\bwhat did I (?:just )?(?:say|ask|write|tell)\b"

REPLIES: tuple[tuple[Pattern[str], Reply], ...] = tuple(
    (any_case(pattern), reply)
    for pattern, reply in (
        (
            past(r"\b(?:write|say|give me|stream)\b") + r".*?\b(?P<count>\d{1,6}) words\b",
            lambda match, *_: prose(min(int(match["count"]), MAX_WORDS)),
        ),
        (
            r"\blong (?:story|text|answer)\b|\b(?:tell me a|a short) story\b",
            lambda *_: prose(STORY_WORDS),
        ),
        (r"\bmarkdown\b", lambda *_: MARKDOWN),
        (r"\bwhat(?:'s| is) my name\b|\bwho am I\b", _name),
        (rf"{past(_SAID)}.*\bfirst\b|\bmy first (?:message|question)\b", _first_said),
        (rf"{_SAID}|\bmy last (?:message|question)\b", _last_said),
        (r"\bwhat did you (?:just )?(?:show|draw|plot|render)\b", _shown),
        (r"\bwhat (?:else )?can you do\b|\byour tools\b|^\W*help\W*$", _abilities),
        (UNPLANNED, _unplanned),
        (_NAME.pattern, lambda match, *_: f"Nice to meet you, {match['name']}."),
        (r"^\W*(?:hello|hi|hey|good (?:morning|day|evening))\b", _greeting),
        (r"\bthank(?:s| you)\b", lambda *_: "You are welcome."),
    )
)
"""The words for the first pattern that is found in the user's message."""
