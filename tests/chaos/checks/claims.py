"""One run a thread at any time, and no write of a worker that does not hold the claim."""

from collections import defaultdict
from collections.abc import Iterator

from tests.chaos.records import Claim, ClaimChange, History, Violation

FOLLOW = "a thread's claims follow each other"
TAKEN_OVER = "a claim is taken over only when its lease is over"
WRITERS = "who writes holds the claim"
CLOCK_SECONDS = 0.002
"""The trigger reads the clock a little after the statement has."""


def follow_each_other(history: History) -> Iterator[Violation]:
    """A claim begins where there is none, keeps its run, and does not come again once it has gone;
    a run that waited may have its request put back and be claimed anew."""
    held: dict[str, Claim] = {}
    # A post that is repeated under its key may find a run that waited before.
    posts = [one for one in history.answers if one.kind == "post" and not one.idempotency_key]
    at_once = {one.run_id for one in posts if not one.queue_place}
    begun: set[tuple[str, str]] = set()
    for change in _in_order(history):
        thread, old, new = change.thread_id, change.old, change.new
        before = held.get(thread)
        if old != before:
            yield _violation(FOLLOW, change, f"the claim was {before}, and {old} was changed")
        if old is None and new is not None:
            if (thread, new.run_id) in begun and new.run_id in at_once:
                yield _violation(FOLLOW, change, f"run {new.run_id} was claimed a second time")
            begun.add((thread, new.run_id))
        if old and new and old.run_id != new.run_id and not _both_delete(old, new):
            yield _violation(FOLLOW, change, f"run {new.run_id} took the claim of {old.run_id}")
        if new is None:
            held.pop(thread, None)
        else:
            held[thread] = new


def taken_over_when_lapsed(history: History) -> Iterator[Violation]:
    for change in _in_order(history):
        old, new = change.old, change.new
        if old is None or new is None or old.worker == new.worker:
            continue
        if old.lease_until > change.at + CLOCK_SECONDS:
            left = old.lease_until - change.at
            yield _violation(
                TAKEN_OVER,
                change,
                f"{new.worker} took {old.worker}'s claim {left:.3f} s before its lease was over",
            )


def writers_hold_the_claim(history: History) -> Iterator[Violation]:
    """The claim of the moment of a write is its worker's; or the write's own transaction makes it
    or gives it up."""
    changed: dict[tuple[str, int], set[str]] = defaultdict(set)
    for change in history.claims:
        # An update of the row by its worker holds it too.
        for claim in (change.old, change.new):
            if claim is not None and (change.old is None or change.new is None):
                changed[change.thread_id, change.transaction].add(claim.worker)
    for write in history.writes:
        if write.claim is not None and write.claim.worker == write.worker:
            continue
        if write.worker in changed[write.thread_id, write.transaction]:
            continue
        yield Violation(
            WRITERS,
            write.thread_id,
            f"{write.operation} in {write.table} by {write.worker or 'an unnamed connection'} at "
            f"{write.at:.3f} while the claim was {write.claim}",
            write.claim.run_id if write.claim else "",
        )


def _both_delete(old: Claim, new: Claim) -> bool:
    """A deletion may go on with what another one has begun: their writes are the same."""
    return old.purpose == new.purpose == "deletion" and old.run_id != new.run_id


def _in_order(history: History) -> list[ClaimChange]:
    return sorted(history.claims, key=lambda change: change.number)


def _violation(check: str, change: ClaimChange, sentence: str) -> Violation:
    claim = change.new or change.old
    return Violation(
        check, change.thread_id, f"{sentence} (at {change.at:.3f})", claim.run_id if claim else ""
    )
