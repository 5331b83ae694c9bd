"""Questions of a server in the middle of a call, as interrupts: `elicitation/create`, what a result
`input_required` of a protocol from 2026 on asks, and addresses that an error wants opened first.

The call is a task of its own. If its server asks, the run ends at an interrupt, and the call is
held open (`turnstream.tools.held_calls`) until the answer is there: it is never made twice.

A protocol from 2026 on and a server by HTTP say which call a question is about. A command with an
older protocol does not: its question belongs to the one call that may have asked it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tools import ToolException
from langgraph.errors import GraphInterrupt
from langgraph.types import interrupt
from mcp import MCPError
from mcp.client import ClientRequestContext
from mcp.types import CallToolResult, ElicitRequestParams, ElicitRequestURLParams, ElicitResult
from mcp_types.jsonrpc import URL_ELICITATION_REQUIRED
from pydantic import TypeAdapter, ValidationError

from turnstream.tools import questions
from turnstream.tools.held_calls import HeldCall, HeldCalls, answers_of_task, mark_of
from turnstream.tools.mcp.notifications import Progress
from turnstream.tools.questions import ACCEPT, CANCEL, DECLINE, CannotBeAsked

MAX_QUESTIONS = 10
"""Questions of one call."""
PLACE_SECONDS = 5.0
"""Seconds that a question waits until it is clear which call has asked it."""
_URLS = TypeAdapter(list[ElicitRequestURLParams])

logger = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Question:
    value: Mapping[str, Any]
    schema: Mapping[str, Any]
    answer: "asyncio.Future[ElicitResult]"
    placed: asyncio.Event = field(default_factory=asyncio.Event)
    is_put: bool = False
    """Whether the user was asked; not if the server withdrew it first."""

    @classmethod
    def of(cls, params: ElicitRequestParams) -> "Question":
        """Raises CannotBeAsked."""
        if isinstance(params, ElicitRequestURLParams):
            value, schema = questions.address(params.message, params.url)
        else:
            value, schema = questions.form(params.message, params.requested_schema)
        return cls(value, schema, asyncio.get_running_loop().create_future())

    def settle(self, answer: Any) -> None:
        """Answer the server; the first answer counts."""
        if self.answer.done():
            return
        try:
            given = questions.checked(self.schema, answer)
        except ValueError:  # A client is told of it before; a graph's own code may answer too.
            given = {"action": CANCEL}
        self.answer.set_result(ElicitResult(**given))


class OpenCall:
    """A call that is under way, and what its server has asked so far."""

    def __init__(
        self,
        make: Callable[[], Awaitable[CallToolResult]],
        about: Mapping[str, Any],
        thread: str | None,
    ) -> None:
        """`about` is told with each question; `thread` is where somebody can answer it, if
        anywhere."""
        self.thread = thread
        self.progress: Progress | None = None
        self._about = about
        self._asked: list[Question] = []
        self._changed = asyncio.Event()
        token = _current.set(self)
        try:
            self.task = asyncio.create_task(self._to_its_end(make))
        finally:
            _current.reset(token)
        self.task.add_done_callback(self._ended)

    @property
    def is_asking(self) -> bool:
        return any(not one.answer.done() for one in self._asked)

    def add(self, question: Question) -> None:
        question.placed.set()
        if self.thread is None:
            question.settle({"action": DECLINE})
        elif len(self._asked) >= MAX_QUESTIONS:
            named = {**self._about, "most": MAX_QUESTIONS}
            logger.warning("%(tool)s asks more than %(most)s questions in one call", named)
            question.settle({"action": CANCEL})
        else:
            question.value = {**question.value, **self._about}
            self._asked.append(question)
            self._changed.set()

    async def nth(self, n: int) -> Question | None:
        """The question of a number, once it is asked; None if the call ends without it."""
        while len(self._asked) <= n and not self.task.done():
            self._changed.clear()
            await self._changed.wait()
        return self._asked[n] if len(self._asked) > n else None

    def cancel(self) -> None:
        for question in self._asked:
            question.settle({"action": CANCEL})
        self.task.cancel()

    async def _to_its_end(self, make: Callable[[], Awaitable[CallToolResult]]) -> CallToolResult:
        while True:
            try:
                return await make()
            except MCPError as error:
                # The server has not begun the call: it says that it takes it afterwards.
                if error.code != URL_ELICITATION_REQUIRED or not await self._opened(error.data):
                    raise

    async def _opened(self, data: Any) -> bool:
        """Ask for the addresses of an error to be opened. False: not all of them were."""
        try:
            urls = _URLS.validate_python(data.get("elicitations") if isinstance(data, dict) else ())
            asked = [Question.of(params) for params in urls]
        except (ValidationError, CannotBeAsked):
            return False
        for question in asked:
            self.add(question)
        answers = [await question.answer for question in asked]
        return bool(answers) and all(answer.action == ACCEPT for answer in answers)

    def _ended(self, task: "asyncio.Task[CallToolResult]") -> None:
        if not task.cancelled():
            task.exception()  # Whoever takes the call up again may never come.
        self._changed.set()


_current: ContextVar[OpenCall | None] = ContextVar("turnstream_mcp_call", default=None)
"""The call on whose behalf the code runs: the client library hands the context on."""


def forget_call() -> None:
    """Forget the call in the task that holds a session, which some call has begun."""
    _current.set(None)


class Elicitation:
    """The questions of a session's server; the client library calls it."""

    def __init__(self) -> None:
        self._calls: list[OpenCall] = []
        self._unplaced: list[Question] = []

    @contextmanager
    def making(self) -> Iterator[None]:
        """A call is made in the session."""
        call = _current.get()
        if call is None:
            yield
            return
        self._calls.append(call)
        try:
            yield
        finally:
            self._calls.remove(call)
            self._place()

    async def __call__(
        self,
        context: ClientRequestContext,  # noqa: ARG002  the client library gives it
        params: ElicitRequestParams,
    ) -> ElicitResult:
        try:
            question = Question.of(params)
        except CannotBeAsked as error:
            logger.warning("a question of an MCP server is declined: %(why)s", {"why": error})
            return ElicitResult(action=DECLINE)
        call = _current.get()
        if call is not None:
            call.add(question)
        else:
            await self._wait_for_a_place(question)
        try:
            return await question.answer
        finally:
            question.settle({"action": CANCEL})  # The server withdraws it.

    async def _wait_for_a_place(self, question: Question) -> None:
        self._unplaced.append(question)
        self._place()
        with suppress(TimeoutError):
            async with asyncio.timeout(PLACE_SECONDS):
                await question.placed.wait()
        if question in self._unplaced:
            self._unplaced.remove(question)
            logger.warning(
                "a question of an MCP server is cancelled: several calls may have asked it"
            )
            question.settle({"action": CANCEL})

    def _place(self) -> None:
        """Give the questions to the calls that may have asked, once there are as many questions as
        such calls, and all of these are of one thread."""
        calls = [call for call in self._calls if not call.is_asking] or self._calls
        if len(self._unplaced) < len(calls) or len({call.thread for call in calls}) != 1:
            return
        unplaced, self._unplaced = self._unplaced, []
        for question, call in zip(unplaced, cycle(calls), strict=False):
            call.add(question)


