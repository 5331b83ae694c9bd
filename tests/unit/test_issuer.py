"""The issuer of tokens: keys that change, answers that cannot be used, hours without it."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any, get_args

import pytest

from tests.support.issuer import AUDIENCE, LocalIssuer, Mode, ec_key, rsa_key
from tests.support.waiting import WAIT_SECONDS, until
from turnstream.server.extensions.users.faults import AuthenticationUnavailable, Unauthenticated
from turnstream.server.extensions.users.issuer import KeyTimes
from turnstream.server.extensions.users.tokens import (
    TokenSettings,
    TokenVerifier,
    open_token_verifier,
)

FOREIGN = 99
"""The number of a key that the issuer does not have."""
HOUR = 3600.0
PAUSE = KeyTimes().pause_seconds


class Clock:
    """The issuer's, which goes on when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("turnstream.server.extensions.users.issuer.monotonic", clock)
    return clock


@pytest.fixture
async def issuer() -> AsyncIterator[LocalIssuer]:
    async with LocalIssuer() as issuer:
        yield issuer


@pytest.fixture
async def verifier(issuer: LocalIssuer) -> AsyncIterator[TokenVerifier]:
    async with opened(issuer) as verifier:
        yield verifier


def opened(issuer: LocalIssuer, **times: float) -> AbstractAsyncContextManager[TokenVerifier]:
    key_times = KeyTimes(**{"timeout_seconds": WAIT_SECONDS, **times})
    return open_token_verifier(TokenSettings(issuer.url, AUDIENCE, key_times=key_times))


async def unavailable(verifier: TokenVerifier, token: str) -> str:
    with pytest.raises(AuthenticationUnavailable) as raised:
        await verifier.verify(token)
    return str(raised.value)


async def refuse(verifier: TokenVerifier, token: str) -> None:
    with pytest.raises(Unauthenticated):
        await verifier.verify(token)


def foreign(issuer: LocalIssuer, number: int = FOREIGN) -> str:
    """A token of an unknown key."""
    return issuer.sign(issuer.claims(), ec_key(number), "ES256")


def asked(issuer: LocalIssuer) -> tuple[int, int]:
    return issuer.requests["discovery"], issuer.requests["keys"]


# Keys are fetched once


async def test_many_tokens_need_the_keys_once(issuer: LocalIssuer, verifier: TokenVerifier) -> None:
    for sub in ("ann", "bob", "cem"):
        assert (await verifier.verify(issuer.token(sub))).id == sub
    assert asked(issuer) == (1, 1)


