"""Python's `langgraph_sdk` against the real server; it waits a second before it joins again."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError, NotFoundError, UnprocessableEntityError

from tests.clients.message_parts import parts_of_langchain_messages
from tests.clients.scripted_turns import ASKED, QUESTION, TURNS, Turn, call, text
from tests.clients.test_use_stream import agent, is_in
from tests.support.cutting_proxy import cutting_proxy
from tests.support.endpoint import Fail, Pause, Say, call_reply, reply, text_reply
from tests.support.langgraph_reader import Frame, LangGraphReader, plain
from tests.support.samples import sample
from tests.support.scripted_server import scripted_server
from tests.support.serving import Client
from tests.support.waiting import eventually
from turnstream.server.turns.header import LOCAL_OWNER, ThreadKey

MODES: Any = ["messages-tuple", "values", "updates", "custom"]
ASK = call_reply(("request_user_selection", QUESTION), ids=("call_1",))
ERASE = call_reply(("erase", '{"name":"old"}'), ids=("call_1",))


@asynccontextmanager
async def sdk(url: str) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=f"{url}/langgraph", api_key=None) as client:
        yield client


def human(words: str) -> dict[str, Any]:
    return {"messages": [{"type": "human", "content": words}]}


async def run(client: LangGraphClient, thread_id: str, **asked: Any) -> list[Any]:
    parts = client.runs.stream(thread_id, "chat", **{"stream_mode": MODES, **asked})
    return [part async for part in parts]


async def new_thread(client: LangGraphClient) -> str:
    return str((await client.threads.create())["thread_id"])


async def messages(client: LangGraphClient, thread_id: str) -> list[dict[str, Any]]:
    state: Any = await client.threads.get_state(thread_id)
    found: list[dict[str, Any]] = state["values"]["messages"]
    return found


def last_values(parts: list[Any]) -> Any:
    return [part.data for part in parts if part.event == "values"][-1]


@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.name)
async def test_a_turn_ends_with_the_thread(turn: Turn, tmp_path: Path) -> None:
    async with (
        scripted_server(
            tmp_path, *turn.replies, tool_timeout_seconds=turn.tool_timeout_seconds
        ) as server,
        sdk(server.url) as client,
    ):
        thread_id = await new_thread(client)
        parts = await run(client, thread_id, input=human("Go on"))
        assert parts[0].event == "metadata"
        assert parts[-1].event == ("error" if turn.errors else "end")
        held = await messages(client, thread_id)
        assert last_values(parts) == {"messages": held}
        assert parts_of_langchain_messages(held) == turn.parts
        status = "error" if turn.errors else "success"
        made = await client.runs.get(thread_id, parts[0].data["run_id"])
        assert made["status"] == ("interrupted" if turn.finish == "tool-calls" else status)


async def test_a_question_and_an_approval_are_answered(tmp_path: Path) -> None:
    async with (
        scripted_server(
            tmp_path, ASK, text_reply("Saturday."), ERASE, text_reply("Erased.")
        ) as server,
        sdk(server.url) as client,
    ):
        thread_id = await new_thread(client)
        await run(client, thread_id, input=human("Book a trip"))
        answer = {"type": "tool", "tool_call_id": "call_1", "content": json.dumps({"value": "sat"})}
        await run(client, thread_id, input={"messages": [answer]})
        asked = await run(client, thread_id, input=human("Tidy up"))
        (interrupt,) = last_values(asked)["__interrupt__"]
        thread: Any = await client.threads.get(thread_id)
        assert thread["status"] == "interrupted"
        assert [*thread["interrupts"]] == [interrupt["id"]]
        edited = {"name": "erase", "args": {"name": "older"}}
        decision = {"type": "edit", "edited_action": edited}
        parts = await run(client, thread_id, command={"resume": {interrupt["id"]: decision}})
        assert "__interrupt__" not in last_values(parts)
        told = parts_of_langchain_messages(await messages(client, thread_id))
        assert told[:2] == [
            call("request_user_selection", ASKED, {"value": "sat"}),
            text("Saturday."),
        ]
        assert told[2]["result"] == {"erased": "older"}


async def test_interrupts_of_a_graph_are_answered_by_id(tmp_path: Path) -> None:
    async with agent(tmp_path, "asking") as http:
        await http.http.get("/health")
        async with sdk(http.url) as client:
            thread_id = await new_thread(client)
            asked = last_values(await run(client, thread_id, input=human("both")))["__interrupt__"]
            answers = {one["id"]: "red" for one in asked}
            assert len(answers) == 2
            with pytest.raises(UnprocessableEntityError) as refused:
                await run(client, thread_id, command={"resume": "red"})
            assert refused.value.code == "invalid_resume"
            await run(client, thread_id, command={"resume": answers})
            said = {message["content"] for message in (await messages(client, thread_id))[1:]}
            assert said == {"Colour red.", "Size red."}


async def test_a_run_is_started_joined_and_cancelled(tmp_path: Path) -> None:
    never = Pause(asyncio.Event())
    async with (
        scripted_server(tmp_path, reply(Say("The tide "), never)) as server,
        sdk(server.url) as client,
    ):
        thread_id = await new_thread(client)
        made = await client.runs.create(thread_id, "chat", input=human("Go on"))
        run_id = made["run_id"]
        assert (await client.runs.get(thread_id, run_id))["status"] == "running"
        mine: Any = {"input": human("Mine"), "multitask_strategy": "reject"}
        with pytest.raises(ConflictError) as refused:
            await client.runs.create(thread_id, "chat", **mine)
        assert refused.value.code == "run_in_progress"
        # Without it a run that this client has begun is told in values.
        mode: Any = {"stream_mode": "messages-tuple"}
        joined = client.runs.join_stream(thread_id, run_id, last_event_id="-1", **mode)
        async for part in joined:
            if part.event == "messages":
                await client.runs.cancel(thread_id, run_id, wait=True)
                break
        assert (await client.runs.get(thread_id, run_id))["status"] == "interrupted"
        again = [part async for part in client.runs.join_stream(thread_id, run_id)]
        assert again[-1].event == "end"
        rest = client.runs.join_stream(thread_id, run_id, last_event_id=again[-1].id)
        assert [part.event async for part in rest] == ["end"]
        told = parts_of_langchain_messages(await messages(client, thread_id))
        assert told == [text("The tide ")]


async def test_runs_of_a_busy_thread_are_pending_and_come_one_after_the_other(
    tmp_path: Path,
) -> None:
    pause = Pause(asyncio.Event())
    replies = (reply(Say("One."), pause), text_reply("Two."))
    async with scripted_server(tmp_path, *replies) as server, sdk(server.url) as client:
        thread_id = await new_thread(client)
        await client.runs.create(thread_id, "chat", input=human("First"))
        second = await client.runs.create(thread_id, "chat", input=human("Second"))
        third = await client.runs.create(thread_id, "chat", input=human("Third"))
        assert second["status"] == third["status"] == "pending"
        await client.runs.delete(thread_id, third["run_id"])
        assert [run["status"] for run in await client.runs.list(thread_id)] == [
            "pending",
            "running",
        ]
        join = asyncio.create_task(client.runs.join(thread_id, second["run_id"]))
        pause.event.set()
        said: Any = await join
        assert [one["content"] for one in said["messages"]][-2:] == ["Second", "Two."]


@pytest.mark.parametrize("order", ["cancel", "continue"])
async def test_a_reader_that_leaves_ends_the_run_if_it_has_said_so(
    order: Any, tmp_path: Path
) -> None:
    pause = Pause(asyncio.Event())
    async with (
        scripted_server(tmp_path, reply(Say("The tide "), pause, Say("is high."))) as server,
        sdk(server.url) as client,
    ):
        thread_id = await new_thread(client)
        asked = client.runs.stream(
            thread_id, "chat", input=human("Go on"), stream_mode=MODES, on_disconnect=order
        )
        async for part in asked:
            if part.event == "messages":
                break
        await asked.aclose()  # type: ignore[attr-defined]
        if order == "cancel":
            await eventually(partial(is_in, server.http, thread_id, "stopped"))
        else:
            await eventually(partial(nobody_reads, server.http, thread_id))
            assert await is_in(server.http, thread_id, "live")
            pause.event.set()
            await eventually(partial(is_in, server.http, thread_id, "finished"))


async def nobody_reads(http: Client, thread_id: str) -> bool:
    assert http.state is not None
    live = await http.state["reader"].live(ThreadKey(LOCAL_OWNER, thread_id))
    return live is not None and (await live.log.status()).readers == 0


@pytest.mark.long
@pytest.mark.parametrize("cut", sample(range(9), [4]))
@pytest.mark.filterwarnings("ignore:Reconnecting without a Last-Event-ID")
async def test_a_stream_that_is_cut_off_goes_on_where_it_was(cut: int, tmp_path: Path) -> None:
    adding = call_reply(("add", '{"a":1,"b":2}'), ids=("call_1",))
    async with (
        scripted_server(tmp_path, adding, reply(Say("The sum "), Say("is 3."))) as server,
        cutting_proxy("127.0.0.1", int(server.url.rpartition(":")[2]), [cut]) as proxy,
        sdk(proxy.url) as client,
    ):
        thread_id = await new_thread(client)
        parts = await run(client, thread_id, input=human("Add"))
        assert len(proxy.resumed) == 2
        reader = LangGraphReader()
        reader.read(Frame(part.id, part.event, part.data) for part in parts)
        held = await messages(client, thread_id)
        assert reader.values == {"messages": held}
        assert {*reader.built} == {message["id"] for message in held[1:]}
        assert all(reader.built[m["id"]] == plain(m) for m in held[1:])


async def test_a_run_takes_the_place_of_the_one_before_or_goes_on_from_a_checkpoint(
    tmp_path: Path,
) -> None:
    never = Pause(asyncio.Event())
    async with (
        scripted_server(
            tmp_path, reply(Say("First "), never), text_reply("Second."), text_reply("Anew.")
        ) as server,
        sdk(server.url) as client,
    ):
        thread_id = await new_thread(client)
        await client.runs.create(thread_id, "chat", input=human("One"))
        await server.endpoint.arrived(1)
        parts = await run(client, thread_id, input=human("Two"), multitask_strategy="interrupt")
        assert parts[-1].event == "end"
        history: Any = await client.threads.get_history(thread_id)
        assert [len(state["values"]["messages"]) for state in history][-1] == 0
        await run(client, thread_id, input=human("Uno"), checkpoint=history[-1]["checkpoint"])
        held = await messages(client, thread_id)
        assert [message["content"] for message in held] == ["Uno", "Anew."]


async def test_threads_are_listed_and_forgotten(tmp_path: Path) -> None:
    async with (
        scripted_server(tmp_path, Fail(400, "Bad."), text_reply("Fine.")) as server,
        sdk(server.url) as client,
    ):
        failed, fine = await new_thread(client), await new_thread(client)
        assert [t["thread_id"] for t in await client.threads.search()] == [fine, failed]
        parts = await run(client, failed, input=human("One"))
        assert parts[-1].event == "error"
        state: Any = await client.threads.get_state(failed)
        assert json.loads(state["tasks"][0]["error"]) == parts[-1].data
        await run(client, fine, input=human("Two"))
        found = await client.threads.search(metadata={"graph_id": "chat"}, limit=100)
        assert [one["thread_id"] for one in found] == [fine, failed]
        assert [one["status"] for one in found] == ["idle", "error"]
        titles = [one["values"]["messages"][0]["content"] for one in found]  # type: ignore[index]
        assert titles == ["Two", "One"]
        assert len(await client.threads.search(limit=1, offset=1)) == 1
        errors: Any = "error"
        assert [t["thread_id"] for t in await client.threads.search(status=errors)] == [failed]
        await client.threads.delete(fine)
        with pytest.raises(NotFoundError) as gone:
            await client.threads.get(fine)
        assert gone.value.code == "thread_not_found"
        (assistant,) = await client.assistants.search()
        same = await client.assistants.get(assistant["assistant_id"])
        assert same == assistant