class Asking:
    """Makes one call whose server may ask, in a task of a graph."""

    def __init__(
        self, held_calls: HeldCalls, seconds: float, tool: str, tool_call_id: str | None
    ) -> None:
        """`seconds`: how long a question waits for its answer."""
        self._held_calls, self._seconds = held_calls, seconds
        self._tool, self._id = tool, tool_call_id
        self._answers = answers_of_task()
        self._mark = mark_of(self._answers, tool_call_id)

    async def result(
        self,
        make: Callable[[Progress], Awaitable[CallToolResult]],
        server: str,
        progress: Progress | None,
    ) -> CallToolResult:
        """Raises GraphInterrupt, ToolException for a call that is held no longer, and what the call
        raises."""
        if self._mark is None:
            held = self._begun(make, server)
        else:
            taken = self._held_calls.take(self._mark)
            if taken is None:
                raise ToolException(
                    "The tool asked the user a question, and the answer did not reach its call: "
                    "the time for it was over, turnstream was restarted, or another worker has "
                    "the call; the call may have run in part."
                )
            held = taken
            self._next_answer()
        call: OpenCall = held.call
        call.progress = progress
        try:
            return await self._to_its_end(held, call)
        except GraphInterrupt:
            raise
        except BaseException:
            held.cancel()
            raise

    def _begun(
        self, make: Callable[[Progress], Awaitable[CallToolResult]], server: str
    ) -> HeldCall:
        def tell(done: float, total: float | None, message: str | None) -> None:
            if call.progress is not None:
                call.progress(done, total, message)

        about = {"server": server, "tool": self._tool, "tool_call_id": self._id}
        call = OpenCall(lambda: make(tell), about, self._thread())
        return HeldCall(call.thread or "", self._id, call.cancel, call)

    def _thread(self) -> str | None:
        """Return the thread in which a question can be answered: that of a graph, which is
        saved."""
        values = (var_child_runnable_config.get() or {}).get("configurable", {})
        is_saved = self._answers is not None and values.get("__pregel_checkpointer")
        return values.get("thread_id") if is_saved and self._seconds else None

    async def _to_its_end(self, held: HeldCall, call: OpenCall) -> CallToolResult:
        n = put = 0
        while (question := await call.nth(n)) is not None:
            n, put = n + 1, put + question.is_put
            if question.is_put and self._has_answer(put):
                question.settle(self._next_answer())
            elif not question.answer.done() and not call.task.done():
                question.settle(self._answer_to(question, held))
        return await call.task

    def _answer_to(self, question: Question, held: HeldCall) -> Any:
        """Raises GraphInterrupt if the answer is still to come."""
        if self._mark is None:
            if self._answers is None or not self._held_calls.has_room(held.thread):
                return {"action": DECLINE}
            self._mark = held.mark
            self._answers.append(self._mark)
            self._next_answer()
        question.is_put = True
        self._held_calls.hold(held, self._seconds)
        # An answer without an id is not among the answers before it is taken here.
        answer = interrupt(dict(question.value), response_schema=dict(question.schema))
        self._held_calls.take(self._mark)
        return answer

    def _has_answer(self, n: int) -> bool:
        """Check that the task has an answer to the question of a number, from 1."""
        if self._mark is None or self._answers is None:
            return False
        return len(self._answers) > self._answers.index(self._mark) + n

    @staticmethod
    def _next_answer() -> Any:
        """The task's next answer, which is there."""
        return interrupt(None)
