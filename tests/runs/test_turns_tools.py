"""Turns with real tools: they run on whole and fitting arguments, and every call has one end."""

import asyncio
import json
from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, ToolException

from tests.support.backend import backend, chunks_of, chunks_until, message
from tests.support.random_histories import CALL_IDS
from tests.support.run_chunks import RunChunks, send_message, tool_call_message
from tests.support.scripted_model import ScriptedModel, call, finish, text
from tests.support.waiting import WAIT_SECONDS
from turnstream.graphs.limits import Limits
from turnstream.server.turns.chunks import ArgsFinish, Result, StepStart, TextDelta
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool
from turnstream.tools.ui import render_ui_component, request_user_selection

SECRET = "postgres://admin:hunter2@db"


def catalogue(*tools: BaseTool) -> Catalogue:
    return Catalogue(tools, (render_ui_component, request_user_selection))


def counting(seen: list[dict[str, Any]], name: str = "add") -> BaseTool:
    """A tool that writes down what it runs on."""

    @real_tool(client_fields=["sum"])
    async def tool(a: int, b: int) -> dict[str, Any]:
        """Add.

        Args:
            a: One number.
            b: Another.
        """
        seen.append({"a": a, "b": b})
        return {"sum": a + b}

    tool.name = name
    return tool


def failing(cause: Exception) -> BaseTool:
    @real_tool(client_fields=[])
    async def fail() -> dict[str, Any]:
        """Fail."""
        raise cause

    return fail


def read_by_model(model: ScriptedModel, step: int = 1) -> list[dict[str, Any]]:
    """The answers to calls that the model got, as JSON, in its n-th call."""
    return [
        json.loads(str(message.content))
        for message in model.prompts[step]
        if isinstance(message, ToolMessage)
    ]


async def test_a_call_runs_and_its_result_goes_to_model_and_client(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    model = ScriptedModel.of(
        tool_call_message(("c1", "add", '{"a":1,"b":2}')), [text("Three."), finish()]
    )
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(counting(seen))) as home:
        told = await send_message(home)
        assert told.results["c1"].result == {"sum": 3}
        assert told.results["c1"].end == "result"
        assert (told.text, told.reason, told.steps) == ("Three.", "stop", 2)
        assert seen == [{"a": 1, "b": 2}]
        assert read_by_model(model) == [{"sum": 3}]


@pytest.mark.parametrize(
    "broken",
    ['{"a": 1, "b": 2', "{bad", '{"a": 1, "b":', "[1, 2]", "null", '{"a": NaN, "b": 1}', "}"],
)
@pytest.mark.parametrize("reason", ["tool_calls", "length"])
async def test_arguments_that_are_not_whole_json_never_run_a_tool(
    tmp_path: Path, broken: str, reason: str
) -> None:
    seen: list[dict[str, Any]] = []
    model = ScriptedModel.of(tool_call_message(("c1", "add", broken), reason=reason))
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(counting(seen))) as home:
        told = await send_message(home)
    assert seen == []
    assert told.error_codes == {"c1": "invalid_json"}
    assert told.text == "Done.", "the model may try again"
    [error] = read_by_model(model)
    assert error["error"]["code"] == "invalid_json"
    called, answered = model.prompts[1][-2:]
    assert isinstance(called, AIMessage)
    assert [c["args"] for c in called.tool_calls] == [{}], "not what a parser makes of it"
    assert not called.additional_kwargs
    assert broken == "}" or broken not in str(answered.content)
    finished = [chunk for chunk in told.chunks if isinstance(chunk, ArgsFinish)]
    assert finished[0].args is None


async def test_truncated_arguments_are_shown_as_the_model_wrote_them(tmp_path: Path) -> None:
    model = ScriptedModel.of(tool_call_message(("c1", "add", '{"a": 1, "b'), reason="length"))
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(counting([]))) as home:
        told = await send_message(home)
    assert "".join(c.text for c in told.chunks if isinstance(c, TextDelta))[:11] == '{"a": 1, "b'


