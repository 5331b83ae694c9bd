"""Each check finds a planted violation, and a history without any passes."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.chaos.checks import CHECKS, judge
from tests.chaos.records import (
    Answer,
    Claim,
    ClaimChange,
    Fault,
    Following,
    History,
    Hydrated,
    Json,
    Reading,
    Write,
)

MESSAGE = "msg_1.a"
RESULT = {"value": 391}


def frame(number: int, event: Json | None, run: str = "run") -> bytes:
    data = "[DONE]" if event is None else json.dumps(event)
    return f"id: {run}:{number}\ndata: {data}\n\n".encode()


EVENTS: tuple[Json | None, ...] = (
    {"type": "step-start", "messageId": MESSAGE, "stepId": "s", "path": []},
    {"type": "part-start", "part": {"type": "text"}, "path": []},
    {"type": "text-delta", "textDelta": "Hello.", "path": [0]},
    {"type": "part-start", "part": {"type": "tool-call", "toolCallId": "c"}, "path": []},
    {"type": "text-delta", "textDelta": "{}", "path": [1]},
    {"type": "tool-call-args-text-finish", "path": [1]},
    {"type": "result", "result": RESULT, "isError": False, "path": [1]},
    {"type": "message-finish", "finishReason": "stop", "path": []},
    None,
)
FRAMES = tuple(frame(number, event) for number, event in enumerate(EVENTS, start=1))
LOST = (
    b'id: cursor-lost\ndata: {"type":"error","code":"cursor_lost","path":[]}\n\n',
    b"data: [DONE]\n\n",
)
PARTS: tuple[Json, ...] = (
    {"type": "text", "text": "Hello."},
    {"type": "tool-call", "toolCallId": "c", "argsText": "{}", "result": RESULT, "isError": False},
)
HELD = Claim("run", "run", "w1", lease_until=12.0)
WRITE = Write(1, 11.0, 2, "checkpoints", "INSERT", "t", "w1", HELD)


def reading(frames: tuple[bytes, ...] = FRAMES, **fields: object) -> Reading:
    whole = Reading(1, "t", "run", 0, 11.0, 13.0, frames, "whole")
    return replace(whole, **fields)  # type: ignore[arg-type]


def loaded(at: float = 14.0, **fields: object) -> Hydrated:
    whole = Hydrated("t", at, at + 1, "", {"msg_1": (), MESSAGE: PARTS})
    return replace(whole, **fields)  # type: ignore[arg-type]


def answer(kind: str, status: int = 200, sent: float = 10.0, **fields: object) -> Answer:
    return replace(Answer(kind, "t", sent, sent + 1, status), **fields)  # type: ignore[arg-type]


def well() -> History:
    """A run that one reader read as it went, another one behind a cursor."""
    return History(
        answers=[
            answer("post", run_id="run", idempotency_key="k"),
            answer("post", 409, 12.0, code="run_in_progress", run_id="run"),
            answer("stop", sent=12.5, run_id="run"),
        ],
        readings=[reading(), reading(FRAMES[5:], reader=2, after=5)],
        followings=[Following(1, "t", "run", 10.0, 13.0, "ended")],
        hydrated=[loaded()],
        claims=[
            ClaimChange(1, 10.5, 1, "t", None, HELD),
            ClaimChange(2, 12.9, 3, "t", HELD, None),
        ],
        writes=[WRITE],
        survivors={"t": "stop"},
    )


def test_a_history_without_violations_passes() -> None:
    assert not any(judge(well()).values())


Plant = Callable[[History], None]


def taken(history: History, worker: str = "w2", run: str = "run", at: float = 12.5) -> None:
    """Another worker takes the claim."""
    new = Claim(run, "run", worker, 14.0)
    history.claims = [
        history.claims[0],
        ClaimChange(2, at, 3, "t", HELD, new),
        ClaimChange(3, 13.0, 4, "t", new, None),
    ]


def shown(*parts: Json) -> Plant:
    def plant(history: History) -> None:
        history.hydrated = [loaded(messages={MESSAGE: parts})]

    return plant


def read(*frames: bytes, **fields: object) -> Plant:
    return lambda history: history.readings.append(reading(frames, **{"reader": 3} | fields))


def asked(*answers: Answer) -> Plant:
    return lambda history: history.answers.extend(answers)


def followed(outcome: str) -> Plant:
    return lambda history: history.followings.append(
        Following(3, "t", "run", 10.0, 13.0, outcome)  # type: ignore[arg-type]
    )


def wrote(write: Write) -> Plant:
    return lambda history: history.writes.append(write)


def second_claim(history: History) -> None:
    history.claims.insert(1, ClaimChange(2, 11.0, 2, "t", None, Claim("run2", "run", "w2", 13.0)))


def claimed_again(history: History) -> None:
    history.claims.append(ClaimChange(3, 13.0, 4, "t", None, HELD))


def bricked(history: History) -> None:
    history.survivors["t"] = "error"


def queued(id: str, sent: float, run: str) -> Answer:
    return answer("post", 202, sent, message_id=id, run_id=run, queue_place=1)


def swapped(history: History) -> None:
    history.answers += [queued("m1", 10.0, "run1"), queued("m2", 12.0, "run2")]
    history.hydrated.append(loaded(messages={"m1": (), "m2": ()}, order=("m2", "m1"), is_last=True))


def kept_though_refused(history: History) -> None:
    history.answers.append(answer("post", 503, code="storage_busy", message_id="msg_1"))
    history.hydrated.append(loaded(is_last=True))


OTHER_WORDS = frame(3, {"type": "text-delta", "textDelta": "Hullo.", "path": [0]})
FINISH = FRAMES[7]

PLANTED: tuple[tuple[str, str, Plant], ...] = (
    ("a second claim", "a thread's claims follow each other", second_claim),
    ("another run", "a thread's claims follow each other", lambda h: taken(h, run="run2")),
    ("a run that comes again", "a thread's claims follow each other", claimed_again),
    ("a lease", "a claim is taken over only when its lease is over", lambda h: taken(h, at=11.9)),
    ("a zombie", "who writes holds the claim", wrote(replace(WRITE, worker="w2"))),
    ("no claim", "who writes holds the claim", wrote(replace(WRITE, claim=None))),
    ("a gap", "each stream is numbered without gaps", read(*FRAMES[:2], *FRAMES[3:])),
    ("a late start", "each stream is numbered without gaps", read(*FRAMES[2:])),
    ("a repeat", "each stream is numbered without gaps", read(FRAMES[0], *FRAMES)),
    ("another run's event", "each stream is numbered without gaps", read(frame(1, None, "run2"))),
    ("other bytes", "live = replay", read(*FRAMES[:2], OTHER_WORDS, *FRAMES[3:])),
    ("a zombie's event", "live = replay", read(frame(10, EVENTS[2]), after=9, end="broken")),
    ("two finishes", "exactly one terminal event", read(*FRAMES[:8], *FRAMES[7:])),
    ("two ends", "exactly one terminal event", read(*FRAMES, FRAMES[-1])),
    ("events behind", "exactly one terminal event", read(*FRAMES, frame(10, EVENTS[2]))),
    ("no finish", "exactly one terminal event", read(*FRAMES[:7], FRAMES[8])),
    ("no end", "exactly one terminal event", read(*FRAMES[:8])),
    ("nothing", "every reader gets an end", followed("nothing")),
    ("no answer", "every reader gets an end", followed("unanswered")),
    ("a lost log", "a cursor is lost only with its log", followed("lost")),
    (
        "a 409 behind the end",
        "who has seen the end can post at once",
        asked(answer("post", 409, 13.5, code="run_in_progress", run_id="run")),
    ),
    (
        "a live run behind the end",
        "who has seen the end can post at once",
        lambda history: history.hydrated.append(loaded(live_run="run")),
    ),
    (
        "a 409 behind a stop",
        "a stopped run is over",
        asked(
            answer("stop", sent=1.0, run_id="old"),
            answer("post", 409, 3.0, code="run_in_progress", run_id="old"),
        ),
    ),
    (
        "a live run behind a stop",
        "a stopped run is over",
        lambda history: history.hydrated.append(loaded(13.6, live_run="run")),
    ),
    (
        "a doubled request",
        "one run for an idempotency key",
        asked(answer("post", run_id="run2", idempotency_key="k")),
    ),
    (
        "a lost message",
        "an accepted message is in the thread",
        asked(answer("post", run_id="run2", message_id="msg_2")),
    ),
    (
        "a lost message of the queue",
        "an accepted message is in the thread",
        asked(queued("m1", 10.0, "run1")),
    ),
    ("another order of the queue", "queued messages begin once and in order", swapped),
    (
        "a doubled message",
        "queued messages begin once and in order",
        lambda history: history.hydrated.append(loaded(order=("m1", "m1"))),
    ),
    (
        "a queued message that stays",
        "queued messages begin once and in order",
        lambda history: history.hydrated.append(loaded(queued={"m1": "message_exists"})),
    ),
    (
        "a kept message",
        "a refused message is not in the thread",
        kept_though_refused,
    ),
    (
        "a 503 without a time",
        "every answer is a known one",
        asked(answer("post", 503, code="storage_busy")),
    ),
    ("a 500", "every answer is a known one", asked(answer("post", 500, code="internal_error"))),
    ("a silent server", "every answer is a known one", asked(answer("stop", 599, code="silent"))),
    ("a stuck visitor", "nobody waits for ever", lambda h: h.stuck.append("talk in thread t, ")),
    ("a lost text", "what was streamed is in the thread", shown(PARTS[1])),
    ("another order", "what was streamed is in the thread", shown(*reversed(PARTS))),
    ("a lost thread", "what was streamed is in the thread", shown()),
    (
        "a lost result",
        "every published result is in the thread",
        shown(PARTS[0], {**PARTS[1], "result": {"error": {"code": "interrupted"}}}),
    ),
    ("an error", "no thread is bricked", bricked),
)


@pytest.mark.parametrize(
    ("check", "plant"), [row[1:] for row in PLANTED], ids=[row[0] for row in PLANTED]
)
def test_a_planted_violation_is_found_by_its_check(check: str, plant: Plant) -> None:
    history = well()
    plant(history)
    assert judge(history)[check]


def test_every_check_has_a_planted_violation() -> None:
    assert {check for _, check, _ in PLANTED} == set(CHECKS)


# what is no violation


def test_a_queued_message_may_wait_be_moved_or_withdrawn_and_its_run_be_claimed_again() -> None:
    def waits(history: History) -> None:
        history.answers.append(queued("m1", 10.0, "run1"))
        history.hydrated = [loaded(queued={"m1": ""})]

    def moved(history: History) -> None:
        swapped(history)
        history.answers.append(answer("move", run_id="run2"))

    def withdrawn(history: History) -> None:
        history.answers.append(queued("m1", 10.0, "run1"))
        history.answers.append(answer("withdraw", 204, 11.0, run_id="run1"))

    def claimed_twice(history: History) -> None:
        history.answers.append(queued("m1", 10.0, "run1"))
        again = replace(HELD, run_id="run1")
        for number in (3, 5):
            history.claims += [
                ClaimChange(number, 13.0, 4, "t", None, again),
                ClaimChange(number + 1, 13.1, 5, "t", again, None),
            ]

    assert passes("an accepted message is in the thread", waits)
    assert passes("queued messages begin once and in order", waits)
    assert passes("queued messages begin once and in order", moved)
    assert passes("an accepted message is in the thread", withdrawn)
    assert passes("a thread's claims follow each other", claimed_twice)


def passes(check: str, plant: Plant) -> bool:
    history = well()
    plant(history)
    return not judge(history)[check]


def test_a_claim_may_be_taken_over_when_its_lease_is_over() -> None:
    assert passes("a claim is taken over only when its lease is over", taken)
    assert passes("a thread's claims follow each other", taken)


def test_a_deletion_may_take_the_claim_of_another_one_but_not_of_a_run() -> None:
    def taken_by(new: str, lease_until: float = 12.0) -> Plant:
        def plant(history: History) -> None:
            deletion = Claim("deletion-1", "deletion", "w1", lease_until)
            taker = Claim(f"{new}-2", new, "w2", 14.0)
            history.claims += [
                ClaimChange(3, 13.0, 4, "d", None, deletion),
                ClaimChange(4, 13.1, 5, "d", deletion, taker),
            ]

        return plant

    check = "a thread's claims follow each other"
    assert passes(check, taken_by("deletion"))
    assert not passes(check, taken_by("run"))
    when = "a claim is taken over only when its lease is over"
    assert passes(when, taken_by("deletion"))
    assert not passes(when, taken_by("deletion", lease_until=13.5))


def test_the_transaction_that_makes_or_ends_a_claim_may_write() -> None:
    made = replace(WRITE, transaction=1, claim=None)
    ended = replace(WRITE, transaction=3, claim=None)
    assert passes("who writes holds the claim", wrote(made))
    assert passes("who writes holds the claim", wrote(ended))


def test_a_message_that_was_refused_once_and_accepted_then_is_kept() -> None:
    def plant(history: History) -> None:
        refused = answer("post", 503, code="storage_busy", retry_after="5", message_id="msg_1")
        history.answers += [refused, answer("post", message_id="msg_1")]
        history.hydrated.append(loaded(is_last=True))

    for check in CHECKS:
        assert passes(check, plant), check


def test_a_cursor_may_be_lost_when_redis_was_flushed_or_the_thread_deleted() -> None:
    def flushed(history: History) -> None:
        followed("lost")(history)
        history.faults.append(Fault("FLUSHALL", "Redis", 11.0, 11.1, loses_logs=True))

    def killed(history: History) -> None:
        followed("lost")(history)
        history.faults.append(Fault("kill -9", "worker 1", 11.0, 11.1))

    def deleted(history: History) -> None:
        followed("lost")(history)
        history.answers.append(answer("delete", 204, 11.0))

    check = "a cursor is lost only with its log"
    assert passes(check, flushed)
    assert passes(check, deleted)
    assert not passes(check, killed)


def test_a_stream_that_only_tells_of_a_lost_cursor_needs_no_finish() -> None:
    assert passes("exactly one terminal event", read(*LOST, run_id="", after=4))


def test_a_stream_that_was_lost_has_not_come_to_its_runs_end() -> None:
    def plant(history: History) -> None:
        history.readings = [reading((*FRAMES[:3], *LOST))]
        busy = answer("post", 409, 13.5, code="run_in_progress", run_id="run")
        history.answers.append(busy)
        history.hydrated = [loaded(messages={})]

    assert passes("who has seen the end can post at once", plant)
    assert passes("what was streamed is in the thread", plant)


def test_a_deleted_thread_needs_not_show_what_was_said_in_it() -> None:
    def deleted(history: History) -> None:
        history.answers.append(answer("delete", 204, 13.5))
        history.hydrated = [loaded(messages=None)]

    def deleted_before(history: History) -> None:
        history.answers.append(answer("delete", 204, 8.0))
        history.hydrated = [loaded(messages=None)]

    assert passes("what was streamed is in the thread", deleted)
    assert not passes("what was streamed is in the thread", deleted_before)


def test_withdrawn_steps_need_not_be_in_the_thread() -> None:
    withdrawn: Json = {
        "type": "data",
        "data": [{"name": "step-withdrawn", "data": {"step_id": "s", "parts": [0]}}],
        "path": [],
    }
    events = (*EVENTS[:7], withdrawn, *EVENTS[7:])

    def plant(history: History) -> None:
        told = tuple(frame(number, event) for number, event in enumerate(events, start=1))
        history.readings = [reading(told)]
        history.hydrated = [loaded(messages={MESSAGE: PARTS[1:]})]

    assert passes("what was streamed is in the thread", plant)


UNSAVED: tuple[Json | None, ...] = (
    *EVENTS[:6],
    {"type": "result", "result": {"error": {"code": "run_ended"}}, "isError": True, "path": [1]},
    {"type": "error", "code": "storage_full", "path": []},
    *EVENTS[7:],
)


@pytest.mark.parametrize(("events", "is_excused"), [(UNSAVED, True), (EVENTS, False)])
def test_a_run_that_says_that_it_could_not_be_saved_needs_not_be_in_the_thread(
    events: tuple[Json | None, ...], is_excused: bool
) -> None:
    def plant(history: History) -> None:
        told = tuple(frame(number, event) for number, event in enumerate(events, start=1))
        history.readings = [reading(told)]
        history.hydrated = [loaded(messages={MESSAGE: ()})]

    assert passes("what was streamed is in the thread", plant) == is_excused
    assert passes("every published result is in the thread", plant) == is_excused


def test_results_of_a_run_whose_end_nobody_saw_are_asked_for_too() -> None:
    def plant(history: History) -> None:
        history.readings = [reading(FRAMES[:7], end="broken")]
        history.hydrated = [loaded(messages={MESSAGE: PARTS[:1]})]

    assert not passes("every published result is in the thread", plant)
