"""AG-UI's client as golden transcripts have it: an agent that posts all that it holds."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support import golden
from tests.support.ag_ui_reader import AgUiReader, in_call_order
from tests.support.golden import Json
from tests.support.golden_play import Play
from tests.support.protocol_readers import payloads
from tests.support.sse_frames import without_pings

AG_UI = "ag-ui"


@dataclass
class AgUiPlay(Play):
    agent: AgUiReader = field(default_factory=AgUiReader)

    @property
    def protocol(self) -> str:
        return AG_UI

    def message(self, words: str, *, picture: str | None = None) -> Json:
        content: Any = words
        if picture:
            source = {"type": "data", "value": picture.partition(",")[2], "mimeType": "image/png"}
            content = [{"type": "text", "text": words}, {"type": "image", "source": source}]
        user = {"id": f"u{len(self.turns) + 1}", "role": "user", "content": content}
        return {"messages": [*self.agent.messages, user]}

    def answer(self, call_id: str, _name: str, result: Any, *, is_error: bool = False) -> Json:
        content = result if isinstance(result, str) else golden.dumps(result)
        error = {"error": content} if is_error else {}
        answer = {"id": f"answer-{call_id}", "role": "tool", "toolCallId": call_id, **error}
        return {"messages": [*self.agent.messages, {**answer, "content": content}]}

    def decision(self, *decided: tuple[str, str, bool, str | None], **_: int) -> Json:
        asked = {interrupt["toolCallId"]: interrupt["id"] for interrupt in self.agent.interrupts}
        entries = [
            {
                "interruptId": asked[id],
                "status": "resolved",
                "payload": {"approved": approved, **({} if reason is None else {"reason": reason})},
            }
            for id, _, approved, reason in decided
        ]
        return {"messages": self.agent.messages, "resume": entries}

    def edit(self, message_id: str, words: str) -> Json:
        places = [n for n, m in enumerate(self.agent.messages) if m["id"] == message_id]
        edited = {"id": message_id, "role": "user", "content": words}
        return {"messages": [*self.agent.messages[: places[0]], edited]}

    def with_tool(self, body: Json, name: str, parameters: Json) -> Json:
        tool = {"name": name, "description": "The client's own.", "parameters": parameters}
        return {**body, "tools": [tool]}

    async def turn(
        self,
        body: Json,
        at: Sequence[str] = (),
        then: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """The agent holds at the end what the thread says."""
        self.thread_id = "agent"
        posted = {"threadId": self.thread_id, **body}
        async with self.client.stream("POST", "/ag-ui", json=posted) as stream:
            assert stream.response.status_code == 200, await stream.response.aread()
            self.run_ids.append(stream.run_id)
            self.message_ids.append(stream.response.headers["x-message-id"])
            for kind in at:
                await stream.until(kind)
            if then:
                await then()
            await stream.rest()
        said = without_pings(bytes(stream.raw))
        self.agent = AgUiReader(posted["messages"]).read(payloads(said))
        shown = await self.threads()
        assert in_call_order(self.agent.messages) == shown[AG_UI]["messages"]
        self.turns.append(
            {
                "request": posted,
                "headers": {"x-run-id": stream.run_id},
                "stream": self._events(said),
                "replay": self._events(without_pings(await self._replay(AG_UI))),
            }
        )

    def _events(self, stream: bytes) -> list[golden.Event]:
        return golden.events(stream, self.run_ids[-1], gaps=True)

    async def threads(self) -> Json:
        return {AG_UI: await self.client.thread(str(self.thread_id), protocol=AG_UI)}