@pytest.mark.parametrize(
    ("args", "named"),
    [('{"a":1}', "b"), ('{"a":1,"b":"two"}', "b"), ('{"a":1,"b":[]}', "b"), ("{}", "a")],
)
async def test_arguments_that_do_not_fit_go_back_to_the_model(
    tmp_path: Path, args: str, named: str
) -> None:
    seen: list[dict[str, Any]] = []
    model = ScriptedModel.of(tool_call_message(("c1", "add", args)))
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(counting(seen))) as home:
        told = await send_message(home)
    assert seen == []
    assert told.error_codes == {"c1": "invalid_arguments"}
    [error] = read_by_model(model)
    assert f" {named}: " in error["error"]["message"]


async def test_one_broken_call_does_not_keep_the_others_from_running(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    model = ScriptedModel.of(
        tool_call_message(
            ("c1", "add", "{bad"), ("c2", "add", '{"a":1,"b":2}'), ("c3", "nope", "{}")
        )
    )
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(counting(seen))) as home:
        told = await send_message(home)
    assert seen == [{"a": 1, "b": 2}]
    assert told.error_codes == {"c1": "invalid_json", "c3": "unknown_tool"}
    assert [call.disposition for call in told.calls] == ["server", "server", "invalid"]
    assert told.dispositions == {"c1": "invalid", "c2": "server", "c3": "invalid"}
    assert told.results["c2"].result == {"sum": 3}
    assert len(read_by_model(model)) == 3


@pytest.mark.parametrize(
    ("name", "stored", "near"),
    [("ad", "ad", "add"), ("add numbers", "add_numbers", "add"), ("", "unnamed", "add")],
)
async def test_an_unknown_name_goes_back_with_the_names_that_are_near(
    tmp_path: Path, name: str, stored: str, near: str
) -> None:
    seen: list[dict[str, Any]] = []
    model = ScriptedModel.of(tool_call_message(("c1", name, '{"a":1,"b":2}')))
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(counting(seen))) as home:
        told = await send_message(home)
    assert seen == []
    assert [part.tool_name for part in told.calls] == [stored]
    assert told.error_codes == {"c1": "unknown_tool"}
    assert near in told.results["c1"].result["error"]["message"]


async def test_a_name_that_is_a_tools_only_when_cleaned_does_not_run_it(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    tool = counting(seen, name="add_up")
    model = ScriptedModel.of(tool_call_message(("c1", "add up", '{"a":1,"b":2}')))
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(tool)) as home:
        told = await send_message(home)
    assert seen == []
    assert told.error_codes == {"c1": "unknown_tool"}


async def test_a_tool_that_fails_says_nothing_of_why(tmp_path: Path) -> None:
    model = ScriptedModel.of(tool_call_message(("c1", "fail", "{}")))
    broken = catalogue(failing(RuntimeError(SECRET)))
    async with backend(tmp_path / "t.db", model, catalogue=broken) as home:
        told = await send_message(home)
        assert told.error_codes == {"c1": "tool_failed"}
        assert told.reason == "stop"
        assert SECRET not in repr(told.chunks)
        assert SECRET not in repr(await home.messages())
        assert (await send_message(home)).text == "Done."


async def test_a_tool_that_refuses_says_so_in_its_own_words(tmp_path: Path) -> None:
    model = ScriptedModel.of(tool_call_message(("c1", "fail", "{}")))
    refusing = catalogue(failing(ToolException("No such zone; try Europe/Rome.")))
    async with backend(tmp_path / "t.db", model, catalogue=refusing) as home:
        told = await send_message(home)
    [error] = read_by_model(model)
    assert error == told.results["c1"].result
    assert error["error"]["message"] == "No such zone; try Europe/Rome."


