"""Plays random histories of approvals against a server, and holds the laws against every event."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path

from tests.support.approval_laws import Asked, Run, View, check, fate_of
from tests.support.approval_requests import Requests, paid_with
from tests.support.approval_world import Moment, PaidTools, World, world
from tests.support.heard_run import HeardRun
from tests.support.provider_refusal import provider_refusal
from tests.support.random_approvals import (
    GATED,
    Act,
    CallKind,
    Decide,
    Event,
    Reply,
    Restart,
    Say,
)
from tests.support.random_turns import ALERT, QUESTION, Breath
from tests.support.scripted_model import Piece, call, finish, text
from turnstream.server.runs.busy_threads import RunInProgress
from turnstream.server.turns.header import LOCAL_OWNER
from turnstream.server.turns.requests import InvalidRequest, TurnRequest

THREADS = ("one", "two")
LITTLE = 5
"""What `spend` needs no approval for."""
FREE_CALLS: dict[CallKind, tuple[str, str]] = {
    "spend little": ("spend", json.dumps({"amount": LITTLE})),
    "echo": ("echo", '{"word": "hi"}'),
    "broken": ("broken", '{"word": "hi"}'),
    "misfit": ("pay", '{"for": "nothing"}'),
    "half": ("pay", '{"word": "w'),
    "alert": ("render_ui_component", json.dumps(ALERT)),
    "ask": ("request_user_selection", json.dumps(QUESTION)),
}


class Player:
    """One history, from an empty disk."""

    def __init__(self, folder: Path, tools: PaidTools) -> None:
        self._folder, self._tools, self._moment = folder, tools, Moment()
        self._numbers, self._disks = count(100), count(1)
        self._requests = {thread: Requests(self._numbers) for thread in THREADS}
        self._decided: Counter[tuple[str, str, str]] = Counter()
        """Thread, call and outcome of each decision that was taken."""
        self._stack = AsyncExitStack()
        self._world: World

    async def play(self, history: Sequence[Event]) -> None:
        """Raises AssertionError where a law is broken."""
        with self._moment.watches_writes():
            try:
                await self._serve(self._new_disk())
                for event in [*history, *map(Say, THREADS)]:
                    if isinstance(event, Restart):
                        await self._restart(event)
                    else:
                        await self._act(event)
                    await self._check_list()
            finally:
                await self._stack.aclose()

    # the server

    def _new_disk(self) -> Path:
        return self._folder / f"disk-{next(self._disks)}"

    async def _serve(self, disk: Path) -> None:
        """Begin a server on this disk; end the one that there was."""
        await self._stack.aclose()
        self._world = await self._stack.enter_async_context(world(disk, self._tools, self._moment))

    async def _restart(self, restart: Restart) -> None:
        before, disk = await self._views(), self._world.folder
        if restart.killed:
            disk = self._new_disk()
            self._world.copy_to(disk)
        paid = self._world.paid
        await self._serve(disk)
        assert (await self._views(), self._world.paid) == (before, paid)

    async def _views(self) -> dict[str, View]:
        return {thread: await self._view(thread) for thread in THREADS}

    async def _view(self, thread: str) -> View:
        return View(await self._world.inside.turns(thread))

    # a request

    async def _act(self, act: Act) -> None:
        before, paid = await self._view(act.thread), self._world.paid
        asked = self._requests[act.thread].of(act, before)
        run = await self._run(act, asked.request)
        after = await self._view(act.thread)
        newly_paid = self._world.paid - paid
        del newly_paid[str(LITTLE)]
        check(asked, run, before, after, newly_paid)
        await self._check_audit(act.thread, asked, run, after)
        if run.end == "by itself" and after.waiting:
            entry = await self._world.inside.entry(act.thread)
            assert entry
            assert entry.run_state == "waiting"

    async def _run(self, act: Act, request: TurnRequest) -> Run:
        """Send a request, and follow its run to its end or to where it is cut off."""
        model, tools = self._world.model, self._world.tools
        said = [self._said(reply) for reply in act.replies]
        model.script_anew(*(pieces for pieces, _ in said))
        seen = len(model.prompts)
        tools.release.set()
        if isinstance(act, Decide) and act.doubled and not request.message:
            run = await self._run_twice(act.thread, replace(request, on_busy=act.doubled))
        else:
            if act.cut and act.cut.at == "payment":
                tools.release.clear()
            run = await self._run_once(act, request)
        prompts = model.prompts[seen:]
        for prompt in prompts:
            assert provider_refusal(prompt) is None, prompt
        _, asks = said[len(prompts) - 1] if 0 < len(prompts) <= len(said) else ([], [])
        return replace(run, steps=len(prompts), asks=frozenset(asks))

    async def _run_once(self, act: Act, request: TurnRequest) -> Run:
        inside, disk = self._world.inside, self._new_disk()
        heard = HeardRun(inside, request, act.thread)
        crashed: list[Run] = []

        def strike() -> None:
            if act.cut and act.cut.how == "crash":
                self._world.copy_to(disk)
                crashed.append(Run("crash", heard.is_taken, View(tuple(heard.told))))

        self._moment.arm(act.cut, strike)
        hearing = asyncio.create_task(heard.hear(lambda: self._moment.passed("chunk")))
        striking = asyncio.create_task(self._moment.reached.wait())
        await asyncio.wait({hearing, striking}, return_when=asyncio.FIRST_COMPLETED)
        striking.cancel()
        is_struck = self._moment.disarm()
        if crashed:
            hearing.cancel()
            [result] = await asyncio.gather(hearing, return_exceptions=True)
            if isinstance(result, AssertionError):
                raise result
            await self._serve(disk)
            return crashed[0]
        if is_struck:
            await inside.stop(act.thread)
        try:
            await hearing
        except InvalidRequest:
            return Run("refused")
        return Run("stop" if is_struck else "by itself")

    async def _run_twice(self, thread: str, request: TurnRequest) -> Run:
        """Two clients send it at the same moment: one is refused. Its run may be stopped by the
        other one."""
        hearing = [HeardRun(self._world.inside, request, thread).hear(_nothing) for _ in "12"]
        results = await asyncio.gather(*hearing, return_exceptions=True)
        failed = [result for result in results if isinstance(result, BaseException)]
        for failure in failed:
            if not isinstance(failure, InvalidRequest | RunInProgress):
                raise failure
        assert failed, "both were taken"
        if len(failed) == 2:
            return Run("refused")
        return Run("stop" if request.on_busy == "stop" else "by itself")

    def _said(self, reply: Reply) -> tuple[list[Piece], list[str]]:
        """A reply as the model streams it, and what its gated calls are to pay for."""
        pieces: list[Piece] = [text("Step.")]
        asks = []
        for index, (kind, given_id) in enumerate(reply.calls):
            number = next(self._numbers)
            name, args = FREE_CALLS.get(kind, (kind, ""))
            if kind in GATED:
                field = "amount" if kind == "spend" else "word"
                args = json.dumps({field: paid_with(field, number)})
                asks.append(str(paid_with(field, number)))
            id = f"c{number}" if given_id == "own" else given_id
            half = len(args) // 2
            pieces += [call(args[:half], name=name, id=id, index=index)]
            pieces += [call(args[half:], index=index)]
        pieces.append(
            ValueError("the model is down")
            if reply.fails
            else finish("tool_calls" if reply.calls else "stop")
        )
        return [each for piece in pieces for each in (piece, Breath())], [] if reply.fails else asks

    # after each event

    async def _check_audit(self, thread: str, asked: Asked, run: Run, after: View) -> None:
        """It has each decision that was taken, once."""
        taken = asked.taken if asked.is_accepted and run.end != "refused" else {}
        new = Counter((thread, one.call.tool_call_id, one.outcome) for one in taken.values())
        recorded = Counter(
            (record.thread_id or "", record.tool_call_id or "", record.outcome or "")
            for record in await self._world.inside.recorded()
            if record.event == "approval"
        )
        if not run.is_heard and recorded == self._decided:
            for word, one in taken.items():
                assert fate_of(one.call, after.gated.get(word)) == "waits"
            return
        self._decided += new
        assert recorded == self._decided

    async def _check_list(self) -> None:
        """The list of what waits has the calls that wait in the threads."""
        rows = (await self._world.inside.store.approvals(LOCAL_OWNER, (), 0, 100)).approvals
        listed = [
            (row.key.thread_id, row.tool_call_id, row.approval_id, row.may_have_run, row.tool_name)
            for row in rows
        ]
        waiting = [
            (
                thread,
                call.tool_call_id,
                call.approval.id,
                call.approval.may_have_run,
                call.tool_name,
            )
            for thread, view in (await self._views()).items()
            for call in view.waiting.values()
            if call.approval
        ]
        assert sorted(listed) == sorted(waiting)


def _nothing() -> None: ...
