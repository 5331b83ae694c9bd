"""Bytes that are held at once, and their limit."""

import pytest

from server.http.byte_budget import ByteBudget
from server.http.problems import Problem


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
    budget = ByteBudget("MAX_RESPONSES_BYTES", 10, 5)
    budget.take(12, "ann")
    assert is_refused(budget, 1, "bob")
    assert not is_refused(budget, 0, "bob")
    budget.give_back(12, "ann")
    budget.take(7, "ann")
    assert is_refused(budget, 1, "ann")
    assert not is_refused(budget, 3, "bob")
