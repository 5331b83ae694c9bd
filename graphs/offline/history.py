"""The planner's view of a history: the question, and what was done about it so far."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from turnstream.graphs import stored_user
from turnstream.graphs.approvals import CHANGED
from turnstream.graphs.images import has_image, is_image
from turnstream.tools import strict_json
from turnstream.tools.image_header import header_of_url

_KINDS = {"png": "PNG", "jpeg": "JPEG", "gif": "GIF", "webp": "WebP"}
_NUMBERED = re.compile(r"call_(\d{1,9})")


@dataclass(frozen=True, slots=True)
class Result:
    """One answered tool call."""

    tool: str
    arguments: Mapping[str, Any]
    content: Any
    """Parsed, where the tool's answer is JSON; else its text."""
    failed: bool = False
    call_id: str = ""
    draws: tuple[str, ...] = ()
    """The components that `data_from` with this call's id can draw."""
    changed: Mapping[str, Any] | None = None
    """The arguments that a person put in the place of `arguments`."""


Step = tuple[Result, ...]
"""The results of one model message's calls."""


@dataclass(frozen=True, slots=True)
class Turn:
    text: str
    """The last user message."""
    said: tuple[str, ...] = ()
    """The user messages before it, oldest first."""
    steps: tuple[Step, ...] = ()
    """Since that message."""
    earlier: tuple[Step, ...] = ()
    """The steps of the last turn before it that called tools."""
    arrived: Step = ()
    """Results that came together with the message, and that nobody has spoken of yet."""
    calls: int = 0
    """Tool calls in the history, or the highest number in their ids."""
    images: tuple[str, ...] = ()
    """The images of the last user message, in words."""


def read(messages: Sequence[BaseMessage]) -> Turn:
    humans = [i for i, message in enumerate(messages) if isinstance(message, HumanMessage)]
    last = humans[-1] if humans else -1
    spans = reversed([*pairwise(humans)])
    earlier = next(filter(None, (_steps(messages[start:end]) for start, end in spans)), ())
    came_with_it = last > 0 and isinstance(messages[last - 1], ToolMessage)
    return Turn(
        text=str(messages[last].text) if humans else "",
        said=tuple(str(messages[i].text) for i in humans[:-1]),
        steps=_steps(messages[last + 1 :]),
        earlier=earlier,
        arrived=earlier[-1] if earlier and came_with_it else (),
        calls=_calls_made(messages),
        images=_images(messages[last]) if humans else (),
    )


def _steps(messages: Sequence[BaseMessage]) -> tuple[Step, ...]:
    steps: list[list[Result]] = []
    arguments: dict[str, Mapping[str, Any]] = {}
    for message in messages:
        if isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls):
            steps.append([])
            arguments |= {call["id"] or "": call["args"] for call in message.tool_calls}
        elif isinstance(message, ToolMessage) and steps:
            steps[-1].append(_result(message, arguments.get(message.tool_call_id, {})))
    return tuple(tuple(step) for step in steps)


def _result(message: ToolMessage, arguments: Mapping[str, Any]) -> Result:
    changed, text = _split_change(str(message.text))
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = text
    id, draws = message.tool_call_id, ()
    if isinstance(content, dict) and content.get("data_from") == id:
        draws = tuple(content["draws"])
        content = {k: v for k, v in content.items() if k not in ("data_from", "draws")}
    failed = message.status == "error" or (isinstance(content, dict) and "error" in content)
    return Result(message.name or "The tool", arguments, content, failed, id, draws, changed)


def _split_change(text: str) -> tuple[Mapping[str, Any] | None, str]:
    """The arguments that a person put in the place of the model's, if any, and the result."""
    line, _, rest = text.partition("\n")
    if not (line.startswith(CHANGED) and line.endswith(".")):
        return None, text
    changed = strict_json.read_object(line[len(CHANGED) : -1])
    return (None, text) if changed is None else (changed, rest)


def _calls_made(messages: Sequence[BaseMessage]) -> int:
    """Trimming may have taken the oldest calls away: then the ids know better than the count."""
    ids = [
        call["id"] or ""
        for message in messages
        if isinstance(message, AIMessage)
        for call in (*message.tool_calls, *message.invalid_tool_calls)
    ]
    numbered = filter(None, map(_NUMBERED.fullmatch, ids))
    return max([len(ids), *(int(match[1]) for match in numbered)])


def _images(message: BaseMessage) -> tuple[str, ...]:
    if not isinstance(message, HumanMessage) or not has_image(message):
        return ()
    alts = stored_user.alts(message)
    return tuple(_described(block, next(alts)) for block in message.content if is_image(block))


def _described(block: object, alt: str | None) -> str:
    """Its kind, its size, and what the user says of it."""
    match block:
        case {"image_url": {"url": str(url)} | str(url)}:
            header = header_of_url(url)
        case _:
            header = None
    kind = f"a {_KINDS[header.kind]} image" if header else "an image"
    size = " of {} by {} pixels".format(*header.size) if header and header.size else ""
    return f"{kind}{size}{f' (“{alt}”)' if alt else ''}"
