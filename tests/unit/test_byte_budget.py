"""Bytes that are held at once, and their limit."""

import pytest

from turnstream.server.http.byte_budget import ByteBudget, Share, callers_budget
from turnstream.server.http.problems import Problem


def is_refused(budget: ByteBudget, count: int, holder: str = "") -> bool:
    try:
        budget.take(count, holder)
    except Problem:
        return True
    return False


def test_room_that_is_given_back_can_be_taken_again() -> None:
    budget = ByteBudget("MAX_BODIES_BYTES", 10)
    budget.take(6)
    assert is_refused(budget, 5)
    assert not is_refused(budget, 4)
    budget.give_back(6)
    assert not is_refused(budget, 6)
    assert budget.held == 10


def test_a_refusal_holds_nothing() -> None:
    budget = ByteBudget("MAX_BODIES_BYTES", 10)
    with budget.holding(9):
        with pytest.raises(Problem) as refusal:
            budget.take(2)
        assert (refusal.value.status, refusal.value.code) == (503, "limit_reached")
    assert budget.held == 0


def test_what_is_larger_than_all_room_is_taken_when_nothing_else_is_held() -> None:
    budget = ByteBudget("MAX_RESPONSES_BYTES", 10, each=Share("Each caller", 5))
    budget.take(12, "ann")
    assert is_refused(budget, 1, "bob")
    assert not is_refused(budget, 0, "bob")
    budget.give_back(12, "ann")
    budget.take(7, "ann")
    assert is_refused(budget, 1, "ann")
    assert not is_refused(budget, 3, "bob")


def test_a_caller_has_an_eighth_of_the_room_and_all_of_it_if_nobody_is_known() -> None:
    known = callers_budget("MAX_RESPONSES_BYTES", 80, are_known=True)
    for number in range(8):
        known.take(10, f"caller{number}")
        assert is_refused(known, 1, f"caller{number}")
    unknown = callers_budget("MAX_RESPONSES_BYTES", 80, are_known=False)
    for _ in range(8):
        unknown.take(10, "local")
    assert is_refused(unknown, 1, "local")


def test_what_cannot_be_refused_is_counted() -> None:
    budget = ByteBudget("MAX_RESPONSES_BYTES", 10)
    with budget.holding(9), budget.holding(9, is_refusable=False):
        assert (budget.held, is_refused(budget, 1)) == (18, True)
    assert budget.held == 0


@pytest.mark.parametrize(
    ("held_by", "detail"),
    [
        ({"ann": 4}, "Each caller may use at once 5 bytes of TURNSTREAM_MAX_BODIES_BYTES, 100."),
        ({"bob": 9}, "All of them may use at once 10 bytes of TURNSTREAM_MAX_BODIES_BYTES, 100."),
    ],
)
def test_a_refusal_names_the_limit_that_was_reached(held_by: dict[str, int], detail: str) -> None:
    part, each = Share("All of them", 10), Share("Each caller", 5)
    budget = ByteBudget("MAX_BODIES_BYTES", 100, part=part, each=each)
    for holder, count in held_by.items():
        budget.take(count, holder)
    with pytest.raises(Problem) as refusal:
        budget.take(2, "ann")
    assert refusal.value.detail == f"{detail} Try again in a moment."
