"""Functions of a deployer's or an author's: slow ones, and what they raise."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from turnstream.graphs.approval_rules import ApprovalRules
from turnstream.server.callers.principal import Principal
from turnstream.server.extensions.users.faults import AuthenticationUnavailable
from turnstream.server.extensions.users.own_function import PARAMETERS, OwnFunction
from turnstream.server.extensions.users.policy import Policy
from turnstream.server.extensions.users.policy_file import PolicyFile
from turnstream.server.extensions.users.rules import Rule
from turnstream.tools.author_calls import AuthorCalls
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool

LEAVING = [SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration, asyncio.CancelledError]
LONG = 10.0


def raising(fault: type[BaseException], is_async: bool) -> Callable[..., Any]:
    def plain(*_args: Any) -> Any:
        raise fault("leaving")

    async def awaited(*_args: Any) -> Any:
        raise fault("leaving")

    return awaited if is_async else plain


@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize("fault", LEAVING)
async def test_whatever_an_auth_function_raises_nobody_can_be_authenticated(
    fault: type[BaseException], is_async: bool
) -> None:
    function = raising(fault, is_async)

    def who() -> Any:
        return function()

    async def who_async() -> Any:
        return await function()

    values = dict.fromkeys(PARAMETERS, "")
    with pytest.raises(AuthenticationUnavailable, match="auth:who failed"):
        await OwnFunction("auth:who", who_async if is_async else who).authenticate(values)


@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize("fault", LEAVING)
async def test_whatever_a_policys_rule_raises_the_call_is_denied(
    fault: type[BaseException], is_async: bool
) -> None:
    rule = Rule("test:rule", raising(fault, is_async))
    file = PolicyFile.model_validate({"roles": {"user": {}}})
    rights = Policy(file, rule).rights(Principal("ann", ("user",), method="key"))
    assert await rights.refusal("get_time", {})
    if not is_async:
        assert rights.refusal_now("get_time", {})


@pytest.mark.parametrize("fault", LEAVING)
async def test_whatever_a_tools_rule_raises_the_call_needs_an_approval(
    fault: type[BaseException],
) -> None:
    @real_tool(client_fields=[], needs_approval=raising(fault, is_async=False))
    async def send() -> dict[str, Any]:
        """Send it."""
        return {}

    assert await ApprovalRules(Catalogue((send,), ())).needs("send", {})


class Slow:
    """Blocks its threads until it is released."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.running = 0
        self.most = 0
        self._lock = threading.Lock()

    def __call__(self) -> str:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self.released.wait(LONG)
        with self._lock:
            self.running -= 1
        return "done"


async def test_slow_functions_run_in_a_few_threads_that_are_not_the_loops() -> None:
    calls, slow = AuthorCalls(2), Slow()
    waiting = [asyncio.create_task(calls(slow, LONG)) for _ in range(100)]
    await asyncio.sleep(0)
    assert await asyncio.to_thread(lambda: "free") == "free"
    assert not any(task.done() for task in waiting)
    slow.released.set()
    assert await asyncio.gather(*waiting) == ["done"] * 100
    assert slow.most == 2


async def test_a_function_beyond_its_limit_keeps_its_thread_until_it_returns() -> None:
    calls, slow = AuthorCalls(1), Slow()
    with pytest.raises(TimeoutError):
        await calls(slow, 0.01)
    with pytest.raises(TimeoutError):
        await calls(lambda: "another", 0.01)
    slow.released.set()
    assert await calls(lambda: "another", LONG) == "another"


async def test_a_thread_that_cannot_be_had_takes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = AuthorCalls(1)

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as broken:
        broken.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="new thread"):
            await calls(lambda: "an answer", LONG)
    assert await calls(lambda: "an answer", LONG) == "an answer"


async def test_a_caller_that_is_cancelled_stays_cancelled() -> None:
    call = asyncio.create_task(AuthorCalls()(asyncio.Event().wait, LONG))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
