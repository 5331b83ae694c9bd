"""Traces, as a collector gets them from a server that is started as the operator starts it."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tests.support.collector import Collector, attributes, collector
from tests.support.endpoint import (
    Fail,
    Finish,
    Pause,
    Reply,
    Say,
    StrictEndpoint,
    Usage,
    call_reply,
    text_reply,
)
from tests.support.serving import Client, Process, endpoint_environment, process
from tests.support.waiting import until

INSTRUMENT = str(Path(sys.executable).with_name("opentelemetry-instrument"))
CALL = ("calculator", '{"expression": "60013 * 70001"}')
REQUEST_TRACE, REQUEST_SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@asynccontextmanager
async def traced(
    folder: Path, endpoint: StrictEndpoint, found: Collector, **environment: str
) -> AsyncIterator[Process]:
    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": found.url,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none",
        "OTEL_BSP_SCHEDULE_DELAY": "50",
    }
    named = [f"{name}={value}" for name, value in variables.items()]
    settings = endpoint_environment(endpoint) | {"TRACES": "true"} | environment
    command = ("env", *named, INSTRUMENT)
    async with process(folder / "t.db", prefix=command, **settings) as server:
        yield server


@pytest.fixture
async def endpoint() -> AsyncIterator[StrictEndpoint]:
    async with StrictEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
async def found() -> AsyncIterator[Collector]:
    async with collector() as found:
        yield found


async def a_turn(client: Client, thread: str, headers: dict[str, str] | None = None) -> None:
    body = {"thread_id": thread, "message": "A secret question"}
    async with client.stream("POST", "/chat", json=body, headers=headers or {}) as reader:
        await reader.rest()


async def runs(found: Collector, count: int) -> Sequence[Span]:
    """The spans of so many runs, once all have come; the last one to begin is the last."""
    await until(lambda: len(found.named("invoke_agent chat")) >= count)
    spans = found.named("invoke_agent chat")
    return sorted(spans, key=lambda span: span.start_time_unix_nano)


async def test_a_turn_is_a_tree_of_its_run_its_model_calls_and_its_tools(
    tmp_path: Path, endpoint: StrictEndpoint, found: Collector
) -> None:
    usage = Usage(100, 40, cached_tokens=60, reasoning_tokens=25)
    answer = Reply((Say("A secret answer"), Finish(usage=usage)))
    endpoint.script(call_reply(CALL), answer)
    async with traced(tmp_path, endpoint, found) as server:
        parent = {"traceparent": f"00-{REQUEST_TRACE}-{REQUEST_SPAN}-01"}
        await a_turn(server.client, "t1", parent)
        [run] = await runs(found, 1)

    assert [span.name for span in found.below(run)] == [
        "chat scripted",
        "execute_tool calculator",
        "chat scripted",
    ]
    first, tool, second = found.below(run)
    assert {span.trace_id for span in found.spans} == {run.trace_id}
    assert first.kind == Span.SPAN_KIND_CLIENT
    for span in found.spans:
        assert run.start_time_unix_nano <= span.start_time_unix_nano < span.end_time_unix_nano
        assert span.end_time_unix_nano <= run.end_time_unix_nano
        assert attributes(span)["gen_ai.conversation.id"] == "t1"
        assert span.status.code != Status.STATUS_CODE_ERROR

    said = attributes(run)
    assert said["gen_ai.operation.name"] == "invoke_agent"
    assert said["gen_ai.agent.name"] == "chat"
    assert said["turnstream.run.state"] == "finished"
    assert said["gen_ai.response.finish_reasons"] == ["stop"]
    tokens = [attributes(span)["gen_ai.usage.output_tokens"] for span in (first, second)]
    assert said["gen_ai.usage.output_tokens"] == sum(tokens) > 0
    for span in (run, second):
        assert attributes(span)["gen_ai.usage.cache_read.input_tokens"] == 60
        assert attributes(span)["gen_ai.usage.reasoning.output_tokens"] == 25

    assert attributes(first)["gen_ai.operation.name"] == "chat"
    assert attributes(first)["gen_ai.provider.name"] == "openai"
    assert attributes(first)["gen_ai.request.model"] == "scripted"
    assert attributes(first)["gen_ai.request.stream"] is True
    assert 0 < attributes(first)["gen_ai.response.time_to_first_chunk"] < 30
    assert attributes(tool)["gen_ai.operation.name"] == "execute_tool"
    assert attributes(tool)["gen_ai.tool.name"] == "calculator"
    assert attributes(tool)["gen_ai.tool.call.id"]

    [link] = run.links
    assert (link.trace_id.hex(), link.span_id.hex()) == (REQUEST_TRACE, REQUEST_SPAN)
    assert not run.parent_span_id
    sent = b"".join(found.bodies)
    for word in (b"secret", b"60013", b"expression", str(60013 * 70001).encode()):
        assert word not in sent


@pytest.mark.full
async def test_how_a_run_ended_is_told_apart(
    tmp_path: Path, endpoint: StrictEndpoint, found: Collector
) -> None:
    endpoint.script(
        Reply((Say("Wait. "), Pause(asyncio.Event()))),
        Fail(401, "invalid_api_key", "No."),
        *[call_reply(CALL)] * 2,
        call_reply(("calculator", '{"expression": "1 / 0"}')),
        text_reply("That cannot be."),
    )
    async with traced(tmp_path, endpoint, found, MAX_STEPS="2") as server:
        body = {"thread_id": "stopped", "message": "Go."}
        async with server.client.chat(body) as reader:
            await reader.until("text-delta")
            await server.client.http.post("/chat/stopped/stop")
            await reader.rest()
        for thread in ("failed", "limited", "tool"):
            await a_turn(server.client, thread)
        await runs(found, 4)
    by_thread = {
        attributes(span)["gen_ai.conversation.id"]: span
        for span in found.named("invoke_agent chat")
    }
    error = Status.STATUS_CODE_ERROR

    stopped = by_thread["stopped"]
    assert attributes(stopped)["turnstream.run.state"] == "stopped"
    assert stopped.status.code != error
    [call] = found.below(stopped)
    assert call.status.code != error
    assert attributes(call)["turnstream.cancelled"] is True

    failed = by_thread["failed"]
    assert failed.status.code == error
    assert attributes(failed)["error.type"] == "model_unauthorized"
    [call] = found.below(failed)
    assert attributes(call)["error.type"] == "OpenAIAuthenticationError"

    assert attributes(by_thread["limited"])["turnstream.run.limit"] == "max_steps"
    assert by_thread["limited"].status.code != error

    _, tool, _ = found.below(by_thread["tool"])
    assert by_thread["tool"].status.code != error
    assert tool.status.code == error
    assert attributes(tool)["error.type"]


OWN_GRAPH = """
import asyncio

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from opentelemetry import trace


