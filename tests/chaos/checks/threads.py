"""Threads: what was streamed is in them, they are free when their run has ended, and they live."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.chaos.checks.told import has_result, told
from tests.chaos.frames import shows_the_end
from tests.chaos.records import Answer, History, Hydrated, Violation

FREE = "who has seen the end can post at once"
STOPPED = "a stopped run is over"
KEYS = "one run for an idempotency key"
KEPT = "an accepted message is in the thread"
QUEUED = "queued messages begin once and in order"
REFUSED = "a refused message is not in the thread"
ANSWERS = "every answer is a known one"
STREAMED = "what was streamed is in the thread"
RESULTS = "every published result is in the thread"
STUCK = "nobody waits for ever"
BRICKED = "no thread is bricked"

KNOWN: Mapping[str, Mapping[int, Sequence[str]]] = {
    "post": {
        200: ("",),
        202: ("",),
        409: (
            *("run_in_progress", "not_pending", "already_answered", "thread_being_deleted"),
            *("nothing_to_continue", "approval_pending", "queue_full"),
        ),
    },
    "withdraw": {204: ("",), 404: ("not_queued",)},
    "move": {200: ("",), 404: ("not_queued",)},
    "attach": {200: ("",), 204: ("",), 404: ("thread_not_found",)},
    "stop": {200: ("",), 404: ("thread_not_found",)},
    "hydrate": {200: ("",), 404: ("thread_not_found",)},
    "delete": {204: ("",)},
    "list": {200: ("",)},
}
"""The answers that a request may get. Any may be cut off; 503 is for all what storage says."""
EXCUSED = (
    "storage_unreachable",
    "storage_busy",
    "storage_failed",
    "streams_unavailable",
    "storage_full",
    "thread_still_busy",
    "shutting_down",
)


def known_answers(history: History) -> Iterator[Violation]:
    for answer in history.answers:
        known = KNOWN[answer.kind]
        if answer.status == 0 or answer.code in known.get(answer.status, ()):
            continue
        if answer.status == 503 and answer.code in EXCUSED and answer.retry_after:
            continue
        yield Violation(
            ANSWERS,
            answer.thread_id,
            f"{answer.kind} was answered with {answer.status} {answer.code} at "
            f"{answer.answered:.3f}",
            answer.run_id,
        )


def nobody_is_stuck(history: History) -> Iterator[Violation]:
    for what in history.stuck:
        yield Violation(STUCK, what.partition("thread ")[2].partition(",")[0], what)


def free_after_the_end(history: History) -> Iterator[Violation]:
    """A request that was sent when some reader had seen a run's end is not told that the run is
    live."""
    ends = _ends(history)
    for answer in history.answers:
        if answer.status == 409 and answer.code == "run_in_progress":
            over = ends.get(answer.run_id)
            if over is not None and over < answer.sent:
                yield Violation(
                    FREE, answer.thread_id, "a post got 409 for a run that had ended", answer.run_id
                )
    for hydrated in history.hydrated:
        over = ends.get(hydrated.live_run)
        if over is not None and over < hydrated.sent:
            yield Violation(
                FREE, hydrated.thread_id, "a thread shows a run that had ended", hydrated.live_run
            )


def stopped_is_over(history: History) -> Iterator[Violation]:
    """What is asked once a stop is answered does not find the run live."""
    stops: dict[str, float] = {}
    for answer in history.answers:
        if answer.kind == "stop" and answer.status == 200 and answer.run_id:
            over = min(answer.answered, stops.get(answer.run_id, answer.answered))
            stops[answer.run_id] = over
    for answer in history.answers:
        is_busy = answer.kind == "post" and answer.code == "run_in_progress"
        if is_busy and answer.run_id in stops and stops[answer.run_id] < answer.sent:
            yield Violation(
                STOPPED, answer.thread_id, "a post got 409 for a stopped run", answer.run_id
            )
    for hydrated in history.hydrated:
        if hydrated.live_run in stops and stops[hydrated.live_run] < hydrated.sent:
            yield Violation(STOPPED, hydrated.thread_id, "a stopped run is live", hydrated.live_run)


def one_run_a_key(history: History) -> Iterator[Violation]:
    """Whatever fails meanwhile, as long as the thread is not deleted."""
    answers: dict[tuple[str, str], list[Answer]] = defaultdict(list)
    for answer in history.answers:
        if answer.idempotency_key and answer.status in (200, 202):
            answers[answer.thread_id, answer.idempotency_key].append(answer)
    for (thread, key), known in answers.items():
        runs = {answer.run_id for answer in known}
        if len(runs) > 1 and not _is_deleted(history, thread, max(a.answered for a in known)):
            yield Violation(KEYS, thread, f"key {key} has begun the runs {sorted(runs)}")


def _is_deleted(history: History, thread: str, until: float) -> bool:
    """Return True if somebody has asked to delete the thread until then."""
    return any(
        answer.kind == "delete" and answer.thread_id == thread and answer.sent <= until
        for answer in history.answers
    )


def accepted_is_kept(history: History) -> Iterator[Violation]:
    """A message whose post got a success is in every later load of its thread, or waits there;
    not one that somebody has withdrawn, or may have."""
    loads = _Loads.of(history)
    withdrawn = {
        answer.run_id
        for answer in history.answers
        if answer.kind == "withdraw" and answer.status in (0, 204)
    }
    for answer in history.answers:
        if not answer.message_id or answer.status not in (200, 202) or answer.run_id in withdrawn:
            continue
        for hydrated in loads.showing(answer.thread_id, answer.sent, answer.answered):
            if answer.message_id not in {*(hydrated.messages or {}), *hydrated.queued}:
                yield Violation(
                    KEPT,
                    answer.thread_id,
                    f"the load of {hydrated.sent:.3f} lacks the message {answer.message_id}, "
                    f"accepted at {answer.answered:.3f}",
                    answer.run_id,
                )
                break


def queued_once_and_in_order(history: History) -> Iterator[Violation]:
    """Messages that waited stand in their thread once, in the order in which they were queued,
    unless one of them was moved; and none of them could not begin."""
    moved = {answer.run_id for answer in history.answers if answer.kind == "move"}
    queued: dict[str, list[Answer]] = defaultdict(list)
    for answer in sorted(history.answers, key=lambda one: one.sent):
        if answer.queue_place and answer.message_id and answer.run_id not in moved:
            queued[answer.thread_id].append(answer)
    for load in history.hydrated:
        for id, code in load.queued.items():
            if code:
                yield Violation(QUEUED, load.thread_id, f"message {id} could not begin: {code}")
        for id in {id for id in load.order if load.order.count(id) > 1}:
            yield Violation(QUEUED, load.thread_id, f"message {id} is there twice")
        if load.is_last:
            yield from _out_of_order(load, queued[load.thread_id])


def _out_of_order(load: Hydrated, queued: Sequence[Answer]) -> Iterator[Violation]:
    places = {id: place for place, id in enumerate(load.order)}
    known = [one for one in queued if one.message_id in places]
    for number, later in enumerate(known):
        for earlier in known[:number]:
            was_before = earlier.answered < later.sent
            if was_before and places[earlier.message_id] > places[later.message_id]:
                sentence = f"message {later.message_id} was queued behind {earlier.message_id}"
                yield Violation(QUEUED, load.thread_id, sentence, later.run_id)


def refused_is_not_kept(history: History) -> Iterator[Violation]:
    """A message whose every post got a 503 is not in its thread."""
    statuses: dict[tuple[str, str], set[int]] = defaultdict(set)
    for answer in history.answers:
        if answer.message_id:
            statuses[answer.thread_id, answer.message_id].add(answer.status)
    last = {load.thread_id: load.messages or {} for load in history.hydrated if load.is_last}
    for (thread, message), seen in statuses.items():
        if seen == {503} and message in last.get(thread, {}):
            yield Violation(REFUSED, thread, f"message {message} was refused, and is kept")


@dataclass(frozen=True)
class _Loads:
    """The loads of threads that must show a run: sent after it, ahead of any deletion."""

    by_thread: Mapping[str, Sequence[Hydrated]]
    deletions: Mapping[str, Sequence[tuple[float, float]]]

    @classmethod
    def of(cls, history: History) -> "_Loads":
        by_thread: dict[str, list[Hydrated]] = defaultdict(list)
        for hydrated in history.hydrated:
            by_thread[hydrated.thread_id].append(hydrated)
        deletions: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for answer in history.answers:
            if answer.kind == "delete":
                # Without an answer it may come at any time.
                over = answer.answered if answer.status == 204 else float("inf")
                deletions[answer.thread_id].append((answer.sent, over))
        return cls(by_thread, deletions)

    def showing(self, thread: str, began: float, since: float) -> Iterator[Hydrated]:
        """Loads that were sent after `since`; of the deletions since `began` none had been sent
        when they were answered."""
        later = [sent for sent, over in self.deletions.get(thread, ()) if over >= began]
        for hydrated in self.by_thread.get(thread, ()):
            if hydrated.sent > since and not any(sent < hydrated.answered for sent in later):
                yield hydrated


def streamed_is_saved(history: History) -> Iterator[Violation]:
    """Each run whose end was seen, part by part, in every load behind it; not one whose end says
    that the storage could not save it."""
    loads = _Loads.of(history)
    for run in told(history):
        if run.over is None or not run.is_whole or not run.is_saved:
            continue
        for hydrated in loads.showing(run.thread_id, run.began, run.over):
            missing = run.missing(hydrated)
            if missing is not None:
                yield Violation(
                    STREAMED,
                    run.thread_id,
                    f"the load of {hydrated.sent:.3f} lacks of message {run.message_id}: "
                    f"{missing}; it has {run.shown(hydrated)}",
                    run.run_id,
                )
                break


def results_are_saved(history: History) -> Iterator[Violation]:
    """Whatever became of the run."""
    loads = _Loads.of(history)
    for run in told(history):
        for hydrated in loads.showing(run.thread_id, run.began, run.results_seen):
            lost = [part for part in run.results if not has_result(part, run.shown(hydrated))]
            if lost:
                yield Violation(
                    RESULTS,
                    run.thread_id,
                    f"the load of {hydrated.sent:.3f} lacks the results {lost}",
                    run.run_id,
                )
                break


def takes_the_next_message(history: History) -> Iterator[Violation]:
    for thread, end in history.survivors.items():
        if end != "stop":
            yield Violation(BRICKED, thread, f"the last message was answered with {end}")


def _ends(history: History) -> dict[str, float]:
    """When the first reader had seen each run's end."""
    ends: dict[str, float] = {}
    for reading in history.readings:
        if reading.run_id and shows_the_end(reading.frames):
            ends[reading.run_id] = min(reading.closed, ends.get(reading.run_id, reading.closed))
    return ends
