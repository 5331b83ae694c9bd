"""How many values JSON text has, counted before it is read."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnstream.tools.json_size import ValueCount, is_larger

words = st.text(alphabet='a"\\,:[{é\n', max_size=6)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=20,
)


@given(json_values, st.lists(st.integers(0, 200), max_size=5), st.booleans())
def test_the_count_is_that_of_the_values_however_the_text_is_cut(
    value: Any, places: list[int], ascii: bool
) -> None:
    text = json.dumps(value, ensure_ascii=ascii).encode()
    ends = [0, *sorted(place for place in places if place < len(text)), len(text)]
    counted = ValueCount()
    for start, end in pairwise(ends):
        counted.feed(text[start:end])
    tokens = sum(json.dumps(strip(value)).count(mark) for mark in ",:[{")
    assert counted.count == 1 + tokens


def strip(value: Any) -> Any:
    """The value with nothing in its strings, and as many members."""
    if isinstance(value, dict):
        return {str(number): strip(item) for number, item in enumerate(value.values())}
    if isinstance(value, list):
        return [strip(item) for item in value]
    return "" if isinstance(value, str) else value


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 1),
        ("1", 1),
        ("[]", 2),
        ("[1,2,3]", 4),
        ('{"a":1,"b":[2]}', 6),
        (r'"\",[{:"', 1),
        (r'["\\",1]', 3),
        (r'["\\\",1"]', 2),
    ],
)
def test_what_stands_in_strings_does_not_count(text: str, count: int) -> None:
    counted = ValueCount()
    counted.feed(text.encode())
    assert counted.count == count


@pytest.mark.parametrize(
    ("value", "larger"),
    [
        ("x" * 100, False),
        ("x" * 101, True),
        ({"x" * 101: 1}, True),
        ([0] * 9, False),
        ([0] * 10, True),
        ({str(number): [] for number in range(5)}, True),
        ([["x" * 50], {"a": "x" * 51}], True),
    ],
)
def test_a_value_is_larger_by_its_text_or_by_its_values(value: Any, larger: bool) -> None:
    assert is_larger(value, 100, 10) == larger
