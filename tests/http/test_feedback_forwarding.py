"""Feedback on its way to the service that has the traces, as its operator sets it up."""

import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from tests.support.collector import langsmith_runs
from tests.support.feedback_service import PROJECT_ID, FeedbackService, feedback_service
from tests.support.serving import Process, process, settings
from tests.support.waiting import eventually, until
from turnstream.server.app import create_app
from turnstream.server.extensions.base import ExtensionError

INSTRUMENT = str(Path(sys.executable).with_name("opentelemetry-instrument"))
QUICK = """
from turnstream.server.extensions.feedback import forwarding
from turnstream.server.__main__ import command

forwarding.RETRY_SECONDS, forwarding.MAX_WAITING = (0.01, 0.01), 2
command()
"""
"""A server that does not wait long before it tries again, and has a short queue."""
COMMAND = ("-P", "-c", QUICK, "--port", "0")


@pytest.fixture
async def service() -> AsyncIterator[FeedbackService]:
    async with feedback_service() as service:
        yield service


@asynccontextmanager
async def forwarding(
    folder: Path, name: str, service: FeedbackService, **environment: str
) -> AsyncIterator[Process]:
    prefix = {"langsmith": langsmith, "langfuse": langfuse}[name](service)
    given = {"FEEDBACK": "true", "FEEDBACK_FORWARD": name, "METRICS_PORT": "0"} | environment
    async with process(folder / "t.db", COMMAND, prefix=prefix, **given) as server:
        yield server


def langsmith(service: FeedbackService) -> tuple[str, ...]:
    return (
        "env",
        "LANGSMITH_TRACING=true",
        f"LANGSMITH_ENDPOINT={service.url}",
        "LANGSMITH_API_KEY=a-key",
    )


def langfuse(service: FeedbackService) -> tuple[str, ...]:
    return (
        "env",
        f"LANGFUSE_HOST={service.url}",
        "LANGFUSE_PUBLIC_KEY=a-key",
        "LANGFUSE_SECRET_KEY=a-secret",
        "TURNSTREAM_TRACES=true",
        f"OTEL_EXPORTER_OTLP_ENDPOINT={service.url}",
        "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
        "OTEL_METRICS_EXPORTER=none",
        "OTEL_LOGS_EXPORTER=none",
        "OTEL_BSP_SCHEDULE_DELAY=50",
        INSTRUMENT,
    )


async def answered(server: Process, message: str = "Hi", thread: str = "t1") -> str:
    """Play a turn; returns the id of its answer."""
    await server.client.turn({"message": message, "thread_id": thread})
    last: str = (await server.client.thread(thread))["messages"][-1]["id"]
    return last


async def give(server: Process, message_id: str, value: str, **more: Any) -> None:
    body = {"message_id": message_id, "value": value} | more
    answer = await server.client.http.post("/threads/t1/feedback", json=body)
    assert answer.status_code == 200, answer.text


async def counted(server: Process, event: str) -> int:
    """Events of the feedback that the metrics have."""
    place = re.findall(r"GET /metrics on (\S+)", b"".join(server.log).decode())[-1]
    async with httpx.AsyncClient() as http:
        shown = (await http.get(f"http://{place}/metrics")).text
    lines = [line for line in shown.splitlines() if f'event="{event}"' in line]
    assert all('extension="feedback"' in line for line in lines)
    return sum(int(float(line.split()[-1])) for line in lines)


def trace_of(service: FeedbackService, name: str) -> str | None:
    """Return the id of the last trace that the service got. None: there is none yet."""
    if name == "langfuse":
        spans = service.traces.named("invoke_agent chat")
        return spans[-1].trace_id.hex() if spans else None
    found = [run["trace_id"] for run in langsmith_runs(service.traces).values()]
    return found[-1] if found else None


def as_told(score: dict[str, Any]) -> tuple[Any, ...]:
    """Return the trace, the value and the comment of a score at either service."""
    names = ("traceId", "value") if "traceId" in score else ("trace_id", "score")
    return *(score[name] for name in names), score["comment"]


@pytest.mark.parametrize("name", ["langsmith", "langfuse"])
async def test_a_message_has_one_score_at_its_trace_which_follows_its_thumb(
    tmp_path: Path, service: FeedbackService, name: str
) -> None:
    async with forwarding(tmp_path, name, service) as server:
        message_id = await answered(server)
        await until(lambda: trace_of(service, name))
        trace = trace_of(service, name)
        await give(server, message_id, "up")
        await until(lambda: [as_told(one) for one in service.scores.values()] == [(trace, 1, None)])
        (id,) = service.scores
        await give(server, message_id, "down", reason="A wrong sum.")
        changed = {id: (trace, 0, "A wrong sum.")}
        await until(lambda: {i: as_told(one) for i, one in service.scores.items()} == changed)
        if name == "langsmith":
            assert service.scores[id]["session_id"] == PROJECT_ID
            assert service.scores[id]["run_id"] == trace
        await give(server, message_id, "none")
        await until(lambda: not service.scores)
        assert len(service.credentials) == 1


