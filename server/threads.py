"""/threads: the list, one thread (hydrate), rename, delete."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from langchain_core.messages import AnyMessage, ToolCall
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from graphs.history import pending_calls
from server.bodies import read_json
from server.chat import unknown_thread
from server.problems import Problem
from server.protocols import WIRE_FORMATS, protocol_name
from server.protocols.history import AssistantTurn, Step, Turn
from server.protocols.requests import InvalidRequest
from server.runs.accumulate import accumulate
from server.runs.registry import Runs
from server.runs.run import Run
from server.runs.transcript import transcript
from server.store import ThreadStore
from server.thread_table import ThreadEntry

PAGE_SIZE, MAX_PAGE_SIZE = 30, 100
MAX_TITLE_CHARS = 200


@dataclass(frozen=True, slots=True)
class Threads:
    runs: Runs
    store: ThreadStore
    awaits_client: Callable[[str], bool]
    max_body_bytes: int

    async def page(self, request: Request) -> Response:
        """`{"threads": [entry], "cursor"?}`, newest first by last activity."""
        query = request.query_params
        limit = query.get("limit", str(PAGE_SIZE))
        if not (_is_number(limit) and 1 <= int(limit) <= MAX_PAGE_SIZE):
            raise Problem(
                422, "invalid_limit", f"limit is {limit[:20]!r}: ask for 1 to {MAX_PAGE_SIZE}."
            )
        try:
            page = await self.store.page(int(limit), query.get("cursor"))
        except ValueError as error:
            raise Problem(422, "invalid_cursor", f"{error}; begin without one.") from None
        more = {"cursor": page.cursor} if page.cursor else {}
        return JSONResponse({"threads": [asdict(entry) for entry in page.entries], **more})

    async def one(self, request: Request) -> Response:
        """All that a page needs to show a thread and to go on from there.

            {"id", "title", "created_at", "updated_at", "run_id", "run_state", "messages",
             "pending": [{"tool_call_id", "tool_name", "args"}],
             "run": null | {"id", "stream_url", "stop_url", "cursor", "message_id", "first_part"}}

        `run_id` and `run_state` are of the last run. `messages` are as the protocol shows them; a
        live run's message is as its log tells it up to `cursor`: attach with that, and nothing is
        missed or doubled. `first_part` is the index, in its message, of the run's part 0.
        """
        protocol = protocol_name(request.query_params.get("protocol", "assistant-transport"))
        entry, shown = await self._consistent(request.path_params["thread_id"])
        messages = WIRE_FORMATS[protocol].snapshot(shown.pop("turns"))
        return JSONResponse({**asdict(entry), "messages": messages, **shown})

    async def rename(self, request: Request) -> Response:
        """Body `{"title"}`; answers with the entry."""
        thread_id = request.path_params["thread_id"]
        body, _ = await read_json(request, self.max_body_bytes)
        entry = await self.store.rename(thread_id, _title(body))
        if entry is None:
            raise unknown_thread(thread_id)
        return JSONResponse(asdict(entry))

    async def delete(self, request: Request) -> Response:
        """Forget a thread, whether there is one or not; its live run is stopped first."""
        await self.runs.delete(request.path_params["thread_id"])
        return Response(status_code=204)

    async def _consistent(self, thread_id: str) -> tuple[ThreadEntry, dict[str, Any]]:
        """A thread's entry and content of one moment: read again if a run began or ended."""
        entry = await self.store.get(thread_id)
        while entry is not None:
            shown = self._live(thread_id) or await self._at_rest(thread_id)
            again = await self.store.get(thread_id)
            if again == entry:
                return entry, shown
            entry = again
        raise unknown_thread(thread_id)

    def _live(self, thread_id: str) -> dict[str, Any] | None:
        run = self.runs.live.get(thread_id)
        if run is None or run.plan is None or run.id not in self.runs.kept:
            return None
        turns, first_part = _so_far(run, self.awaits_client)
        live = {
            "id": run.id,
            "stream_url": f"/chat/{thread_id}/stream",
            "stop_url": f"/chat/{thread_id}/stop",
            "cursor": f"{run.id}:{len(run.log.chunks)}",
            "message_id": run.plan.message_id,
            "first_part": first_part,
        }
        return {"turns": turns, "pending": self._waiting(run.plan.after), "run": live}

    async def _at_rest(self, thread_id: str) -> dict[str, Any]:
        state = await self.runs.checkpoints.load(thread_id)
        turns = transcript(state.messages, self.awaits_client, running=state.unfinished)
        return {"turns": turns, "pending": self._waiting(state.messages), "run": None}

    def _waiting(self, messages: Sequence[AnyMessage]) -> list[dict[str, Any]]:
        """The calls that wait for the browser; a real tool's is the server's to run or to close."""
        return [_call(c) for c in pending_calls(messages) if self.awaits_client(c["name"])]


def _so_far(run: Run, awaits_client: Callable[[str], bool]) -> tuple[tuple[Turn, ...], int]:
    """The thread as a live run has told it so far, and the index of the run's first part."""
    assert run.plan is not None
    message_id = run.plan.message_id
    turns = list(transcript(run.plan.after, awaits_client, running=True))
    steps: tuple[Step, ...] = ()
    if isinstance(turns[-1], AssistantTurn) and turns[-1].id == message_id:
        steps = turns[-1].steps
        turns.pop()
    turns.append(accumulate(run.log.chunks, message_id, steps))
    return tuple(turns), sum(len(step.parts) for step in steps)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10


def _call(call: ToolCall) -> dict[str, Any]:
    return {"tool_call_id": call["id"], "tool_name": call["name"], "args": call["args"]}


def _title(body: Any) -> str:
    title = body.get("title") if isinstance(body, dict) and set(body) == {"title"} else None
    if not isinstance(title, str) or not 1 <= len(title.strip()) <= MAX_TITLE_CHARS:
        raise InvalidRequest(
            "invalid_title", f'Send {{"title": "..."}} of 1 to {MAX_TITLE_CHARS} characters.'
        )
    try:
        title.encode()
    except UnicodeEncodeError:
        raise InvalidRequest("invalid_title", "The title is not valid Unicode.") from None
    return " ".join(title.split())
