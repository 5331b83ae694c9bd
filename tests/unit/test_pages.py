"""Pages of a thread: one behind the other they are the whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnstream.server.turns.pages import WHOLE, TurnPage
from turnstream.server.turns.requests import InvalidRequest


@given(st.integers(0, 30), st.integers(1, 10))
def test_pages_from_the_newest_to_the_oldest_are_the_whole(count: int, limit: int) -> None:
    ids = [f"m{number}" for number in range(count)]
    page, read = TurnPage(limit).of(ids), list[str]()
    while True:
        assert len(page) <= limit
        read = [*ids[page.start : page.stop], *read]
        if page.start == 0:
            break
        page = TurnPage(limit, before=ids[page.start]).of(ids)
    assert read == ids


def test_without_a_limit_a_page_reaches_to_the_beginning() -> None:
    assert WHOLE.of(["a", "b"]) == range(2)
    assert TurnPage(before="b").of(["a", "b"]) == range(1)


def test_nothing_stands_before_the_first_message() -> None:
    assert not TurnPage(5, before="a").of(["a", "b"])


@pytest.mark.parametrize("ids", [[], ["a"]])
def test_a_page_before_an_unknown_message_is_refused(ids: list[str]) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        TurnPage(5, before="x" * 1000).of(ids)
    assert (refusal.value.status, refusal.value.code) == (409, "unknown_message")
    assert len(refusal.value.message) < 300
