"""What callers use up is counted over all workers, and by each worker while Redis is away."""

import asyncio

import pytest

from tests.support.redis_server import RedisServer
from turnstream.server.callers.rights import LimitExceeded, WindowLimit
from turnstream.server.extensions.users.quotas import Quotas
from turnstream.server.extensions.workers.redis.counters import open_counters

LIMIT: WindowLimit = "requests_per_minute"


async def test_two_workers_count_together(redis_url: str) -> None:
    async with open_counters(redis_url) as one, open_counters(redis_url) as other:
        first, second = Quotas(shared=one), Quotas(shared=other)
        await first.take("ann", LIMIT, 2)
        await second.take("ann", LIMIT, 2)
        for worker in (first, second):
            with pytest.raises(LimitExceeded) as raised:
                await worker.take("ann", LIMIT, 2)
            assert 1 <= raised.value.retry_after <= 60
        await second.take("bob", LIMIT, 2)


async def test_tokens_are_charged_beyond_the_limit_and_checked_elsewhere(redis_url: str) -> None:
    async with open_counters(redis_url) as one, open_counters(redis_url) as other:
        first, second = Quotas(shared=one), Quotas(shared=other)
        await second.check("ann", "tokens_per_day", 10)
        await first.charge("ann", "tokens_per_day", 10, 25)
        with pytest.raises(LimitExceeded):
            await second.check("ann", "tokens_per_day", 10)


async def test_many_requests_at_once_are_counted_together(redis_url: str) -> None:
    async with open_counters(redis_url) as shared:
        worker = Quotas(shared=shared)
        await asyncio.gather(*(worker.take("ann", LIMIT, 50) for _ in range(50)))
        async with open_counters(redis_url) as other:
            with pytest.raises(LimitExceeded):
                await Quotas(shared=other).take("ann", LIMIT, 50)


async def test_parallel_calls_of_two_workers_do_not_pass_the_limit(redis_url: str) -> None:
    async with open_counters(redis_url) as one, open_counters(redis_url) as other:
        workers = [Quotas(shared=one), Quotas(shared=other)]
        calls = [workers[n % 2].take_call("ann", [{"*": 3}]) for n in range(60)]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert outcomes.count(None) == 3
        assert sum(isinstance(outcome, LimitExceeded) for outcome in outcomes) == 57


async def test_while_redis_is_away_each_worker_holds_the_limit_by_itself(
    own_redis: RedisServer,
) -> None:
    async with open_counters(own_redis.url) as shared:
        worker = Quotas(shared=shared)
        await worker.take("ann", LIMIT, 2)
        own_redis.stop()
        for _ in range(2):
            await worker.take("ann", LIMIT, 2)
        with pytest.raises(LimitExceeded):
            await worker.take("ann", LIMIT, 2)
