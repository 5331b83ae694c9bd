"""One real tool's run: its time, its failures, and what model and client get of its result."""

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import BaseTool, ToolException

from turnstream.graphs.answers import client_view
from turnstream.graphs.execution import execute
from turnstream.graphs.limits import Limits
from turnstream.graphs.stored import duration_ms, end_of
from turnstream.tools.contract import real_tool

CALL: ToolCall = {"type": "tool_call", "id": "c1", "name": "tool", "args": {}}
SECRET = "postgres://admin:hunter2@db"


async def run(tool: BaseTool, **limits: Any) -> ToolMessage:
    return await execute(CALL, lambda: tool.ainvoke(CALL), Limits(**limits))


async def told(message: Any, **limits: Any) -> ToolMessage:
    """The answer when the tool's run gives this, or raises it."""

    async def give() -> Any:
        if isinstance(message, BaseException):
            raise message
        return message

    return await execute(CALL, give, Limits(**limits))


def returning(content: str, artifact: Any = None, **fields: Any) -> ToolMessage:
    return ToolMessage(content, tool_call_id="c1", artifact=artifact, **fields)


def error_of(message: ToolMessage) -> dict[str, Any]:
    """What model and client read of a failed call: the same."""
    assert message.status == "error"
    view = client_view(message)
    assert json.loads(str(message.content)) == view
    error: dict[str, Any] = view["error"]
    return error


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Lets a tool's thread go at the end of the test, which no timeout can end."""
    event = threading.Event()
    yield event
    event.set()


async def test_an_async_tool_that_takes_too_long_times_out() -> None:
    cancelled = asyncio.Event()

    @real_tool(client_fields=[])
    async def tool() -> dict[str, Any]:
        """Wait for ever."""
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return {}

    message = await run(tool, tool_timeout_seconds=0.01)
    assert end_of(message) == "timeout"
    assert error_of(message)["code"] == "tool_timeout"
    assert "0.01 seconds" in error_of(message)["message"]
    assert cancelled.is_set()


async def test_a_sync_tool_that_takes_too_long_times_out(release: threading.Event) -> None:
    @real_tool(client_fields=[])
    def tool() -> dict[str, Any]:
        """Wait for ever."""
        release.wait()
        return {}

    message = await run(tool, tool_timeout_seconds=0.01)
    assert end_of(message) == "timeout"
    release.set()


async def test_a_tools_own_timeout_is_a_failure_not_ours() -> None:
    message = await told(TimeoutError("the upstream took too long"))
    assert end_of(message) == "error"
    assert error_of(message)["code"] == "tool_failed"


async def test_a_tool_exception_speaks_in_its_own_words() -> None:
    message = await told(ToolException("There is no such zone. Try Europe/Rome."))
    assert error_of(message) == {
        "code": "tool_error",
        "message": "There is no such zone. Try Europe/Rome.",
    }


