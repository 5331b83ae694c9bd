"""The version of a thread: a request may say on which one it was made.

A thread's version is the id of its last run: nothing but a run changes its messages.
"""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage

from turnstream.graphs import stored
from turnstream.graphs.history import from_user
from turnstream.server.runs.checkpoints import Checkpoints
from turnstream.server.runs.claims import NewRun
from turnstream.server.storage.interfaces import Held, ThreadEntry, ThreadStore
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import InvalidRequest, TurnRequest


class UnknownThread(Exception):
    """The request names a thread that must exist, and does not."""

    def __init__(self, key: ThreadKey) -> None:
        super().__init__(f"there is no thread {key.thread_id!r}")
        self.key = key


class ThreadChanged(Exception):
    """The thread has had another run since the one that the request was made on."""

    def __init__(self, entry: ThreadEntry, new_messages: Sequence[str] | None) -> None:
        super().__init__(f"run {entry.run_id} was the last")
        self.entry = entry
        self.new_messages = new_messages
        """The ids of the user messages since; None: the thread does not hold the answer that the
        request was made on."""


class QuestionWaits(InvalidRequest):
    """Somebody is to answer the graph or a call first: the author of the message may not have seen
    the question."""

    def __init__(self) -> None:
        sentence = "The thread waits for an answer, which comes before the message."
        super().__init__("interrupt_pending", sentence, 409)


def is_unseen(request: TurnRequest) -> bool:
    """Return True if the author of a message or an input may not have seen a question of the
    thread."""
    is_new = request.message is not None or request.is_input_alone
    return is_new and not request.answers_questions and request.on_interrupt == "queue"


async def check_version(request: TurnRequest, run: NewRun, checkpoints: Checkpoints) -> None:
    """Raises UnknownThread, QuestionWaits, ThreadChanged."""
    entry = run.thread
    if entry is None:
        if request.needs_thread:
            raise UnknownThread(run.key)
    elif is_unseen(request) and entry.run_state == "waiting":
        raise QuestionWaits
    elif request.based_on not in (None, entry.run_id):
        state = await checkpoints.load(run.key)
        raise ThreadChanged(entry, _since(state.shown, request.based_on))


async def check_may_stop(
    request: TurnRequest, key: ThreadKey, held: Held, store: ThreadStore
) -> None:
    """Before the request stops the thread's live run. Raises ThreadChanged if it was made on an
    earlier one."""
    if request.based_on in (None, held.run_id):
        return
    entry = await store.get(key)
    if entry is not None:
        raise ThreadChanged(entry, None)


def _since(messages: Sequence[AnyMessage], run_id: str | None) -> Sequence[str] | None:
    for index in reversed(range(len(messages))):
        message = messages[index]
        if isinstance(message, AIMessage) and stored.run_id(message) == run_id:
            return [one.id or "" for one in from_user(messages[index + 1 :])]
    return None
