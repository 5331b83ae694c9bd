"""The parts of a process that its logs share."""

from collections.abc import Callable
from dataclasses import dataclass

from turnstream.server.extensions.workers.redis.connection import Commands
from turnstream.server.extensions.workers.redis.feed import Feed
from turnstream.server.extensions.workers.redis.presence import Presence
from turnstream.server.extensions.workers.redis.scripts import Keys


@dataclass(frozen=True, slots=True)
class Shared:
    worker: str
    keys: Keys
    commands: Commands
    feed: Feed
    presence: Presence
    on_lost: Callable[[str], None]
    """Told the id of a run whose log this worker has lost."""
    on_refused: Callable[[str], None]
    """The same of a run whose log another worker has taken over from this one."""
