"""The budgets of a run over HTTP: each ends it in order, and says which it was and how much."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.counting_tools import CountingTools
from tests.support.endpoint import Pause, Say, StrictEndpoint, call_reply, reply, text_reply
from tests.support.endpoint.script import Scripted
from tests.support.serving import endpoint_settings, parse_events, serving


@dataclass(frozen=True)
class Budget:
    """A limit that is set low, and a model that runs into it."""

    name: str
    value: float
    script: tuple[Callable[[], Scripted], ...]
    refused: int = 0
    """Calls that are answered with `limit_reached`."""
    cancelled: int = 0
    settings: dict[str, Any] = field(default_factory=dict)


def asks(tool: str, *words: str) -> Callable[[], Scripted]:
    return lambda: call_reply(*((tool, json.dumps({"word": word})) for word in words))


def never_ends() -> Scripted:
    return reply(Say("Well, "), Pause(asyncio.Event()))


BUDGETS = [
    Budget("max_steps", 2, (asks("echo", "a"), asks("echo", "b"))),
    Budget("max_identical_calls", 1, (asks("echo", "a"), asks("echo", "b", "a")), refused=2),
    Budget("max_run_seconds", 1.5, (never_ends,)),
    Budget("max_run_seconds", 1.5, (asks("hold", "a"),), cancelled=1),
    Budget("max_tool_seconds", 0.01, (asks("nap", "a"), asks("nap", "b", "c")), refused=2),
]


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.name)
@pytest.mark.parametrize("protocol", ["assistant-transport", "ui-message-stream"])
async def test_a_budget_that_is_spent_ends_the_run_by_name_and_number(
    protocol: str, budget: Budget, tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    settings = endpoint_settings(tmp_path / "t.db", endpoint, **{budget.name: budget.value})
    endpoint.script(*(make() for make in budget.script))
    ended = {"reason": "limit", "limit": budget.name, "value": budget.value}
    async with serving(settings, CountingTools(nap_seconds=0.02).catalogue) as client:
        query = {"protocol": protocol}
        async with client.chat({"thread_id": "t1", "message": "Go"}, params=query) as stream:
            await stream.rest()
            events = [event.data for event in parse_events(bytes(stream.raw))]
        assert endings(protocol, events) == ended
        hydrated = (await client.thread("t1", **query))["messages"][-1]
        metadata = hydrated["metadata"] if protocol == "ui-message-stream" else hydrated
        assert metadata["ended"] == ended
        errors = [code for part in hydrated["parts"] if (code := error_of(part))]
        assert errors.count("limit_reached") == budget.refused
        assert errors.count("cancelled") == budget.cancelled
        assert endpoint.unplayed == 0

        endpoint.script(text_reply("On we go."))
        _, following = await client.turn({"thread_id": "t1", "message": "And now?"})
        assert following[-2].data["finishReason"] == "stop"
        told = [m["content"] for m in endpoint.requests[-1]["messages"] if m["role"] == "tool"]
        assert sum(budget.name in content for content in told) == budget.refused


def endings(protocol: str, events: list[Any]) -> Any:
    """What the end of a stream says of why; its order is part of it."""
    if protocol == "ui-message-stream":
        abort, finish, done = events[-3:]
        assert (abort, done) == ({"type": "abort"}, "[DONE]")
        assert finish["finishReason"] == "other"
        return finish["messageMetadata"]["ended"]
    data, finish, done = events[-3:]
    assert (finish["type"], finish["finishReason"], done) == ("message-finish", "other", "[DONE]")
    [said] = data["data"]
    assert said["name"] == "run-ended"
    return said["data"]


def error_of(part: dict[str, Any]) -> str | None:
    """The code of a call that failed, in a thread of either format."""
    if part.get("isError"):
        return str(part["result"]["error"]["code"])
    text = part.get("errorText")
    if text is None:
        return None
    found = next((code for code in ("limit_reached", "cancelled") if code in text), None)
    return found or ("limit_reached" if "limit" in text else "cancelled")