async def test_parallel_calls_run_at_the_same_time(tmp_path: Path) -> None:
    meeting = asyncio.Barrier(3)

    @real_tool(client_fields=["place"])
    async def meet(place: int) -> dict[str, Any]:
        """Wait for the others.

        Args:
            place: Whose turn.
        """
        async with asyncio.timeout(WAIT_SECONDS):
            await meeting.wait()
        return {"place": place}

    calls = [(f"c{n}", "meet", f'{{"place":{n}}}') for n in range(3)]
    model = ScriptedModel.of(tool_call_message(*calls))
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(meet)) as home:
        told = await send_message(home)
    assert {id: r.result for id, r in told.results.items()} == {
        f"c{n}": {"place": n} for n in range(3)
    }


async def test_a_result_reaches_the_client_while_its_sibling_still_runs(tmp_path: Path) -> None:
    release = asyncio.Event()

    @real_tool(client_fields=["n"])
    async def wait(n: int) -> dict[str, Any]:
        """Wait, unless n is 0.

        Args:
            n: How long.
        """
        if n:
            await release.wait()
        return {"n": n}

    model = ScriptedModel.of(
        tool_call_message(("slow", "wait", '{"n":1}'), ("quick", "wait", '{"n":0}'))
    )
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(wait)) as home:
        run = await home.start(message())
        said = await chunks_until(run, lambda said: any(isinstance(c, Result) for c in said))
        assert any(isinstance(chunk, Result) for chunk in said)
        assert (await run.log.status()).state == "live"
        release.set()
        told = RunChunks(await chunks_of(run))
    assert list(told.results) == ["quick", "slow"]


async def test_a_tool_that_takes_too_long_times_out_and_the_run_goes_on(tmp_path: Path) -> None:
    @real_tool(client_fields=[])
    async def wait() -> dict[str, Any]:
        """Wait for ever."""
        await asyncio.Event().wait()
        return {}

    model = ScriptedModel.of(tool_call_message(("c1", "wait", "{}")))
    limits = Limits(tool_timeout_seconds=0.02)
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(wait), limits=limits) as home:
        told = await send_message(home)
        assert told.results["c1"].end == "timeout"
        assert told.error_codes == {"c1": "tool_timeout"}
        assert told.text == "Done."
        assert (await send_message(home)).reason == "stop"


