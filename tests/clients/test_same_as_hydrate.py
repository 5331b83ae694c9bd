"""Whatever a turn says: both clients' messages and both forms of hydrate say the same."""

from pathlib import Path
from typing import Any

from tests.clients.driver import ClientProcess
from tests.clients.random_turns import RandomTurn, answer, random_turn
from tests.clients.said import of_assistant_message
from tests.clients.stage import Stage, stage
from tests.clients.test_use_chat import shown
from tests.clients.turns import PENDING, Said

SEEDS = range(30)


async def play(show: Stage, chat: ClientProcess, reader: ClientProcess, turn: RandomTurn) -> None:
    """One thread, on both clients: the chat asks, the reader reads the same runs."""
    await reader.do("open", url=show.url)
    await chat.do("send", text="Go on")
    await attach(show, reader)
    if turn.last is None:
        return
    show.endpoint.script(turn.last)
    if turn.then == "type past":
        await chat.do("send", text="Never mind")
    for id in turn.asked if turn.then != "type past" else ():
        tool = {"tool": "request_user_selection", "toolCallId": id}
        await chat.do("answer", **tool, output=answer(turn))
    await attach(show, reader)


async def attach(show: Stage, reader: ClientProcess) -> None:
    entry = (await show.http.http.get("/threads")).json()["threads"][0]
    path = f"/chat/{entry['id']}/stream?last_event_id={entry['run_id']}:0"
    await reader.do("attach", path=f"{path}&protocol=assistant-transport")


def metadata(messages: list[dict[str, Any]]) -> list[Any]:
    return [message.get("metadata") for message in messages]


def settled(told: list[Said], stored: list[Said]) -> list[Said]:
    """What a client was told, with the answers that came to its open calls afterwards."""
    assert len(told) == len(stored)
    return [
        {**part, "result": later["result"]} if part.get("result") == PENDING else part
        for part, later in zip(told, stored, strict=True)
    ]


def read_by(reader: dict[str, Any]) -> dict[str, list[Said]]:
    """The parts of each message, over all its runs."""
    messages: dict[str, list[Said]] = {}
    for message in reader["messages"]:
        id = message["metadata"]["steps"][0]["messageId"]
        messages.setdefault(id, []).extend(of_assistant_message(message))
    return messages


async def test_clients_and_hydrate_say_the_same_of_any_turn(
    tmp_path: Path, use_chat: ClientProcess, assistant_stream: ClientProcess
) -> None:
    model_calls = 0
    async with stage(tmp_path) as show:
        for seed in SEEDS:
            turn, thread = random_turn(seed), f"thread-{seed}"
            show.endpoint.script(*turn.replies)
            await use_chat.do("open", url=show.url, id=thread)
            await play(show, use_chat, assistant_stream, turn)
            model_calls += len(turn.replies) + (turn.last is not None)
            assert len(show.endpoint.requests) == model_calls, seed
            assert show.endpoint.unplayed == 0, seed

            chat, reader = await use_chat.report(), await assistant_stream.report()
            assert chat["warnings"] == reader["warnings"] == [], seed
            assert reader["decoded"] == reader["events"], seed
            ui = await show.messages(thread, "ui-message-stream")
            if turn.then == "type past":
                # No stream can reach the questions of an earlier message.
                del ui[1], chat["messages"][1]
            assert shown(chat["messages"]) == shown(ui), seed
            # Chat reads no further than an error.
            assert chat["errors"] or metadata(chat["messages"]) == metadata(ui), seed

            stored = {
                message["id"]: of_assistant_message(message)
                for message in await show.messages(thread, "assistant-transport")
                if message["role"] == "assistant"
            }
            told = read_by(reader)
            assert told.keys() == stored.keys(), seed
            for id, parts in stored.items():
                assert settled(told[id], parts) == parts, seed
        assert show.endpoint.refused == []
