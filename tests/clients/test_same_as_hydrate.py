"""Whatever a turn says: both clients' messages and both forms of hydrate say the same."""

from pathlib import Path
from typing import Any

import pytest

from tests.clients.driver import ClientProcess
from tests.clients.message_parts import parts_of_assistant_message
from tests.clients.random_turns import RandomTurn, answer, random_turn
from tests.clients.scripted_turns import PENDING, Part
from tests.clients.test_use_chat import shown
from tests.support.samples import sample
from tests.support.scripted_server import ScriptedServer, scripted_server

SEEDS = range(sample(30, 8))


async def play(
    server: ScriptedServer, chat: ClientProcess, reader: ClientProcess, turn: RandomTurn
) -> None:
    """One thread, on both clients: the chat asks, the reader reads the same runs."""
    await reader.do("open", url=server.url)
    await chat.do("send", text="Go on")
    await attach(server, reader)
    if turn.last is None:
        return
    server.endpoint.script(turn.last)
    if turn.then == "type past":
        await chat.do("send", text="Never mind")
    for id in turn.asked if turn.then != "type past" else ():
        tool = {"tool": "request_user_selection", "toolCallId": id}
        await chat.do("answer", **tool, output=answer(turn))
    await attach(server, reader)


async def attach(server: ScriptedServer, reader: ClientProcess) -> None:
    entry = (await server.http.http.get("/threads")).json()["threads"][0]
    path = f"/chat/{entry['id']}/stream?last_event_id={entry['run_id']}:0"
    await reader.do("attach", path=f"{path}&protocol=assistant-transport")


def metadata(messages: list[dict[str, Any]]) -> list[Any]:
    return [message.get("metadata") for message in messages]


def settled(told: list[Part], stored: list[Part]) -> list[Part]:
    """What a client was told, with the answers that came to its open calls afterwards."""
    assert len(told) == len(stored)
    return [
        {**part, "result": later["result"]} if part.get("result") == PENDING else part
        for part, later in zip(told, stored, strict=True)
    ]


def read_by(reader: dict[str, Any]) -> dict[str, list[Part]]:
    """The parts of each message, over all its runs."""
    messages: dict[str, list[Part]] = {}
    for message in reader["messages"]:
        id = message["metadata"]["steps"][0]["messageId"]
        messages.setdefault(id, []).extend(parts_of_assistant_message(message))
    return messages


@pytest.mark.long
async def test_clients_and_hydrate_say_the_same_of_any_turn(
    tmp_path: Path, use_chat: ClientProcess, assistant_stream: ClientProcess
) -> None:
    model_calls = 0
    async with scripted_server(tmp_path) as server:
        for seed in SEEDS:
            turn, thread = random_turn(seed), f"thread-{seed}"
            server.endpoint.script(*turn.replies)
            await use_chat.do("open", url=server.url, id=thread)
            await play(server, use_chat, assistant_stream, turn)
            model_calls += len(turn.replies) + (turn.last is not None)
            assert len(server.endpoint.requests) == model_calls, seed
            assert server.endpoint.unplayed == 0, seed

            chat, reader = await use_chat.report(), await assistant_stream.report()
            assert chat["warnings"] == reader["warnings"] == [], seed
            assert reader["decoded"] == reader["events"], seed
            ui = await server.messages(thread, "ui-message-stream")
            if turn.then == "type past":
                # No stream can reach the questions of an earlier message.
                del ui[1], chat["messages"][1]
            assert shown(chat["messages"]) == shown(ui), seed
            # Chat reads no further than an error.
            assert chat["errors"] or metadata(chat["messages"]) == metadata(ui), seed

            stored = {
                message["id"]: parts_of_assistant_message(message)
                for message in await server.messages(thread, "assistant-transport")
                if message["role"] == "assistant"
            }
            told = read_by(reader)
            assert told.keys() == stored.keys(), seed
            for id, parts in stored.items():
                assert settled(told[id], parts) == parts, seed
        assert server.endpoint.refused == []
