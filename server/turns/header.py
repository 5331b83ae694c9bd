"""Which thread, and which run of it: what a reader must know before the first chunk."""

import hashlib
from dataclasses import dataclass

LOCAL_OWNER = "local"
"""The owner of every thread while authentication is off."""

LOG_VERSION = 2
"""The version in which logs are written; `turnstream.server.turns.codec` says what each has."""


@dataclass(frozen=True, slots=True)
class ThreadKey:
    """One conversation: its id is unique for its owner."""

    owner: str
    thread_id: str

    @property
    def checkpoint_key(self) -> str:
        """The `thread_id` under which LangGraph's checkpointer keeps the thread.

        The bare id for the local owner, else `{16 hex digits of the owner's SHA-256}:{id}`. An id
        holds no colon, and one from an address that does is no thread's: two owners never share a
        key.
        """
        if self.owner == LOCAL_OWNER:
            return self.thread_id.replace(":", "%3A")
        return f"{hashlib.sha256(self.owner.encode()).hexdigest()[:16]}:{self.thread_id}"


@dataclass(frozen=True, slots=True)
class RunHeader:
    """Item 0 of a run's log: all that a reader needs besides the chunks."""

    key: ThreadKey
    run_id: str
    graph: str
    message_id: str
    """The assistant message of the turn."""
    user_message_id: str
    wire_format: str
    """The format in which the run was asked for: a reader that names none gets it."""
    checkpoint_id: str | None
    """The thread as the run begins, with what the request added. None: it could not be saved."""
    continues: bool = False
    """True if earlier runs have said a part of the message."""
    follows: str | None = None
    """The thread's last run before this one; None: it had none."""
    takes_back: bool = False
    """True if the run has taken that one back."""
    client_run_id: str | None = None
    """The id that the client has given to the run; None: it has given none."""
    version: int = LOG_VERSION
    """The version of the log. Logs of version 1 have no such field."""
