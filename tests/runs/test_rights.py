"""What a caller may not do, the model is not offered; and a call of it never runs."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import Runnable
from pydantic import PrivateAttr

from tests.support.backend import THREAD, Backend, after_crash, backend, message
from tests.support.counting_tools import CountingTools
from tests.support.run_chunks import ALERT, COMPONENT, QUESTION, SELECTION, tool_call_message
from tests.support.scripted_model import ScriptedModel
from turnstream.graphs.answers import client_view
from turnstream.server.callers.principal import LOCAL, Principal
from turnstream.server.callers.rights import Forbidden, LimitExceeded
from turnstream.server.extensions.users.policy import Policy
from turnstream.server.extensions.users.policy_file import PolicyFile
from turnstream.server.extensions.users.quotas import Quotas
from turnstream.server.extensions.users.rules import Rule
from turnstream.server.turns.chunks import ArgsFinish, PartStart, ToolCallPart
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import TurnRequest
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool

ANN = Principal("ann", ("user",), "Ann", "key")
ECHO = ("c1", "echo", '{"word": "one"}')


class OfferedModel(ScriptedModel):
    """Remembers the names of the tools that it was offered, a set a model call."""

    _offered: list[set[str]] = PrivateAttr(default_factory=list)

    @property
    def offered(self) -> list[set[str]]:
        return self._offered

    def bind_tools(
        self, tools: Sequence[Any], **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        names = [t["function"]["name"] if isinstance(t, dict) else t.name for t in tools]
        return self.bind(tools=names, **kwargs)

    async def _astream(self, *given: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        self._offered.append(set(kwargs.pop("tools", ())))
        async for chunk in super()._astream(*given, **kwargs):
            yield chunk


def policy(rule: Any = None, **role: Any) -> Policy:
    file = PolicyFile.model_validate({"roles": {"user": role, "other": {}}})
    return Policy(file, Rule("test:rule", rule) if rule else None, Quotas())


async def codes(inside: Backend) -> list[str]:
    """The error codes with which the calls of Ann's thread were answered."""
    state = await inside.checkpoints.load(ThreadKey("ann", THREAD))
    answers = [m for m in state.messages if isinstance(m, ToolMessage)]
    return [client_view(m).get("error", {}).get("code", "") for m in answers]


@pytest.mark.parametrize(
    ("role", "call", "code"),
    [
        ({"tools": ["nap", "hold"]}, ECHO, "tool_not_allowed"),
        ({"tools": []}, ECHO, "tool_not_allowed"),
        ({"tools": ["echo"]}, ("c1", COMPONENT, ALERT), "tool_not_allowed"),
        ({"tools": ["echo"]}, ("c1", SELECTION, QUESTION), "tool_not_allowed"),
    ],
)
async def test_a_call_that_is_not_allowed_never_runs_and_the_run_goes_on(
    tmp_path: Path, role: dict[str, Any], call: tuple[str, str, str], code: str
) -> None:
    tools, model = CountingTools(), ScriptedModel.of(tool_call_message(call))
    async with backend(
        tmp_path / "t.db", model, catalogue=tools.catalogue, policy=policy(**role)
    ) as inside:
        chunks = await inside.turn(message(), principal=ANN)
        assert await codes(inside) == [code]
        assert len(model.prompts) == 2
        assert isinstance(model.prompts[1][-1], ToolMessage)
    assert not tools.calls
    begun = [c.part for c in chunks if isinstance(c, PartStart)]
    assert [p.disposition for p in begun if isinstance(p, ToolCallPart)] == ["invalid"]
    assert [c.disposition for c in chunks if isinstance(c, ArgsFinish)] == ["invalid"]


async def test_the_model_is_offered_what_its_caller_may_use(tmp_path: Path) -> None:
    tools, model = CountingTools(), OfferedModel()
    every = {*tools.catalogue.real_by_name, *tools.catalogue.ui_by_name}
    rules = policy(tools=["echo", "request_*"], approval=["echo"])
    async with backend(tmp_path / "t.db", model, catalogue=tools.catalogue, policy=rules) as inside:
        await inside.turn(message(), "a", ANN)
        await inside.turn(message(), "b", Principal("bob", ("other",), method="key"))
        await inside.turn(message(), "c", LOCAL)
    assert model.offered == [{"echo", SELECTION}, every, every]


async def test_a_caller_without_any_tool_has_a_model_without_tools(tmp_path: Path) -> None:
    model = OfferedModel()
    async with backend(tmp_path / "t.db", model, policy=policy(tools=[])) as inside:
        await inside.turn(message(), principal=ANN)
    assert model.offered == [set()]


async def test_a_rule_gets_the_whole_call_and_can_deny_it(tmp_path: Path) -> None:
    seen: list[Any] = []

    async def rule(principal: Principal, call: Mapping[str, Any]) -> str:
        seen.append((principal.id, call))
        return "allow" if call["args"] == {"word": "one"} else "deny"

    two = ("c2", "echo", '{"word": "two"}')
    wrong = ("c3", "echo", '{"words": "two"}')
    tools = CountingTools()
    model = ScriptedModel.of(tool_call_message(ECHO, two, wrong))
    async with backend(
        tmp_path / "t.db", model, catalogue=tools.catalogue, policy=policy(rule)
    ) as inside:
        await inside.turn(message(), principal=ANN)
        assert sorted(await codes(inside)) == ["", "invalid_arguments", "tool_not_allowed"]
    assert dict(tools.calls) == {"one": 1}
    assert seen == [
        ("ann", {"name": "echo", "args": {"word": "one"}}),
        ("ann", {"name": "echo", "args": {"word": "two"}}),
    ]


