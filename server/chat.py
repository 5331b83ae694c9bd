"""The endpoints of turns: start a run, attach to one, stop one."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from server.bodies import read_json
from server.cursors import position
from server.problems import Problem
from server.protocols import WIRE_FORMATS, Limits, parse, protocol_name
from server.protocols.opening import Opening
from server.protocols.requests import IdempotencyKey, InvalidRequest, ProtocolName, TurnRequest
from server.runs.registry import Runs
from server.runs.run import Run
from server.runs.transcript import transcript
from server.store import ThreadStore
from server.streams import Streams

MAX_KEY_CHARS = 255


@dataclass(frozen=True, slots=True)
class Chat:
    runs: Runs
    store: ThreadStore
    streams: Streams
    awaits_client: Callable[[str], bool]
    limits: Limits
    max_body_bytes: int

    async def post(self, request: Request) -> Response:
        """Start a run and stream it; with `Prefer: respond-async` only say where its stream is."""
        body, raw = await read_json(request, self.max_body_bytes)
        query = request.query_params
        turn = parse(
            body, self.limits, protocol=query.get("protocol"), on_busy=query.get("on_busy")
        )
        if turn.attach:
            return await self._resume(turn)
        key = _idempotency_key(request, raw)
        run = await self.runs.start(turn.thread_id, turn, key)
        if "respond-async" in request.headers.get("prefer", "").lower():
            return _accepted(run)
        return self._stream(run, state_of=turn)

    async def stream(self, request: Request) -> Response:
        """Attach: to the live run from its first event, or after the cursor of an earlier read."""
        thread_id, query = request.path_params["thread_id"], request.query_params
        protocol = protocol_name(query["protocol"]) if "protocol" in query else None
        cursor = request.headers.get("last-event-id") or query.get("last_event_id")
        if not cursor:
            live = await self.runs.live_run(thread_id)
            return self._stream(live, protocol, replay=True) if live else _nothing()
        if await self.store.get(thread_id) is None:
            return _nothing()
        place = position(self.runs, thread_id, cursor)
        if place == "done":
            return _nothing()
        if place == "lost":
            return self.streams.cursor_lost(protocol or "assistant-transport")
        return self._stream(place.run, protocol, after=place.after, replay=True)

    async def stop(self, request: Request) -> Response:
        """Stop the thread's live run; says how its last run ended, also if none is live."""
        thread_id = request.path_params["thread_id"]
        run = await self.runs.stop(thread_id)
        if run:
            return JSONResponse({"thread_id": thread_id, "run_id": run.id, "state": run.state})
        entry = await self.store.get(thread_id)
        if entry is None:
            raise unknown_thread(thread_id)
        return JSONResponse(
            {"thread_id": thread_id, "run_id": entry.run_id, "state": entry.run_state}
        )

    async def _resume(self, turn: TurnRequest) -> Response:
        """assistant-ui's way to attach: no commands, its own state, and 200 in any case."""
        run = await self.runs.live_run(turn.thread_id or "")
        if run is None:
            return self.streams.nothing(turn.protocol, await self._catch_up(turn))
        return self._stream(run, turn.protocol, state_of=turn)

    async def _catch_up(self, turn: TurnRequest) -> Sequence[str]:
        """What a client's state lacks that comes back when the run it was reading has ended."""
        thread_id = turn.thread_id or ""
        if turn.state is None or await self.store.get(thread_id) is None:
            return ()
        state = await self.runs.checkpoints.load(thread_id)
        turns = transcript(state.messages, self.awaits_client, running=state.unfinished)
        opening = Opening(thread_id, "", turns, with_state=True, posted_state=turn.state)
        return WIRE_FORMATS[turn.protocol].encoder(opening).prologue()

    def _stream(
        self,
        run: Run,
        protocol: ProtocolName | None = None,
        *,
        state_of: TurnRequest | None = None,
        after: int = 0,
        replay: bool = False,
    ) -> Response:
        opening = partial(self._opening, run, state_of, replay)
        return self.streams.response(
            run, protocol or run.protocol, opening, headers=_headers(run), after=after
        )

    def _opening(
        self, run: Run, state_of: TurnRequest | None, replay: bool, protocol: ProtocolName
    ) -> Opening:
        """The turns are made only for a reader whose stream says something of them."""
        assert run.plan is not None
        state = state_of.state if state_of else None
        plain = protocol == "assistant-transport" and state is None
        return Opening(
            thread_id=run.thread_id,
            message_id=run.plan.message_id,
            turns=() if plain else transcript(run.plan.after, self.awaits_client, running=True),
            with_state=state is not None,
            posted_state=state,
            replay=replay,
        )


def unknown_thread(thread_id: str) -> Problem:
    return Problem(
        404, "thread_not_found", f"There is no thread {thread_id[:140]!r}; GET /threads lists them."
    )


def _headers(run: Run) -> dict[str, str]:
    assert run.plan is not None
    return {
        "X-Thread-Id": run.thread_id,
        "X-Run-Id": run.id,
        "X-Message-Id": run.plan.user_message_id,
    }


def _accepted(run: Run) -> Response:
    """The cursor is the one before the first event: it holds when the run has already ended."""
    location = f"/chat/{run.thread_id}/stream?last_event_id={run.id}:0"
    return JSONResponse(
        {"thread_id": run.thread_id, "run_id": run.id, "stream_url": location},
        202,
        headers={**_headers(run), "Location": location, "Preference-Applied": "respond-async"},
    )


def _nothing() -> Response:
    """An EventSource that gets a 204 does not come back."""
    return Response(status_code=204)


def _idempotency_key(request: Request, body: bytes) -> IdempotencyKey | None:
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if not key.strip() or len(key) > MAX_KEY_CHARS:
        raise InvalidRequest(
            "invalid_idempotency_key",
            f"An Idempotency-Key has 1 to {MAX_KEY_CHARS} characters.",
        )
    asked = hashlib.sha256(body + request.url.query.encode())
    return IdempotencyKey(key, asked.hexdigest())
