"""Judges a history. Pure: a history in, violations out."""

from collections.abc import Callable, Iterator, Mapping

from tests.chaos.checks import claims, streams, threads
from tests.chaos.records import History, Violation

Check = Callable[[History], Iterator[Violation]]

CHECKS: Mapping[str, Check] = {
    "a thread's claims follow each other": claims.follow_each_other,
    "a claim is taken over only when its lease is over": claims.taken_over_when_lapsed,
    "who writes holds the claim": claims.writers_hold_the_claim,
    "each stream is numbered without gaps": streams.numbered_without_gaps,
    "live = replay": streams.live_equals_replay,
    "exactly one terminal event": streams.one_terminal_event,
    "every reader gets an end": streams.every_reader_gets_an_end,
    "a cursor is lost only with its log": streams.lost_with_a_reason,
    "who has seen the end can post at once": threads.free_after_the_end,
    "a stopped run is over": threads.stopped_is_over,
    "one run for an idempotency key": threads.one_run_a_key,
    "an accepted message is in the thread": threads.accepted_is_kept,
    "queued messages begin once and in order": threads.queued_once_and_in_order,
    "a refused message is not in the thread": threads.refused_is_not_kept,
    "every answer is a known one": threads.known_answers,
    "nobody waits for ever": threads.nobody_is_stuck,
    "what was streamed is in the thread": threads.streamed_is_saved,
    "every published result is in the thread": threads.results_are_saved,
    "no thread is bricked": threads.takes_the_next_message,
}


def judge(history: History) -> dict[str, list[Violation]]:
    """The violations of each check, by its name."""
    return {name: list(check(history)) for name, check in CHECKS.items()}
