"""What a play showed, as a table; of each violation what led to it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tests.chaos.frames import last_number
from tests.chaos.play import Played
from tests.chaos.records import History, Violation

MOST = 5
"""Violations of a check that are told in full."""


def table(played: Played, judged: Mapping[str, Sequence[Violation]]) -> str:
    history, plan = played.history, played.plan
    outcomes = Counter(str(following.outcome) for following in history.followings)
    statuses = Counter(
        f"{answer.status} {answer.code}".strip() if answer.status else "cut off"
        for answer in history.answers
    )
    faults = Counter(fault.kind for fault in history.faults)
    runs = {reading.run_id for reading in history.readings if reading.run_id}
    takeovers = sum(
        bool(change.old and change.new and change.old.worker != change.new.worker)
        for change in history.claims
    )
    rows = [
        ("seed, workers, threads", f"{plan.seed}, {plan.workers}, {plan.threads}"),
        ("seconds", f"{played.seconds:.0f}"),
        ("requests, runs", f"{played.requests}, {len(runs)}"),
        ("events read", f"{sum(len(reading.frames) for reading in history.readings)}"),
        ("claims, takeovers", f"{sum(c.old is None for c in history.claims)}, {takeovers}"),
        ("writes seen by the database", f"{len(history.writes)}"),
        ("faults", _counts(faults)),
        ("answers", _counts(statuses)),
        ("readers", _counts(outcomes)),
    ]
    lines = [f"{name:<34} {value}" for name, value in rows]
    lines += [f"{name:<58} {len(found) or 'holds'}" for name, found in judged.items()]
    return "\n".join(lines)


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counter.most_common()) or "none"


def violations(history: History, judged: Mapping[str, Sequence[Violation]]) -> Iterator[str]:
    for name, found in judged.items():
        for violation in found[:MOST]:
            yield f"\nVIOLATION: {name}\nthread {violation.thread_id}, run {violation.run_id}"
            yield f"{violation.sentence}\n" + "\n".join(_story(history, violation.thread_id))


def _story(history: History, thread: str) -> list[str]:
    """All that was seen of a thread, in its order."""
    lines = sorted([*_asked(history, thread), *_seen_by_the_database(history, thread)])
    if lines:
        begin, end = lines[0][0], lines[-1][0]
        lines += [
            (fault.began, f"FAULT {fault.kind} of {fault.target} until {fault.over:.3f}")
            for fault in history.faults
            if begin <= fault.over and fault.began <= end
        ]
    return [f"  {at:.3f} {line}" for at, line in sorted(lines)]


def _asked(history: History, thread: str) -> Iterator[tuple[float, str]]:
    for answer in history.answers:
        if answer.thread_id == thread:
            said = f"{answer.kind} -> {answer.status or 'cut off'} {answer.code} {answer.run_id}"
            yield answer.sent, f"{said} (until {answer.answered:.3f})"
    for reading in history.readings:
        if reading.thread_id == thread:
            read = f"{reading.after + 1} to {last_number(reading.frames)}, {reading.end}"
            told = f"reader {reading.reader} got of {reading.run_id or 'a lost run'} {read}"
            yield reading.opened, f"{told} (until {reading.closed:.3f})"


def _seen_by_the_database(history: History, thread: str) -> Iterator[tuple[float, str]]:
    for change in history.claims:
        if change.thread_id == thread:
            yield change.at, f"claim {change.old} -> {change.new}"
    for write in history.writes:
        if write.thread_id == thread:
            what = f"{write.operation} {write.table} by {write.worker}"
            yield write.at, f"{what}, claim {write.claim}"
