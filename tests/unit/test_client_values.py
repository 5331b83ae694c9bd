"""What counts as a change of the state that a client posts back."""

from typing import Any

import pytest

from turnstream.server.runs.client_values import is_changed

NEAR = 12345678901234567000
"""2**53 and more: a browser reads this number as it reads the one below."""


@pytest.mark.parametrize(
    ("posted", "before"),
    [
        ([{"a": 1, "b": None}], [{"b": None, "a": 1}]),
        ({"id": NEAR}, {"id": NEAR + 1}),
        ([1], [1.0]),
        ({"hidden": True}, [1, 2]),
        (None, None),
    ],
)
def test_what_a_browser_posts_back_as_it_got_it_is_no_change(posted: Any, before: Any) -> None:
    assert not is_changed(posted, before)


@pytest.mark.parametrize(
    ("posted", "before"),
    [([1, 2], [1]), ([1], [2]), ({"a": 1}, {}), ({}, {"a": 1}), (True, 1), (0, False), ("1", 1)],
)
def test_anything_else_is_a_change(posted: Any, before: Any) -> None:
    assert is_changed(posted, before)