@pytest.mark.full
async def test_an_earlier_langfuse_gets_each_score_alone(
    tmp_path: Path, service: FeedbackService
) -> None:
    service.takes_lists = False
    async with forwarding(tmp_path, "langfuse", service) as server:
        await give(server, await answered(server), "up")
        await until(lambda: service.scores)


async def test_a_service_that_fails_is_asked_again_and_its_failures_are_counted(
    tmp_path: Path, service: FeedbackService
) -> None:
    async with forwarding(tmp_path, "langsmith", service) as server:
        message_id = await answered(server)
        service.failing = 2
        await give(server, message_id, "up")
        await until(lambda: service.scores)
        assert await counted(server, "not_forwarded") == 0
        service.failing = 3
        await give(server, message_id, "down", reason="A secret.")
        await until(lambda: b"did not reach langsmith: status 503" in b"".join(server.log))
        assert (await counted(server, "forwarded"), await counted(server, "not_forwarded")) == (
            1,
            1,
        )
        [kept] = (await server.client.http.get("/threads/t1/feedback")).json()["feedback"]
        assert kept["reason"] == "A secret."
        assert b"secret" not in b"".join(server.log)


@pytest.mark.full
async def test_a_service_that_hangs_delays_no_request_and_the_queue_is_bounded(
    tmp_path: Path, service: FeedbackService
) -> None:
    service.hangs = True
    async with forwarding(tmp_path, "langsmith", service) as server:
        await give(server, await answered(server), "up")
        await until(lambda: service.asked)
        for number in range(5):
            await give(server, f"m{number}", "up")
        assert await counted(server, "not_forwarded") == 3
        assert b"too much feedback waits" in b"".join(server.log)


@pytest.mark.full
async def test_feedback_on_a_message_without_a_trace_is_not_forwarded(
    tmp_path: Path, service: FeedbackService
) -> None:
    async with forwarding(tmp_path, "langsmith", service) as server:
        await answered(server)

        async def is_counted() -> bool:
            return await counted(server, "not_traced") == 1

        await give(server, "unknown", "up")
        await eventually(is_counted)
        assert not service.asked


@pytest.mark.full
async def test_a_trace_of_before_a_restart_gets_the_feedback_of_after_it(
    tmp_path: Path, service: FeedbackService
) -> None:
    async with forwarding(tmp_path, "langsmith", service) as server:
        message_id = await answered(server)
        await until(lambda: trace_of(service, "langsmith"))
        trace = trace_of(service, "langsmith")
    async with forwarding(tmp_path, "langsmith", service) as server:
        await give(server, message_id, "up")
        await until(lambda: [as_told(one) for one in service.scores.values()] == [(trace, 1, None)])


@pytest.mark.parametrize(
    ("name", "missing", "sentence"),
    [
        ("langsmith", "LANGSMITH_API_KEY", "needs LANGSMITH_API_KEY"),
        ("langsmith", "LANGSMITH_TRACING", "set LANGSMITH_TRACING=true"),
        ("langfuse", "LANGFUSE_PUBLIC_KEY", "needs LANGFUSE_PUBLIC_KEY"),
        ("langfuse", "LANGFUSE_SECRET_KEY", "needs LANGFUSE_SECRET_KEY"),
        ("langfuse", "TURNSTREAM_TRACES", "set TURNSTREAM_TRACES=true"),
    ],
)
def test_what_is_missing_keeps_the_server_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, missing: str, sentence: str
) -> None:
    for variable in ("LANGSMITH_API_KEY", "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"):
        monkeypatch.setenv(variable, "given")
    monkeypatch.delenv(missing, raising=False)
    given = settings(
        tmp_path / "t.db",
        feedback=True,
        feedback_forward=name,
        traces=missing != "TURNSTREAM_TRACES",
    )
    with pytest.raises(ExtensionError, match=sentence):
        create_app(given)


def test_nothing_is_forwarded_without_feedback(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="needs TURNSTREAM_FEEDBACK=true"):
        settings(tmp_path / "t.db", feedback_forward="langfuse")
