"""AG-UI's published client reads subagents: what it holds at the end is what the thread shows."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.clients.conftest import ClientOf
from tests.clients.driver import ClientProcess
from tests.formats.test_ag_ui_subagents import AG_UI_1_0, drawn_runs, held
from tests.formats.test_protocol_properties import Run, encode
from tests.support.ag_ui_reader import by_owner
from tests.support.samples import sample
from tests.support.serving import serving
from tests.support.serving import settings as served
from turnstream.server.turns.chunks import Error
from turnstream.server.turns.messages import Turn

AGENT = """
from tests.graphs.zoo.model import ReplyingModel
from tests.graphs.zoo.subagents import delegate, delegating


def graph():
    return delegating(ReplyingModel(replies=delegate))
"""
THREAD = "thread-1"
Json = dict[str, Any]


@pytest.fixture
def agent(client_of: ClientOf) -> ClientProcess:
    return client_of("ag-ui.mjs")


async def test_subagents_of_deepagents_are_told_apart_live_and_in_the_loaded_thread(
    tmp_path: Path, agent: ClientProcess
) -> None:
    (tmp_path / "deep.py").write_text(AGENT)
    graph = f"{tmp_path / 'deep.py'}:graph"
    async with serving(served(tmp_path / "t.db", graph=graph)) as client:
        await agent.do("open", url=client.url, threadId=THREAD)
        await agent.do("send", text="moss and fern")
        report = await agent.report()
        assert report["warnings"] == report["failures"] == []
        loaded = await client.thread(THREAD, protocol="ag-ui-1.0")
        assert by_owner(report["messages"]) == by_owner(loaded["messages"])
        began = [e for e in report["subagents"] if e["type"] == "SUBAGENT_STARTED"]
        assert began == loaded["subagents"]
        (asked,) = (m for m in loaded["messages"] if len(m.get("toolCalls", ())) == 2)
        assert [one["parentToolCallId"] for one in began] == [c["id"] for c in asked["toolCalls"]]
        assert {one["parentMessageId"] for one in began} == {asked["id"]}
        texts = [
            [m["content"] for m in loaded["messages"] if is_said_by(m, one["subagentRunId"])]
            for one in began
        ]
        facts = ["I found facts of moss.", "I found facts of fern."]
        assert texts == [["Looking.", fact] for fact in facts]
        await agent.do("open", url=client.url, threadId=THREAD, messages=loaded["messages"])
        await agent.do("send", text="fern and moss")
        assert (await agent.report())["events"].count("MESSAGES_SNAPSHOT") == 0


def is_said_by(message: Json, subagent: str) -> bool:
    return (
        message.get("subagentRunId") == subagent
        and "content" in message
        and (message["role"] == "assistant")
    )


async def test_whatever_subagents_say_is_held_as_the_thread_has_it(agent: ClientProcess) -> None:
    """Its schema and its checks refuse nothing, and it builds what the tests' own reader builds."""
    examples: list[tuple[Run, tuple[Turn, ...]]] = []

    @given(drawn_runs())
    @settings(
        max_examples=sample(60, 15), database=None, suppress_health_check=[HealthCheck.too_slow]
    )
    def draw(example: tuple[Run, tuple[Turn, ...]]) -> None:
        examples.append(example)

    draw()
    for run, turns in examples:
        said = encode(run, AG_UI_1_0, view=held(run))
        stream = "".join(f"data: {payload}\n\n" for payload in said)
        await agent.do(
            "open", url="http://none", threadId=THREAD, messages=held(run), stream=stream
        )
        await agent.do("run")
        report = await agent.report()
        assert report["warnings"] == report["failures"] == [], said
        assert by_owner(report["messages"]) == by_owner(AG_UI_1_0.snapshot(turns))
        failed = any(isinstance(chunk, Error) for chunk in run.chunks)
        assert report["events"][-1] == ("RUN_ERROR" if failed else "RUN_FINISHED")
