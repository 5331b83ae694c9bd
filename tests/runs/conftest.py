"""A Redis for each test, empty."""

from tests.support.redis_server import own_redis, redis_server, redis_url

__all__ = ["own_redis", "redis_server", "redis_url"]