@pytest.mark.parametrize(
    "cause",
    [RuntimeError(SECRET), KeyError(SECRET), SystemExit(SECRET), asyncio.CancelledError(SECRET)],
    ids=lambda cause: type(cause).__name__,
)
async def test_any_other_exception_is_a_fixed_sentence_and_an_id_of_the_log(
    cause: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        message = await told(cause)
    error = error_of(message)
    assert error["code"] == "tool_failed"
    assert SECRET not in message.model_dump_json()
    [record] = caplog.records
    assert error["id"] in record.getMessage()
    assert record.exc_info is not None
    assert record.exc_info[1] is cause


@pytest.mark.parametrize("leaving", [SystemExit, KeyboardInterrupt])
async def test_a_tool_that_exits_ends_its_call_and_not_the_server(
    leaving: type[BaseException],
) -> None:
    """Raised in a task of its own, it would end the event loop."""

    @real_tool(client_fields=[])
    async def asynchronous() -> dict[str, Any]:
        """Leave."""
        raise leaving(SECRET)

    @real_tool(client_fields=[])
    def synchronous() -> dict[str, Any]:
        """Leave."""
        raise leaving(SECRET)

    for tool in (asynchronous, synchronous):
        message = await run(tool)
        assert error_of(message)["code"] == "tool_failed"
        assert SECRET not in message.model_dump_json()


async def test_cancelling_the_run_passes_through() -> None:
    begun = asyncio.Event()

    async def wait() -> Any:
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(execute(CALL, wait, Limits()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_model_gets_all_of_a_result_and_the_client_only_the_named_fields() -> None:
    @real_tool(client_fields=["total", "absent"])
    async def tool() -> dict[str, Any]:
        """Count."""
        return {"total": 2, "internal": SECRET}

    message = await run(tool)
    assert json.loads(str(message.content)) == {"total": 2, "internal": SECRET}
    assert client_view(message) == {"total": 2}


@pytest.mark.parametrize("returned", [{"x": float("nan")}, {"x": object()}, [1], None])
async def test_a_real_tool_that_returns_no_json_object_has_failed(returned: Any) -> None:
    @real_tool(client_fields=["x"])
    async def tool() -> dict[str, Any]:
        """Return something."""
        value: dict[str, Any] = returned
        return value

    assert error_of(await run(tool))["code"] == "tool_failed"


@pytest.mark.parametrize(
    "returned",
    [
        returning("1", artifact={"x": float("inf")}),
        returning("1", artifact={"x": object()}),
        "no tool message",
        None,
    ],
)
async def test_what_no_wire_can_carry_is_a_failed_call(returned: Any) -> None:
    assert error_of(await told(returned))["code"] == "tool_failed"


async def test_nan_in_a_tools_own_text_reaches_the_client_as_text() -> None:
    message = await told(returning('{"x": NaN}'))
    assert client_view(message) == {"x": "NaN"}
    assert json.dumps(client_view(message), allow_nan=False)


async def test_an_integer_that_no_checkpoint_holds_reaches_the_client_as_a_float() -> None:
    message = await told(returning("1", artifact={"x": 2**70, "y": 7}))
    assert client_view(message) == {"x": 2.0**70, "y": 7}


@pytest.mark.parametrize(("depth", "end"), [(90, "result"), (110, "error"), (900, "error")])
async def test_a_result_nested_deeper_than_a_checkpoint_holds_is_a_failed_call(
    depth: int, end: str
) -> None:
    nested = json.loads("[" * depth + "]" * depth)
    assert end_of(await told(returning("1", artifact={"x": nested}))) == end


async def test_half_characters_are_replaced_for_model_and_client() -> None:
    message = await told(returning('{"a": "\ud800"}', artifact={"b": ["\udfff"]}))
    assert message.content == '{"a": "\ufffd"}'
    assert client_view(message) == {"b": ["\ufffd"]}
    message = await told(ToolException("half \ud800"))
    assert error_of(message)["message"] == "half \ufffd"


async def test_a_result_too_long_for_the_model_is_cut_and_says_so() -> None:
    message = await told(returning("x" * 500, artifact={"n": 1}), max_result_chars=100)
    assert str(message.content).startswith("x" * 100 + "\n[cut: the first 100 of 500")
    assert len(str(message.content)) < 200
    assert client_view(message) == {"n": 1}


async def test_what_is_cut_for_the_model_is_whole_for_the_client() -> None:
    text = json.dumps({"rows": ["row"] * 100})
    message = await told(returning(text), max_result_chars=50)
    assert client_view(message) == {"rows": ["row"] * 100}


async def test_a_result_too_big_for_the_client_is_replaced_by_its_size() -> None:
    returned = returning('{"n": 1}', artifact={"s": "\u00e9" * 500})
    message = await told(returned, max_result_bytes=100)
    size = len('{"s": ""}') + 2 * 500
    assert client_view(message) == {"truncated": True, "bytes": size, "max_bytes": 100}
    assert message.content == '{"n": 1}'


async def test_a_refusal_is_bounded_too() -> None:
    assert len(error_of(await told(ToolException("x" * 999), max_result_chars=50))["message"]) == 50


async def test_a_tool_message_with_the_status_of_an_error_is_one() -> None:
    message = await told(returning("No such row.", status="error", artifact={"secret": SECRET}))
    assert error_of(message) == {"code": "tool_error", "message": "No such row."}


async def test_every_answer_says_how_long_the_tool_took() -> None:
    for message in (await told(returning("1")), await told(RuntimeError("x"))):
        took = duration_ms(message)
        assert took is not None
        assert took >= 0


@pytest.mark.parametrize("large", ["x" * 4_000_001, [0] * 200_001], ids=["text", "values"])
async def test_a_result_that_is_too_large_fails_with_a_way_out(large: Any) -> None:
    @real_tool(client_fields=["*"])
    async def everything() -> dict[str, Any]:
        """Return everything."""
        return {"everything": large}

    with pytest.raises(ToolException, match="Ask for less"):
        await everything.ainvoke({})