@tool
async def look_up(word: str) -> str:
    'Looks a word up.'
    with trace.get_tracer("mine").start_as_current_span("inside"):
        return "found"


@tool
async def hang(word: str) -> str:
    'Never ends.'
    await asyncio.Event().wait()


def call(name):
    return {"type": "tool_call", "name": name, "args": {"word": "w"}, "id": f"call-{name}"}


async def speak(state):
    await look_up.ainvoke(call("look_up"))
    try:
        async with asyncio.timeout(0.01):
            await hang.ainvoke(call("hang"))
    except TimeoutError:
        return {"messages": [AIMessage("It took too long.")]}


builder = StateGraph(MessagesState)
builder.add_node("speak", speak)
builder.add_edge(START, "speak")
graph = builder.compile()
"""


async def test_spans_of_a_tools_own_lie_below_it_in_a_graph_that_knows_nothing_of_the_server(
    tmp_path: Path, endpoint: StrictEndpoint, found: Collector
) -> None:
    (tmp_path / "agent.py").write_text(OWN_GRAPH)
    named = f"{tmp_path / 'agent.py'}:graph"
    async with traced(tmp_path, endpoint, found, GRAPH=named) as server:
        await a_turn(server.client, "t1")
        await until(lambda: found.named("invoke_agent agent"))
    [run] = found.named("invoke_agent agent")
    looks_up, hangs = found.below(run)
    assert looks_up.name == "execute_tool look_up"
    [inside] = found.below(looks_up)
    assert inside.name == "inside"
    # A call that is cancelled has no callback: its span ends with the run.
    assert hangs.name == "execute_tool hang"
    assert attributes(hangs)["turnstream.cancelled"] is True
    assert attributes(hangs)["gen_ai.tool.call.id"] == "call-hang"


@pytest.mark.full
async def test_a_tool_that_ran_out_of_time_ends_when_it_did(
    tmp_path: Path, endpoint: StrictEndpoint, found: Collector
) -> None:
    gate = asyncio.Event()
    endpoint.script(call_reply(CALL), Reply((Pause(gate), Say("Too slow."))))
    async with traced(tmp_path, endpoint, found, TOOL_TIMEOUT_SECONDS="0.000001") as server:
        body = {"thread_id": "t1", "message": "Go."}
        async with server.client.chat(body) as reader:
            await reader.until("result")
            gate.set()
            await reader.rest()
        [run] = await runs(found, 1)
    _, tool, after = found.below(run)
    assert attributes(tool)["error.type"] == "timeout"
    assert tool.end_time_unix_nano <= after.start_time_unix_nano


@pytest.mark.full
async def test_without_an_sdk_the_server_says_so_and_works(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Hello"))
    settings = endpoint_environment(endpoint) | {"TRACES": "true"}
    async with process(tmp_path / "t.db", **settings) as server:
        await a_turn(server.client, "t1")
        assert b"no OpenTelemetry SDK is set up" in b"".join(server.log)
    assert len(endpoint.requests) == 1


@pytest.mark.full
def test_without_the_library_the_error_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from turnstream.server.extensions.base import ExtensionError\n"
        "from turnstream.server.extensions.traces import TracesExtension\n"
        "try:\n    TracesExtension(None)\n"
        "except ExtensionError as error:\n    sys.stdout.write(str(error))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install opentelemetry-api" in done.stdout