async def test_tokens_that_come_at_once_share_one_fetch(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    issuer.mode = "slow"
    callers = [asyncio.create_task(verifier.verify(issuer.token())) for _ in range(20)]
    await until(lambda: issuer.requests["keys"])
    issuer.released.set()
    assert len(await asyncio.gather(*callers)) == 20
    assert asked(issuer) == (1, 1)


async def test_a_request_that_is_left_takes_the_keys_from_no_other(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    issuer.mode = "slow"
    first, second = (asyncio.create_task(verifier.verify(issuer.token())) for _ in range(2))
    await until(lambda: issuer.requests["keys"])
    first.cancel()
    await asyncio.wait([first])
    issuer.released.set()
    assert (await second).id == "ann"
    assert asked(issuer) == (1, 1)


async def test_the_end_does_not_wait_for_an_issuer_that_is_slow(issuer: LocalIssuer) -> None:
    issuer.mode = "slow"
    async with opened(issuer) as verifier:
        caller = asyncio.create_task(verifier.verify(issuer.token()))
        await until(lambda: issuer.requests["keys"])
    await asyncio.wait([caller])
    assert caller.cancelled()


async def test_keys_are_fetched_again_after_an_hour(
    issuer: LocalIssuer, verifier: TokenVerifier, clock: Clock
) -> None:
    token = issuer.token()
    await verifier.verify(token)
    issuer.rotate()
    clock.advance(HOUR)
    assert await verifier.verify(token), "nobody has asked for the new keys"
    clock.advance(1)
    await refuse(verifier, token)


# Keys change


async def test_a_new_key_is_found_and_an_old_one_forgotten(
    issuer: LocalIssuer, verifier: TokenVerifier, clock: Clock
) -> None:
    before = issuer.token()
    assert await verifier.verify(before)
    issuer.rotate()
    assert await verifier.verify(issuer.token())
    clock.advance(PAUSE)
    await refuse(verifier, before)
    assert asked(issuer) == (3, 3)


async def test_a_token_of_an_unknown_key_is_not_refused_before_the_issuer_is_asked_for_it(
    issuer: LocalIssuer, verifier: TokenVerifier, clock: Clock
) -> None:
    assert await verifier.verify(issuer.token())
    await refuse(verifier, foreign(issuer))
    issuer.rotate()
    await unavailable(verifier, issuer.token())
    clock.advance(PAUSE)
    assert await verifier.verify(issuer.token())


async def test_tokens_of_a_new_key_that_come_at_once_share_one_fetch(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    await verifier.verify(issuer.token())
    issuer.rotate()
    issuer.mode = "slow"
    first = asyncio.create_task(verifier.verify(issuer.token()))
    await until(lambda: issuer.requests["keys"] == 2)
    others = [asyncio.create_task(verifier.verify(issuer.token())) for _ in range(5)]
    await asyncio.sleep(0)  # each has begun to wait
    issuer.released.set()
    assert len(await asyncio.gather(first, *others)) == 6
    assert asked(issuer) == (2, 2)


async def test_a_new_key_under_an_old_id_is_found(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    assert await verifier.verify(issuer.token())
    new = ec_key(FOREIGN)
    issuer.published = [new.as_dict(private=False, kid="ec-1")]
    assert await verifier.verify(issuer.sign(issuer.claims(), new, "ES256", kid="ec-1"))


async def test_a_new_key_without_an_id_is_found(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    for number in (1, FOREIGN):
        key = rsa_key(number).as_dict(private=False)
        del key["kid"]
        issuer.published = [key]
        assert await verifier.verify(issuer.sign(issuer.claims(), rsa_key(number), kid=None))


async def test_unknown_keys_ask_the_issuer_once_however_many_tokens_have_them(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    assert await verifier.verify(issuer.token())
    tokens = [foreign(issuer, number) for number in range(FOREIGN, FOREIGN + 20)]
    outcomes = await asyncio.gather(*map(verifier.verify, tokens), return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {Unauthenticated}
    for token in tokens:
        await unavailable(verifier, token)
    assert asked(issuer) == (2, 2)
    assert await verifier.verify(issuer.token())


async def test_unknown_keys_ask_again_after_half_a_minute(
    issuer: LocalIssuer, verifier: TokenVerifier, clock: Clock
) -> None:
    await refuse(verifier, foreign(issuer))
    issuer.rotate()
    clock.advance(29)
    await unavailable(verifier, issuer.token())
    clock.advance(1)
    assert await verifier.verify(issuer.token())


async def test_a_token_that_has_expired_or_is_anothers_never_asks(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    await refuse(verifier, issuer.token(exp=1))
    await refuse(verifier, issuer.token(iss="https://else.example"))
    assert not issuer.requests


# The issuer answers nothing, or nonsense

REASONS: dict[Mode, str] = {
    "slow": "took more than",
    "huge": "more than 262144 bytes",
    "redirecting": "status 307",
    "another name": "it calls itself 'https://else.example'; TURNSTREAM_JWT_ISSUER must be",
    "no JSON": "not answer a JSON object",
    "failing": "status 500",
}


@pytest.mark.parametrize("mode", [mode for mode in get_args(Mode) if mode != "well"])
async def test_an_answer_that_cannot_be_used_is_an_outage_with_its_reason(
    issuer: LocalIssuer, mode: Mode
) -> None:
    issuer.mode = mode
    times = {"timeout_seconds": 0.05} if mode == "slow" else {}
    async with opened(issuer, **times) as verifier:
        assert REASONS[mode] in await unavailable(verifier, issuer.token())


@pytest.mark.parametrize(
    "url",
    [
        *("http://keys.example", "https://a:b@keys.example", "file:///etc/passwd", "/keys", ""),
        *(None, 7, ["https://keys.example"], "http://127.0.0.1.keys.example", "https://\x00"),
    ],
)
async def test_keys_come_from_nowhere_that_could_forge_them(
    issuer: LocalIssuer, verifier: TokenVerifier, url: object
) -> None:
    issuer.metadata = {"jwks_uri": url}
    assert "jwks_uri" in await unavailable(verifier, issuer.token())


@pytest.mark.parametrize(
    ("published", "reason"),
    [
        ([], "no key that could sign"),
        ([{"kty": "oct", "k": "c2VjcmV0"}], "no key that could sign"),
        ([ec_key(1).as_dict(private=False, use="enc")], "no key that could sign"),
        ([ec_key(1).as_dict(private=False, key_ops=["sign"])], "no key that could sign"),
        ([ec_key(1).as_dict(private=False)] * 101, "more than 100 keys"),
        ({"a": 1}, "not a JWK Set"),
    ],
    ids=["none", "secret", "encrypts", "signs", "many", "object"],
)
async def test_a_set_of_keys_without_any_that_signs_is_an_outage(
    issuer: LocalIssuer, verifier: TokenVerifier, published: Any, reason: str
) -> None:
    issuer.published = published
    assert reason in await unavailable(verifier, issuer.token())


async def test_a_failure_is_not_repeated_for_every_token(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    issuer.mode = "failing"
    for _ in range(5):
        await unavailable(verifier, issuer.token())
    await asyncio.gather(*(unavailable(verifier, foreign(issuer)) for _ in range(5)))
    assert asked(issuer) == (1, 1)


async def test_an_issuer_that_comes_up_later_is_found(
    issuer: LocalIssuer, verifier: TokenVerifier, clock: Clock
) -> None:
    token = issuer.token()
    await issuer.stop()
    assert "cannot be asked" in await unavailable(verifier, token)
    await issuer.start()
    clock.advance(29)
    await unavailable(verifier, token)
    clock.advance(1)
    assert (await verifier.verify(token)).id == "ann"


# Outages


async def test_known_keys_stay_in_use_while_the_issuer_is_down_and_the_log_says_so_once(
    issuer: LocalIssuer,
    verifier: TokenVerifier,
    clock: Clock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "turnstream")
    await verifier.verify(issuer.token())
    await issuer.stop()
    for _ in range(5):
        clock.advance(HOUR + 1)
        assert (await verifier.verify(issuer.token())).id == "ann"
    await unavailable(verifier, foreign(issuer))
    [warning] = logged(caplog)
    assert warning.endswith("its keys stay in use, 24 h at most")

    await issuer.start()
    clock.advance(30)
    await verifier.verify(issuer.token())
    await refuse(verifier, foreign(issuer))
    assert logged(caplog) == [warning, "the issuer of tokens answers again"]


async def test_known_keys_are_not_used_for_more_than_a_day(
    issuer: LocalIssuer, verifier: TokenVerifier, clock: Clock
) -> None:
    await verifier.verify(issuer.token())
    await issuer.stop()
    clock.advance(24 * HOUR)
    assert await verifier.verify(issuer.token())
    clock.advance(1)
    await unavailable(verifier, issuer.token())


async def test_a_forged_signature_is_refused_while_the_issuer_is_down(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    await verifier.verify(issuer.token())
    await issuer.stop()
    await refuse(verifier, issuer.sign(issuer.claims(), rsa_key(FOREIGN), kid=issuer.rsa.kid))


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What we said, without the libraries."""
    return [
        record.getMessage() for record in caplog.records if record.name.startswith("turnstream.")
    ]
