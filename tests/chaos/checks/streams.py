"""Streams of runs: live = replay, no gaps, one end for every reader."""

from collections.abc import Iterator
from itertools import pairwise

from tests.chaos.frames import is_done, last_number, payload, place, tells_lost
from tests.chaos.records import History, Reading, Violation

GAPS = "each stream is numbered without gaps"
REPLAY = "live = replay"
TERMINAL = "exactly one terminal event"
END = "every reader gets an end"
LOST = "a cursor is lost only with its log"


def numbered_without_gaps(history: History) -> Iterator[Violation]:
    """From the event behind the cursor on, all of one run."""
    for reading in history.readings:
        places = [found for frame in reading.frames if (found := place(frame))]
        numbers = [reading.after, *(number for _, number in places)]
        if any(after != before + 1 for before, after in pairwise(numbers)):
            yield _violation(GAPS, reading, f"the events were {numbers}")
        if {run for run, _ in places} - {reading.run_id}:
            yield _violation(GAPS, reading, "the stream has events of another run")


def live_equals_replay(history: History) -> Iterator[Violation]:
    """Any two readers of a run got the same bytes under the same number."""
    known: dict[tuple[str, int], bytes] = {}
    last: dict[str, int] = {}
    for reading in history.readings:
        for frame in reading.frames:
            found = place(frame)
            if found is None:
                continue
            if known.setdefault(found, frame) != frame:
                yield _violation(
                    REPLAY, reading, f"event {found[1]}: {known[found]!r} and {frame!r}"
                )
            if is_done(frame):
                last[found[0]] = found[1]
    for run, number in known:
        if run in last and number > last[run]:
            yield Violation(REPLAY, "", f"event {number} stands behind the end {last[run]}", run)


def one_terminal_event(history: History) -> Iterator[Violation]:
    """A whole stream has one `message-finish`, then the end mark, and nothing behind it; a stream
    that is not whole has at most that. What tells of a lost cursor has an end mark too."""
    for reading in history.readings:
        frames = reading.frames
        finishes = [
            number
            for number, frame in enumerate(frames)
            if (payload(frame) or {}).get("type") == "message-finish"
        ]
        ends = [number for number, frame in enumerate(frames) if is_done(frame)]
        if len(finishes) > 1 or len(ends) > 1:
            yield _violation(TERMINAL, reading, f"{len(finishes)} finishes and {len(ends)} ends")
        elif ends and ends[0] != len(frames) - 1:
            yield _violation(TERMINAL, reading, "there are events behind the end mark")
        elif reading.end == "whole":
            yield from _whole(reading, finishes, ends)


def _whole(reading: Reading, finishes: list[int], ends: list[int]) -> Iterator[Violation]:
    """`whole`: the server has ended the response as it should."""
    if not ends:
        yield _violation(TERMINAL, reading, "the response ended without an end mark")
    elif tells_lost(reading.frames) or last_number(reading.frames) - reading.after == 1:
        return  # behind the cursor there was the end mark alone
    elif finishes != [ends[0] - 1]:
        yield _violation(TERMINAL, reading, "there is no message-finish ahead of the end mark")


def every_reader_gets_an_end(history: History) -> Iterator[Violation]:
    """The terminal event or `cursor_lost`, however often the reader had to attach anew. A 204 says
    that it has seen all, which it has not."""
    deleted = {answer.thread_id for answer in history.answers if answer.kind == "delete"}
    for following in history.followings:
        allowed = following.outcome in ("ended", "lost", "left")
        gone = following.outcome in ("thread gone", "nothing") and following.thread_id in deleted
        if not allowed and not gone:
            yield Violation(
                END,
                following.thread_id,
                f"reader {following.reader} came out as {following.outcome!r} after "
                f"{following.over - following.began:.1f} s",
                following.run_id,
            )


def lost_with_a_reason(history: History) -> Iterator[Violation]:
    """Something took the log between the run's first event and the loss: a fault, or the deletion
    of its thread."""
    reasons = [fault for fault in history.faults if fault.loses_logs]
    deletions = [answer for answer in history.answers if answer.kind == "delete"]
    for following in history.followings:
        if following.outcome != "lost":
            continue
        began, over = following.began, following.over
        if any(began <= fault.over and fault.began <= over for fault in reasons):
            continue
        if any(each.thread_id == following.thread_id and each.sent <= over for each in deletions):
            continue
        yield Violation(
            LOST,
            following.thread_id,
            f"reader {following.reader} was told cursor_lost between {began:.3f} and {over:.3f}",
            following.run_id,
        )


def _violation(check: str, reading: Reading, sentence: str) -> Violation:
    return Violation(
        check, reading.thread_id, f"reader {reading.reader}: {sentence}", reading.run_id
    )