async def test_tool_calls_beyond_the_days_limit_are_answered_with_it(tmp_path: Path) -> None:
    calls = [(f"c{n}", "echo", f'{{"word": "{n}"}}') for n in range(3)]
    tools, model = CountingTools(), ScriptedModel.of(tool_call_message(*calls))
    limited = policy(limits={"tool_calls_per_day": {"ec*": 2}})
    async with backend(
        tmp_path / "t.db", model, catalogue=tools.catalogue, policy=limited
    ) as inside:
        await inside.turn(message(), principal=ANN)
        assert sorted(await codes(inside)) == ["", "", "limit_exceeded"]
    assert dict(tools.calls) == {"0": 1, "1": 1}


async def test_a_call_that_a_crash_left_behind_obeys_the_rights_of_the_run_that_continues(
    tmp_path: Path,
) -> None:
    tools, path = CountingTools(), tmp_path / "t.db"
    model = ScriptedModel.of(tool_call_message(("c1", "hold", '{"word": "one"}')))
    async with backend(path, model, catalogue=tools.catalogue, policy=policy()) as inside:
        await inside.start(message(), principal=ANN)
        await tools.begun("one")
        later = policy(tools=["echo"])
        async with after_crash(path, model, tools.catalogue, policy=later) as restarted:
            await restarted.turn(TurnRequest(continue_=True), principal=ANN)
            assert await codes(restarted) == ["tool_not_allowed"]
        tools.release.set()
    assert dict(tools.calls) == {"one": 1}


@pytest.mark.parametrize(
    ("role", "asked", "calls"),
    [
        ({}, True, {"data": 2}),
        ({"tools": ["find", SELECTION]}, True, {}),
        ({"tools": ["find", "data", SELECTION], "approval": ["data"]}, True, {}),
        ({"tools": ["find", "data"]}, False, {"data": 2}),
        ({"limits": {"tool_calls_per_day": {"data": 1}}}, True, {"data": 1}),
    ],
)
async def test_what_recovers_from_missing_data_obeys_too(
    tmp_path: Path, role: dict[str, Any], asked: bool, calls: dict[str, int]
) -> None:
    used: Counter[str] = Counter()

    @real_tool(client_fields=["status", "available"], availability_tool="data")
    async def find(day: str) -> dict[str, Any]:
        """Find nothing.

        Args:
            day: The day.
        """
        window = {"start": "2024-01-01", "end": "2024-01-31"}
        return {"status": "no_data_in_window", "available": [window], "day": day}

    @real_tool(client_fields=[])
    async def data() -> dict[str, Any]:
        """Say what there is."""
        used["data"] += 1
        return {"status": "ok"}

    ui = CountingTools().catalogue.ui
    model = ScriptedModel.of(
        tool_call_message(("c1", "find", '{"day": "1"}')),
        tool_call_message(("c2", "find", '{"day": "2"}')),
    )
    async with backend(
        tmp_path / "t.db", model, catalogue=Catalogue((find, data), ui), policy=policy(**role)
    ) as inside:
        chunks = await inside.turn(message(), principal=ANN)
    begun = [c.part for c in chunks if isinstance(c, PartStart)]
    names = [part.tool_name for part in begun if isinstance(part, ToolCallPart)]
    assert (names == ["find", "find", SELECTION]) is asked
    assert dict(used) == calls


async def test_a_caller_without_a_role_starts_nothing(tmp_path: Path) -> None:
    async with backend(tmp_path / "t.db", ScriptedModel.of(), policy=policy()) as inside:
        with pytest.raises(Forbidden):
            await inside.start(message(), principal=Principal("eve", ("none",), method="key"))


async def test_live_runs_are_limited_for_each_caller(tmp_path: Path) -> None:
    tools = CountingTools()
    hold = tool_call_message(("c1", "hold", '{"word": "one"}'))
    limited = policy(limits={"live_runs": 1})
    async with backend(
        tmp_path / "t.db", ScriptedModel.of(hold), catalogue=tools.catalogue, policy=limited
    ) as inside:
        await inside.start(message(), "a", ANN)
        await tools.begun("one")
        with pytest.raises(LimitExceeded) as fault:
            await inside.start(message(), "b", ANN)
        assert (fault.value.limit, fault.value.value) == ("live_runs", 1)
        await inside.turn(message(), "c", Principal("bob", ("user",), method="key"))
        tools.release.set()
        await inside.turn(TurnRequest(message=message().message, on_busy="stop"), "a", ANN)
        await inside.turn(message(), "b", ANN)


async def test_new_threads_and_tokens_are_limited_by_the_day(tmp_path: Path) -> None:
    limited = policy(limits={"new_threads_per_day": 2, "tokens_per_day": 30})
    async with backend(tmp_path / "t.db", ScriptedModel.of(), policy=limited) as inside:
        await inside.turn(message(), "a", ANN)
        await inside.turn(message(), "b", ANN)
        with pytest.raises(LimitExceeded, match="new_threads_per_day"):
            await inside.start(message(), "c", ANN)
        await inside.turn(message(), "a", ANN)
        with pytest.raises(LimitExceeded, match="tokens_per_day"):
            await inside.start(message(), "a", ANN)
        await inside.turn(message(), "a", LOCAL)


async def test_a_refused_caller_takes_no_place_from_the_others(tmp_path: Path) -> None:
    limited = policy(limits={"new_threads_per_day": 1})
    async with backend(tmp_path / "t.db", ScriptedModel.of(), policy=limited) as inside:
        await inside.turn(message(), "a", ANN)
        for thread in ("b", "c"):
            with pytest.raises(LimitExceeded):
                await inside.start(message(), thread, ANN)
            assert await inside.store.get(ThreadKey("ann", thread)) is None
        await inside.turn(message(), "a", ANN)