async def test_a_tool_that_cancels_itself_fails_its_call_alone(tmp_path: Path) -> None:
    @real_tool(client_fields=[])
    async def cancel() -> dict[str, Any]:
        """Await what somebody has cancelled."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        future.cancel()
        await future
        return {}

    model = ScriptedModel.of(tool_call_message(("c1", "cancel", "{}")))
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(cancel)) as home:
        told = await send_message(home)
    assert told.error_codes == {"c1": "tool_failed"}
    assert told.text == "Done."


async def test_what_a_model_says_inside_a_tool_is_not_the_answers_text(tmp_path: Path) -> None:
    inner = ScriptedModel.of([text("a secret thought"), finish()])

    @real_tool(client_fields=["words"])
    async def ask() -> dict[str, Any]:
        """Ask another model."""
        return {"words": len(str((await inner.ainvoke("Think")).content).split())}

    model = ScriptedModel.of(tool_call_message(("c1", "ask", "{}")), [text("Three."), finish()])
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(ask)) as home:
        told = await send_message(home)
    assert told.text == "Three."
    assert told.steps == 2
    assert told.results["c1"].result == {"words": 3}


@pytest.mark.parametrize("id", [*CALL_IDS, None], ids=lambda id: repr(id)[:10])
async def test_call_ids_that_repeat_in_every_turn_stay_apart(
    tmp_path: Path, id: str | None
) -> None:
    def same() -> Callable[[list[BaseMessage]], list[Any]]:
        return lambda _: [
            call('{"a":1,"b":2}', name="add", id=id, index=0),
            call('{"a":3,"b":4}', name="add", id=id, index=1),
            finish("tool_calls"),
        ]

    model = ScriptedModel.of(same(), [text("A"), finish()], same(), [text("B"), finish()])
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(counting([]))) as home:
        first, second = await send_message(home), await send_message(home)
        messages = await home.messages()
    for told in (first, second):
        assert [result.result for result in told.results.values()] == [{"sum": 3}, {"sum": 7}]
    ids = [c["id"] for m in messages if isinstance(m, AIMessage) for c in m.tool_calls]
    assert len(set(ids)) == 4
    assert all(ids)
    assert ids == [*first.results, *second.results], "the stream's ids are the thread's"
    answered = [m.tool_call_id for m in messages if isinstance(m, ToolMessage)]
    assert sorted(answered) == sorted(map(str, ids))


class WholeModel(ScriptedModel):
    """The same model, in the manner of one that does not stream."""

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        del stop, run_manager, kwargs
        script = self._scripts.pop(0)
        said: Sequence[Any] = script(messages) if callable(script) else script
        whole: AIMessageChunk = reduce(add, said)
        message = AIMessage(
            content=whole.content,
            tool_calls=whole.tool_calls,
            usage_metadata=whole.usage_metadata,
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _should_stream(self, **kwargs: Any) -> bool:
        del kwargs
        return False


async def test_a_model_that_does_not_stream_gives_the_same_parts(tmp_path: Path) -> None:
    scripts = (
        [text("Let me "), text("add."), *tool_call_message(("c1", "add", '{"a":1,"b":2}'))],
        [text("Three."), finish()],
    )
    seen: list[RunChunks] = []
    for kind in (ScriptedModel, WholeModel):
        model = kind.of(*scripts)
        async with backend(
            tmp_path / f"{kind.__name__}.db", model, catalogue=catalogue(counting([]))
        ) as home:
            seen.append(await send_message(home))
    streamed, whole = seen
    assert whole.parts == streamed.parts
    assert whole.text == streamed.text
    assert whole.results["c1"].result == streamed.results["c1"].result == {"sum": 3}
    assert [c.args for c in whole.chunks if isinstance(c, ArgsFinish)] == [{"a": 1, "b": 2}]


async def test_huge_numbers_in_arguments_do_not_break_the_thread(tmp_path: Path) -> None:
    model = ScriptedModel.of(
        tool_call_message(("c1", "multiply", f'{{"a":{2**70},"b":2}}')),
        tool_call_message(("c2", "multiply", '{"a":%s,"b":2}' % ("9" * 400))),
        tool_call_message(("c3", "calculator", f'{{"expression":{2**70}}}')),
    )
    async with backend(tmp_path / "t.db", model) as home:
        told = await send_message(home)
        assert told.results["c1"].result["product"] == 2.0**71
        assert told.error_codes == {"c2": "invalid_json", "c3": "invalid_arguments"}
        assert (await send_message(home)).text == "Done."


async def test_half_characters_from_the_model_do_not_break_the_thread(tmp_path: Path) -> None:
    model = ScriptedModel.of(
        [
            text("half \ud83d"),
            call('{"a":1,"b":2}', name="add\ud800", id="\udfff"),
            finish("tool_calls"),
        ]
    )
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(counting([]))) as home:
        told = await send_message(home)
        assert told.text == "half \ufffdDone."
        assert list(told.error_codes.values()) == ["unknown_tool"]
        assert (await send_message(home)).text == "Done."


async def test_every_step_has_an_id_of_its_own_and_all_have_the_messages(tmp_path: Path) -> None:
    model = ScriptedModel.of(tool_call_message(("c1", "add", '{"a":1,"b":2}')))
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(counting([]))) as home:
        told = await send_message(home)
        steps = [chunk for chunk in told.chunks if isinstance(chunk, StepStart)]
        stored = [m.id for m in await home.messages() if isinstance(m, AIMessage)]
        assert [step.step_id for step in steps] == stored
        assert {step.message_id for step in steps} == {f"{(await home.messages())[0].id}.a"}
