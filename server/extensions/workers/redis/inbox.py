"""Messages from worker to worker, through a short stream each."""

import json
import logging
from collections.abc import Callable, Mapping

from redis.exceptions import ResponseError

from turnstream.graphs.stored import Ended
from turnstream.server.extensions.workers.redis.connection import Commands, Unanswered, described
from turnstream.server.extensions.workers.redis.scripts import SEND, Keys

MESSAGE_SECONDS = 300
"""A message that nobody has fetched for so long is of no more use."""
SEND_SECONDS = 1.0

logger = logging.getLogger(__name__)


class RedisInbox:
    """Implements `Inbox`. A message may come twice."""

    def __init__(self, commands: Commands, keys: Keys) -> None:
        self._commands = commands
        self._keys = keys
        self._on_stop: list[Callable[[str, Ended], None]] = []

    def on_stop(self, call: Callable[[str, Ended], None]) -> None:
        self._on_stop.append(call)

    async def ask_to_stop(self, worker: str, run_id: str, reason: Ended) -> None:
        message = ("stop", run_id, "reason", json.dumps(reason))
        inbox = self._keys.inbox(worker)
        try:
            await self._commands.run_script(
                SEND, [inbox], MESSAGE_SECONDS, *message, patience=SEND_SECONDS
            )
        except (Unanswered, ResponseError) as error:
            named = {"run": run_id, "error": described(error)}
            logger.warning("no message to stop run %(run)s could be sent: %(error)s", named)

    def receive(self, message: Mapping[bytes, bytes]) -> None:
        """A message has come; of a kind that is not known, nothing is done."""
        if b"stop" not in message:
            return
        try:
            run_id, reason = message[b"stop"].decode(), json.loads(message[b"reason"])
        except (KeyError, ValueError):
            logger.warning("a message to stop a run cannot be read")
            return
        for call in self._on_stop:
            call(run_id, reason)
