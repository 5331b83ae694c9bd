"""What callers use up in windows of time, and failed logins."""

import asyncio
import time
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest

from turnstream.server.callers.principal import Principal
from turnstream.server.callers.rights import LimitExceeded, Rights
from turnstream.server.extensions.users import failed_logins
from turnstream.server.extensions.users.failed_logins import FailedLogins
from turnstream.server.extensions.users.faults import (
    AuthenticationUnavailable,
    KeyNotAskedFor,
    Unauthenticated,
)
from turnstream.server.extensions.users.policy import Policy
from turnstream.server.extensions.users.policy_file import PolicyFile
from turnstream.server.extensions.users.quotas import Memory, Quotas
from turnstream.server.storage.interfaces import StorageUnavailable


class Clock:
    """Stands still until a test moves it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000_000.0
        monkeypatch.setattr(time, "time", lambda: self.now)
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def rights(quotas: Quotas, name: str = "ann", **roles: object) -> Rights:
    file = PolicyFile.model_validate({"roles": roles})
    return Policy(file, None, quotas).rights(Principal(name, tuple(roles), method="key"))


USER = {"limits": {"requests_per_minute": 2, "tokens_per_day": 100}}


async def test_a_minute_ends_a_minute_after_its_first_request(clock: Clock) -> None:
    ann = rights(Quotas(), user=USER)
    await ann.take("requests_per_minute")
    clock.now += 50
    await ann.take("requests_per_minute")
    with pytest.raises(LimitExceeded) as fault:
        await ann.take("requests_per_minute")
    assert (fault.value.limit, fault.value.value) == ("requests_per_minute", 2)
    assert fault.value.retry_after == pytest.approx(10)
    clock.now += 10
    await ann.take("requests_per_minute")


async def test_callers_are_counted_apart_whatever_their_ids(clock: Clock) -> None:
    del clock
    quotas = Quotas()
    for name in ("ann", "ann/2", "2", "a" * 255):
        await rights(quotas, name, user=USER).take("requests_per_minute")
        await rights(quotas, name, user=USER).take("requests_per_minute")
        with pytest.raises(LimitExceeded):
            await rights(quotas, name, user=USER).take("requests_per_minute")


async def test_an_owner_and_a_glob_are_never_taken_for_another_pair(clock: Clock) -> None:
    del clock
    quotas = Quotas()
    await quotas.take_call("ann", [{"a/b": 1}])
    await quotas.take_call("ann/a", [{"b": 1}])


async def test_tokens_are_charged_beyond_the_limit_and_then_nothing_begins(clock: Clock) -> None:
    ann = rights(Quotas(), user=USER)
    await ann.check_tokens()
    await ann.charge_tokens(99)
    await ann.check_tokens()
    await ann.charge_tokens(500)
    with pytest.raises(LimitExceeded) as fault:
        await ann.check_tokens()
    assert (fault.value.limit, fault.value.value) == ("tokens_per_day", 100)
    clock.now += 24 * 3600
    await ann.check_tokens()


async def test_a_call_counts_for_every_glob_that_its_tool_matches(clock: Clock) -> None:
    del clock
    calls = {"limits": {"tool_calls_per_day": {"*": 3, "web_*": 1}}}
    ann = rights(Quotas(), user=calls)
    await ann.take_call("web_search")
    with pytest.raises(LimitExceeded) as fault:
        await ann.take_call("web_fetch")
    assert (fault.value.limit, fault.value.value) == ("tool_calls_per_day", 1)
    await ann.take_call("add")
    await ann.take_call("add")
    with pytest.raises(LimitExceeded) as fault:
        await ann.take_call("add")
    assert fault.value.value == 3


async def test_a_call_needs_room_in_one_role_that_allows_its_tool(clock: Clock) -> None:
    del clock
    small = {"tools": ["add"], "limits": {"tool_calls_per_day": {"*": 1}}}
    large = {"tools": ["add", "sub"], "limits": {"tool_calls_per_day": {"*": 2}}}
    other = {"tools": ["send"]}
    ann = rights(Quotas(), small=small, large=large, other=other)
    await ann.take_call("add")
    await ann.take_call("add")
    with pytest.raises(LimitExceeded):
        await ann.take_call("add")
    for _ in range(5):
        await ann.take_call("send")
    free = rights(Quotas(), small=small, free={})
    for _ in range(5):
        await free.take_call("add")


async def test_a_call_that_is_refused_uses_nothing_up(clock: Clock) -> None:
    del clock
    ann = rights(Quotas(), user={"limits": {"tool_calls_per_day": {"*": 2, "web": 1}}})
    await ann.take_call("web")
    for _ in range(3):
        refusal = await ann.refusal("web", {})
        assert refusal is not None
        assert refusal.code == "limit_exceeded"
    assert await ann.refusal("add", {}) is None


class Distant(Memory):
    """Answers after a while, as the counters that workers share do; each count is one step."""

    async def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        await asyncio.sleep(0)
        return await super().incr(key, expiry, amount)

    async def get_expiry(self, key: str) -> float:
        await asyncio.sleep(0)
        return await super().get_expiry(key)


async def test_parallel_calls_of_several_workers_do_not_pass_the_limit() -> None:
    shared = Distant()
    caller = {"limits": {"tool_calls_per_day": {"*": 3}}}
    workers = [rights(Quotas(shared=shared), user=caller) for _ in range(2)]
    refusals = await asyncio.gather(*(workers[n % 2].refusal("add", {}) for n in range(60)))
    assert refusals.count(None) == 3
    refused = [one.code for one in refusals if one]
    assert refused == ["limit_exceeded"] * 57


async def test_windows_that_are_over_are_forgotten(clock: Clock) -> None:
    storage = Memory()
    quotas = Quotas(storage)
    for number in range(50):
        await rights(quotas, f"user-{number}", user=USER).take("requests_per_minute")
    clock.now += 61
    await rights(quotas, user=USER).take("requests_per_minute")
    kept = (storage.storage, storage.expirations, storage.locks)
    assert [len(one) for one in kept] == [1, 1, 0]


class Watched(dict[str, float]):
    """Counts how often it was looked through."""

    looked_through = 0

    def items(self) -> Any:
        self.looked_through += 1
        return super().items()


async def test_a_hit_does_not_look_through_the_windows_of_all_callers(clock: Clock) -> None:
    storage = Memory()
    storage.expirations = seen = Watched()
    quotas = Quotas(storage)
    for number in range(50):
        await rights(quotas, f"user-{number}", user=USER).take("requests_per_minute")
    assert seen.looked_through == 1
    clock.now += 61
    await rights(quotas, user=USER).take("requests_per_minute")
    assert seen.looked_through == 2


async def fail(logins: FailedLogins, address: str) -> None:
    with suppress(Unauthenticated):
        async with logins.attempt(address):
            raise Unauthenticated("a wrong key")


async def succeed(logins: FailedLogins, address: str) -> None:
    async with logins.attempt(address):
        pass


async def test_an_address_that_fails_too_often_waits_for_its_minute(clock: Clock) -> None:
    logins = FailedLogins(2)
    for _ in range(2):
        await fail(logins, "10.0.0.1")
    clock.now += 20
    with pytest.raises(LimitExceeded) as fault:
        await succeed(logins, "10.0.0.1")
    assert (fault.value.limit, fault.value.retry_after) == ("max_failed_logins", 40)
    await succeed(logins, "10.0.0.2")
    clock.now += 40
    await succeed(logins, "10.0.0.1")


async def test_parallel_attempts_look_at_no_more_credentials_than_may_fail() -> None:
    logins, looked_at, answered = FailedLogins(20), 0, asyncio.Event()

    async def guess() -> None:
        nonlocal looked_at
        async with logins.attempt("10.0.0.1"):
            looked_at += 1
            await answered.wait()
            raise Unauthenticated("a wrong key")

    guesses = [asyncio.create_task(guess()) for _ in range(400)]
    await asyncio.sleep(0)
    answered.set()
    outcomes = [type(outcome) for outcome in await asyncio.gather(*guesses, return_exceptions=True)]
    assert looked_at == 20
    assert Counter(outcomes) == {Unauthenticated: 20, LimitExceeded: 380}


@pytest.mark.parametrize(
    "fault", [AuthenticationUnavailable("no answer"), StorageUnavailable("storage_unreachable")]
)
async def test_an_attempt_that_nobody_could_judge_counts_as_failed(fault: Exception) -> None:
    logins = FailedLogins(1)
    with pytest.raises(type(fault)):
        async with logins.attempt("10.0.0.1"):
            raise fault
    with pytest.raises(LimitExceeded):
        await succeed(logins, "10.0.0.1")


async def test_a_token_whose_key_was_not_asked_for_yet_is_no_failed_login() -> None:
    logins = FailedLogins(1)
    for _ in range(3):
        with pytest.raises(KeyNotAskedFor):
            async with logins.attempt("10.0.0.1"):
                raise KeyNotAskedFor("a new key")
    assert len(logins) == 0


async def test_more_parallel_requests_with_good_credentials_than_may_fail_all_pass() -> None:
    logins, answered = FailedLogins(2), asyncio.Event()

    async def call() -> None:
        async with logins.attempt("10.0.0.1"):
            await answered.wait()

    calls = [asyncio.create_task(call()) for _ in range(50)]
    await asyncio.sleep(0)
    answered.set()
    await asyncio.gather(*calls)
    assert len(logins) == 0


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2", True),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("unix", "unix", True),
        ("", "10.0.0.1", False),
    ],
)
async def test_an_ipv6_client_is_its_network(one: str, other: str, same: bool) -> None:
    logins = FailedLogins(1)
    await fail(logins, one)
    if same:
        with pytest.raises(LimitExceeded):
            await succeed(logins, other)
    else:
        await succeed(logins, other)


async def test_no_more_addresses_are_remembered_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr(failed_logins, "MAX_ADDRESSES", 3)
    logins = FailedLogins(1)
    for number in range(5):
        clock.now += 1
        await fail(logins, f"10.0.0.{number}")
    await succeed(logins, "10.0.0.1")
    with pytest.raises(LimitExceeded):
        await succeed(logins, "10.0.0.4")
    assert len(logins) == 3
    clock.now += 61
    await succeed(logins, "10.0.0.9")
    assert len(logins) == 0
