"""agent-chat-ui's requests as its source makes them, and the checks that it makes of the answers.

`tests/data/agent_chat_ui.json` has the requests of `src/providers/Stream.tsx`, `Thread.tsx`,
`src/components/thread/index.tsx` and `agent-inbox/hooks/use-interrupted-actions.tsx`.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.endpoint import call_reply, text_reply
from tests.support.langgraph_reader import Frame, LangGraphReader, named_frames
from tests.support.scripted_server import ScriptedServer, scripted_server

Json = dict[str, Any]

REQUESTS: Json = json.loads((Path(__file__).parents[1] / "data/agent_chat_ui.json").read_text())
ERASE = call_reply(("erase", '{"name":"old"}'), ids=("call_1",))
TWO = call_reply(("erase", '{"name":"a"}'), ("erase", '{"name":"b"}'), ids=("call_1", "call_2"))
ASK = call_reply(
    (
        "request_user_selection",
        '{"kind":"single","prompt":"Which?","options":[{"value":"fri"},{"value":"sat"}]}',
    ),
    ids=("call_1",),
)


class Page:
    """The requests of one page, on one thread."""

    def __init__(self, server: ScriptedServer) -> None:
        self._http = server.http.http
        self.names = {"thread": "none", "checkpoint": "none"}

    async def ask(self, name: str) -> Any:
        """The answer to a recorded request."""
        request = REQUESTS[name]
        body = json.dumps(request["body"]) if "body" in request else None
        for key, value in self.names.items():
            body = body and body.replace(f"{{{key}}}", value)
        answer = await self._http.request(
            request["method"],
            request["path"].replace("{thread}", self.names["thread"]),
            content=body,
            headers={"Content-Type": "application/json"} if body else {},
        )
        assert answer.status_code == 200, answer.text
        if answer.headers["content-type"].startswith("text/event-stream"):
            return named_frames(answer.content)
        return answer.json()

    async def begin(self) -> list[Frame]:
        assert "version" in await self.ask("info")
        self.names["thread"] = (await self.ask("create"))["thread_id"]
        return list(await self.ask("submit"))


def is_inbox_interrupt(interrupt: Any) -> bool:
    """As `src/lib/agent-inbox-interrupt.ts` looks at what the hook gives it."""
    one = interrupt[0] if isinstance(interrupt, list) else interrupt
    value = one.get("value") if isinstance(one, dict) else None
    if not isinstance(value, dict):
        return False
    requests, configs = value.get("action_requests"), value.get("review_configs")
    if not (isinstance(requests, list) and requests and isinstance(configs, list) and configs):
        return False
    return all(
        isinstance(request.get("name"), str) and isinstance(request.get("args"), dict)
        for request in requests
    ) and all(
        isinstance(config.get("action_name"), str)
        and isinstance(config.get("allowed_decisions"), list)
        and {*config["allowed_decisions"]} <= {"approve", "edit", "reject"}
        for config in configs
    )


def calls_without_answer(messages: list[Json]) -> list[str]:
    """As `src/lib/ensure-tool-responses.ts` finds them: it looks at the next message alone."""
    return [
        call["id"]
        for message, follows in zip(messages, [*messages[1:], {}], strict=True)
        if message["type"] == "ai" and follows.get("type") != "tool"
        for call in message["tool_calls"]
    ]


async def test_a_turn_is_in_the_history_and_in_the_list(tmp_path: Path) -> None:
    async with scripted_server(tmp_path, text_reply("Tidy.")) as server:
        page = Page(server)
        reader = LangGraphReader().read(await page.begin())
        assert [m["content"] for m in reader.values["messages"]] == ["Tidy up", "Tidy."]
        newest, *_, oldest = await page.ask("history")
        assert newest["values"] == reader.values
        assert newest["checkpoint"] is not None
        assert oldest["parent_checkpoint"] is None
        (listed,) = await page.ask("threads")
        assert listed["thread_id"] == page.names["thread"]
        assert listed["values"]["messages"][0]["content"] == "Tidy up"


@pytest.mark.parametrize("calls", [ERASE, TWO], ids=["one", "two"])
async def test_an_approval_is_what_its_inbox_shows_and_answers(calls: Any, tmp_path: Path) -> None:
    replies = (calls, text_reply("Erased.")) if calls is ERASE else (calls,)
    async with scripted_server(tmp_path, *replies) as server:
        page = Page(server)
        reader = LangGraphReader().read(await page.begin())
        assert reader.interrupts is not None
        (interrupt,) = reader.interrupts
        assert is_inbox_interrupt(interrupt)
        assert is_inbox_interrupt([interrupt])
        newest, *_ = await page.ask("history")
        assert newest["tasks"][-1]["interrupts"] == [interrupt]
        names = [one["args"]["name"] for one in interrupt["value"]["action_requests"]]
        assert names == (["old"] if calls is ERASE else ["a", "b"])
        if calls is ERASE:
            reader = LangGraphReader().read(await page.ask("resume"))
            assert reader.interrupts is None
            assert reader.values["messages"][-1]["content"] == "Erased."


@pytest.mark.parametrize("waiting", [ERASE, ASK], ids=["approval", "question"])
async def test_a_message_with_made_up_answers_goes_past_what_waits(
    waiting: Any, tmp_path: Path
) -> None:
    async with scripted_server(tmp_path, waiting, text_reply("A pixel.")) as server:
        page = Page(server)
        reader = LangGraphReader().read(await page.begin())
        assert calls_without_answer(reader.values["messages"]) == ["call_1"]
        reader = LangGraphReader().read(await page.ask("submit beside calls without an answer"))
        messages = reader.values["messages"]
        assert messages[-1]["content"] == "A pixel."
        assert calls_without_answer(messages) == []
        assert not any(message["id"].startswith("do-not-render-") for message in messages)
        answers = [m for m in messages if m["type"] == "tool"]
        assert [(m["tool_call_id"], m["status"]) for m in answers] == [("call_1", "error")]
        picture = messages[-2]["content"][1]["image_url"]["url"]
        assert picture == "data:image/png;base64,iVBORw0KGgo="


async def test_an_answer_is_made_anew_from_the_parent_of_its_first_state(tmp_path: Path) -> None:
    async with scripted_server(tmp_path, text_reply("Tidy."), text_reply("Very tidy.")) as server:
        page = Page(server)
        frames = await page.begin()
        answer = LangGraphReader().read(frames).values["messages"][-1]["id"]
        states = await page.ask("history")
        first_seen = [
            state
            for state in states
            if answer in [message["id"] for message in state["values"]["messages"]]
        ][-1]
        page.names["checkpoint"] = first_seen["parent_checkpoint"]["checkpoint_id"]
        reader = LangGraphReader().read(await page.ask("regenerate"))
        assert [m["content"] for m in reader.values["messages"]] == ["Tidy up", "Very tidy."]
