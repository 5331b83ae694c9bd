"""What a wire format needs besides a run's chunks, and what it makes of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from server.protocols.chunks import Chunk
from server.protocols.history import AssistantTurn, Turn


@dataclass(frozen=True, slots=True)
class Opening:
    """Where a run starts, and who reads it.

    The last two fields are the reader's own: they shape the prologue alone, so that readers share
    the encoded chunks of a run. `with_state` makes another encoding of it.
    """

    thread_id: str
    message_id: str
    """The assistant message of the turn."""
    turns: tuple[Turn, ...]
    """The thread as it stands when the run starts: cut at the fork if it is one, with what the
    request added: its user message, the answers to pending calls, the calls that it closed."""
    with_state: bool = False
    """assistant-transport: `update-state` chunks go beside the parts."""
    posted_state: Mapping[str, Any] | None = None
    """The state that this reader holds."""
    replay: bool = False
    """This reader gets the message from its own beginning, which may lie in an earlier run."""

    @property
    def continued(self) -> AssistantTurn | None:
        """The part of the run's message that earlier runs have said; None if it is a new one."""
        return next(
            (
                turn
                for turn in reversed(self.turns)
                if isinstance(turn, AssistantTurn) and turn.id == self.message_id
            ),
            None,
        )


class Encoder(Protocol):
    """Chunks to payloads, for one run: a fresh object, fed every chunk from the first, in order."""

    def prologue(self) -> list[str]:
        """Payloads that go ahead of the first event, without ids. Changes nothing."""

    def encode(self, chunk: Chunk) -> list[str]:
        """The payloads of one chunk: one event, whose last payload carries its id. May be none."""
