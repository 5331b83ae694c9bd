"""A browser that plays a turn in one of the formats, over HTTP alone, and notes what it is told."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support import golden
from tests.support.counting_tools import CountingTools
from tests.support.endpoint import StrictEndpoint
from tests.support.golden import Json
from tests.support.scripted_model import ScriptedModel
from tests.support.serving import Client

PROTOCOLS = ("assistant-transport", "ui-message-stream")

PARTS, STATE, AI_SDK = "parts", "state", "ai-sdk"
"""A native body and its parts; assistant-ui's body and its state; the AI SDK's body."""
FORMATS = (PARTS, STATE, AI_SDK)


@dataclass
class Play:
    """A browser that plays one scenario in one format, and what it was told."""

    format: str
    client: Client
    endpoint: StrictEndpoint
    model: ScriptedModel
    counting_tools: CountingTools
    thread_id: str | None = None
    turns: list[Json] = field(default_factory=list)
    run_ids: list[str] = field(default_factory=list)
    message_ids: list[str] = field(default_factory=list)

    @property
    def protocol(self) -> str:
        return PROTOCOLS[self.format == AI_SDK]

    # bodies

    def message(self, words: str, *, picture: str | None = None) -> Json:
        if self.format == PARTS and picture is None:
            return {"message": words}
        parts: list[Json] = [{"type": "text", "text": words}]
        if picture and self.format == AI_SDK:
            parts.append({"type": "file", "mediaType": "image/png", "url": picture})
        elif picture:
            parts.append({"type": "image", "image": picture})
        if self.format == PARTS:
            return {"message": {"parts": parts}}
        if self.format == STATE:
            message = {"role": "user", "parts": parts}
            return {"commands": [{"type": "add-message", "message": message}], "state": None}
        user = {"id": f"u{len(self.turns) + 1}", "role": "user", "parts": parts}
        return {"messages": [user], "trigger": "submit-message"}

    def answer(self, call_id: str, name: str, result: Any, *, is_error: bool = False) -> Json:
        if self.format == PARTS:
            answer = {"tool_call_id": call_id, "result": result, "is_error": is_error}
            return {"tool_results": [answer]}
        if self.format == STATE:
            about = {"toolCallId": call_id, "toolName": name, "result": result}
            command = {"type": "add-tool-result", **about, "isError": is_error, "artifact": None}
            return {"commands": [command], "state": None}
        output = (
            {"state": "output-error", "errorText": result}
            if is_error
            else {"state": "output-available", "output": result}
        )
        part = {"type": f"tool-{name}", "toolCallId": call_id, "input": {}, **output}
        message = {"id": f"{self.message_ids[-1]}.a", "role": "assistant", "parts": [part]}
        return {"messages": [message], "trigger": "submit-message"}

    def decision(self, *decided: tuple[str, str, bool, str | None], number: int = 1) -> Json:
        """Decisions `(call id, name, approved, reason)`; `number`: how often it was asked."""
        items = [
            (id, name, f"{id}.{number}" if number > 1 else id, _decision(approved, reason))
            for id, name, approved, reason in decided
        ]
        if self.format == PARTS:
            about = [{"tool_call_id": id, "approval_id": asked} for id, _, asked, _ in items]
            return {"approvals": [{**a, **i[3]} for a, i in zip(about, items, strict=True)]}
        if self.format == STATE:
            commands = [
                {"type": "tool-approval", "toolCallId": id, "approvalId": asked, **decision}
                for id, _, asked, decision in items
            ]
            return {"commands": commands, "state": None}
        parts = [
            {
                "type": f"tool-{name}",
                "toolCallId": id,
                "state": "approval-responded",
                "input": {},
                "approval": {"id": asked, **decision},
                "providerExecuted": True,
            }
            for id, name, asked, decision in items
        ]
        message = {"id": f"{self.message_ids[-1]}.a", "role": "assistant", "parts": parts}
        return {"messages": [message], "trigger": "submit-message"}

    def edit(self, message_id: str, words: str) -> Json:
        body = self.message(words)
        if self.format == PARTS:
            return {"edit": {"message_id": message_id, **body}}
        if self.format == STATE:
            body["commands"][0]["sourceId"] = message_id
            return body
        body["messages"][0]["id"] = message_id
        return {**body, "messageId": message_id}

    def regenerate(self, message_id: str) -> Json:
        if self.format == PARTS:
            return {"regenerate": message_id}
        return {"messages": [], "trigger": "regenerate-message", "messageId": message_id}

    def with_tool(self, body: Json, name: str, parameters: Json) -> Json:
        tool = {"description": "The client's own.", "parameters": parameters}
        if self.format == PARTS:
            return {**body, "client_tools": [{"name": name, **tool}]}
        return {**body, "tools": {name: tool}}

    # turns

    async def turn(
        self,
        body: Json,
        at: Sequence[str] = (),
        then: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """A whole turn: its stream, with something done when events of these types have come, one
        behind the other, and its replay."""
        native = "continue" in body
        addressed = self._addressed(body, native=native)
        query = {"protocol": self.protocol} if native else {}
        async with self.client.chat(addressed, params=query) as stream:
            self.thread_id = stream.thread_id
            self.run_ids.append(stream.run_id)
            self.message_ids.append(stream.response.headers["x-message-id"])
            for kind in at:
                await stream.until(kind)
            if then:
                await then()
            await stream.rest()
        headers = {
            name: value
            for name, value in sorted(stream.response.headers.items())
            if name.startswith("x-") or name in ("content-type", "cache-control")
        }
        replay = await self._replay(self.protocol)
        whole = await self._replay(PROTOCOLS[0]) if self.format == AI_SDK else replay
        assert golden.last_id(bytes(stream.raw)) == golden.last_id(whole)
        self.turns.append(
            {
                "request": addressed,
                "headers": headers,
                "stream": self._events(bytes(stream.raw)),
                "replay": self._events(replay),
            }
        )

    def _addressed(self, body: Json, *, native: bool) -> Json:
        key = {PARTS: "thread_id", STATE: "threadId", AI_SDK: "id"}[self.format]
        thread_id = self.thread_id or ("chat" if self.format == AI_SDK else None)
        return {"thread_id" if native else key: thread_id, **body} if thread_id else body

    def _events(self, stream: bytes) -> list[golden.Event]:
        return golden.events(stream, self.run_ids[-1], gaps=self.format == AI_SDK)

    async def _replay(self, protocol: str) -> bytes:
        answer = await self.client.http.get(
            f"/chat/{self.thread_id}/stream",
            params={"protocol": protocol},
            headers={"Last-Event-ID": f"{self.run_ids[-1]}:0"},
        )
        assert answer.status_code == 200, answer.text
        return answer.content

    async def stop(self) -> None:
        answer = await self.client.http.post(f"/chat/{self.thread_id}/stop")
        assert answer.json()["state"] == "stopped", answer.text

    async def release(self) -> None:
        self.counting_tools.release.set()

    async def threads(self) -> Json:
        """The thread as each protocol shows it, and as assistant-ui catches up with it."""
        found = {p: await self.client.thread(str(self.thread_id), protocol=p) for p in PROTOCOLS}
        if self.format == STATE:
            body: Json = {"commands": [], "state": None, "threadId": self.thread_id}
            answer = await self.client.http.post("/chat", json=body)
            return {**found, "state": golden.payloads(answer.content)}
        return found


def _decision(approved: bool, reason: str | None) -> Json:
    return {"approved": approved, **({} if reason is None else {"reason": reason})}
