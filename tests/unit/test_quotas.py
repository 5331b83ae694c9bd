"""What callers use up in windows of time, and failed logins."""

import time
from typing import Any

import pytest

from server.users import failed_logins
from server.users.failed_logins import FailedLogins
from server.users.policy import Policy
from server.users.policy_file import PolicyFile
from server.users.principal import Principal
from server.users.quotas import Memory, Quotas
from server.users.rights import LimitExceeded, Rights


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


def test_an_address_that_fails_too_often_waits_for_its_minute(clock: Clock) -> None:
    logins = FailedLogins(2)
    for _ in range(2):
        logins.check("10.0.0.1")
        logins.count("10.0.0.1")
    clock.now += 20
    with pytest.raises(LimitExceeded) as fault:
        logins.check("10.0.0.1")
    assert (fault.value.limit, fault.value.retry_after) == ("max_failed_logins", 40)
    logins.check("10.0.0.2")
    clock.now += 40
    logins.check("10.0.0.1")


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
def test_an_ipv6_client_is_its_network(one: str, other: str, same: bool) -> None:
    logins = FailedLogins(1)
    logins.count(one)
    if same:
        with pytest.raises(LimitExceeded):
            logins.check(other)
    else:
        logins.check(other)


def test_no_more_addresses_are_remembered_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr(failed_logins, "MAX_ADDRESSES", 3)
    logins = FailedLogins(1)
    for number in range(5):
        clock.now += 1
        logins.count(f"10.0.0.{number}")
    logins.check("10.0.0.1")
    with pytest.raises(LimitExceeded):
        logins.check("10.0.0.4")
    assert len(logins) == 3
    clock.now += 61
    logins.check("10.0.0.9")
    assert len(logins) == 0
