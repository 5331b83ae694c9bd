"""Golden transcripts of LangGraph's wire: requests, the headers and events that answer them, and
the thread's state, without what is random or a matter of timing.

    python -m tests.support.langgraph_golden --record    writes tests/data/golden-langgraph anew
"""

import argparse
import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support import golden
from tests.support.endpoint import Fail, Say, call_reply, reply, text_reply
from tests.support.endpoint.script import Args, Call, Scripted
from tests.support.langgraph_reader import Frame, named_frames
from tests.support.scripted_server import ScriptedServer, scripted_server

Json = dict[str, Any]

FILES = Path(__file__).parents[1] / "data" / "golden-langgraph"
THREAD = "thread-1"
RUN = f"/langgraph/threads/{THREAD}/runs/stream"
ASK = call_reply(
    (
        "request_user_selection",
        '{"kind":"single","prompt":"Which?","options":[{"value":"fri"},{"value":"sat"}]}',
    ),
    ids=("call_1",),
)


def run(**body: Any) -> Json:
    return {"assistant_id": "chat", **body}


def human(words: str, id: str) -> Json:
    return run(input={"messages": [{"type": "human", "content": words, "id": id}]})


def tool(call_id: str, content: str) -> Json:
    return run(input={"messages": [{"type": "tool", "tool_call_id": call_id, "content": content}]})


def resume(value: Any) -> Json:
    return run(command={"resume": value})


SCENARIOS: Mapping[str, tuple[Sequence[Scripted], Sequence[Json]]] = {
    "tools_beside_each_other": (
        (
            reply(
                Say("Let me add."),
                Call(0, "call_1", "add", '{"a":1'),
                Call(1, "call_2", "add", '{"a":10'),
                Args(0, ',"b":2}'),
                Args(1, ',"b":20}'),
            ),
            text_reply("Both."),
        ),
        (human("Add.", "h1"),),
    ),
    "a_question_answered": (
        (ASK, text_reply("Saturday it is.")),
        (human("Book a trip.", "h1"), tool("call_1", '{"value":"sat"}')),
    ),
    "an_approval_given": (
        (call_reply(("erase", '{"name":"old"}'), ids=("call_1",)), text_reply("Erased.")),
        (human("Tidy up.", "h1"), resume({"decisions": [{"type": "approve"}]})),
    ),
    "two_approvals_decided_one_by_one": (
        (
            call_reply(
                ("erase", '{"name":"a"}'), ("erase", '{"name":"b"}'), ids=("call_1", "call_2")
            ),
            text_reply("One of them."),
        ),
        (
            human("Tidy up.", "h1"),
            resume({"call_2": {"type": "approve"}}),
            resume({"type": "reject", "message": "Not that."}),
        ),
    ),
    "an_edit_and_an_answer_anew": (
        (text_reply("First."), text_reply("Anew."), text_reply("Again.")),
        (
            human("One.", "h1"),
            {**human("Uno.", "h2"), "checkpoint": {"checkpoint_id": "start"}},
            run(checkpoint={"checkpoint_id": "after-h2"}),
        ),
    ),
    "a_model_that_fails": ((Fail(400, "Bad."),), (human("Go on.", "h1"),)),
}


async def played(name: str, folder: Path) -> str:
    """The transcript of a scenario."""
    replies, bodies = SCENARIOS[name]
    async with scripted_server(folder, *replies) as server:
        turns = [await _turn(server, body) for body in bodies]
        state = await server.http.http.get(f"/langgraph/threads/{THREAD}/state")
        run_ids = [turn.pop("run_id") for turn in turns]
        transcript = golden.dumps({"turns": turns, "state": state.json()})
    return golden.written(json.loads(golden.without_chance(transcript, run_ids)))


async def _turn(server: ScriptedServer, body: Json) -> Json:
    answer = await server.http.http.post(RUN, json=body)
    assert answer.status_code == 200, answer.text
    headers = {
        name: value
        for name, value in sorted(answer.headers.items())
        if name in ("content-type", "content-location", "location", "cache-control")
    }
    return {
        "request": body,
        "headers": headers,
        "stream": [
            asdict(frame) | {"id": frame.id is not None} for frame in _joined(answer.content)
        ],
        "run_id": answer.headers["x-run-id"],
    }


def _joined(stream: bytes) -> list[Frame]:
    """Neighbouring pieces of a text as one: how many there are depends on time."""
    whole: list[Frame] = []
    for frame in named_frames(stream):
        pieces = [_piece(one) for one in (*whole[-1:], frame)]
        if len(pieces) == 2 and None not in pieces and _rest(whole[-1]) == _rest(frame):
            whole[-1] = _with_piece(frame, f"{pieces[0]}{pieces[1]}")
        else:
            whole.append(frame)
    return whole


def _place(data: Any) -> tuple[Json, str] | None:
    """Where a piece of text stands: the object and its key."""
    match data:
        case [{"type": "AIMessageChunk", "tool_call_chunks": [{"name": None} as call]}, _]:
            return call, "args"
        case [{"type": "AIMessageChunk", "content": str()} as message, _]:
            return None if "tool_call_chunks" in message else (message, "content")
    return None


def _piece(frame: Frame) -> str | None:
    place = _place(frame.data)
    return str(place[0][place[1]]) if place else None


def _with_piece(frame: Frame, text: str) -> Frame:
    data = json.loads(json.dumps(frame.data))
    place = _place(data)
    if place:
        place[0][place[1]] = text
    return Frame(frame.id, frame.event, data)


def _rest(frame: Frame) -> Any:
    return _with_piece(frame, "").data


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.langgraph_golden")
    parser.add_argument("--record", action="store_true", required=True)
    parser.parse_args()
    FILES.mkdir(parents=True, exist_ok=True)
    for name in SCENARIOS:
        with TemporaryDirectory() as directory:
            told = asyncio.run(played(name, Path(directory)))
        (FILES / f"{name}.json").write_text(told, encoding="utf-8")


if __name__ == "__main__":
    main()
