"""JSON by the book: what cannot be written, read or stored is refused with a ValueError."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnstream.tools import strict_json

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


ABYSS = "[" * 100_000
SAYS_WHY = r"\w+ \w+"


@given(json_values)
def test_what_is_written_is_one_line_that_every_reader_reads_back(value: Any) -> None:
    text = strict_json.write(value)
    assert "\n" not in text
    assert "\r" not in text
    assert strict_json.read(text) == value
    assert strict_json.read(text.encode()) == value
    assert strict_json.read_storable(text) == value
    assert json.loads(strict_json.text_of(value)) == value


def test_what_is_written_is_compact_and_in_its_own_characters() -> None:
    assert strict_json.write({"a": [1, 2.5, None], "ü": "日本"}) == '{"a":[1,2.5,null],"ü":"日本"}'
    assert strict_json.text_of({"a": [1], "ü": "日本"}) == '{"a":[1],"ü":"日本"}'


def circle() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "value",
    [
        *(float("nan"), float("inf"), float("-inf"), {"a": [float("nan")]}),
        *(object(), {"a": b"bytes"}, {1, 2}, {(1, 2): 3}),
        *(nested(100_000), circle()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_json_is_not_written(value: Any) -> None:
    with pytest.raises(ValueError, match=SAYS_WHY):
        strict_json.write(value)
    with pytest.raises(ValueError, match=SAYS_WHY):
        strict_json.copy(value)


BAD = ["", "{bad", "{} {}", "[1,]", "NaN", '{"a": Infinity}', "[-Infinity]", "\ufeff1", ABYSS]


@pytest.mark.parametrize("read", [strict_json.read, strict_json.read_storable])
@pytest.mark.parametrize("text", BAD, ids=lambda text: text[:15])
def test_text_that_is_no_json_is_not_read(read: Callable[[str], Any], text: str) -> None:
    with pytest.raises(ValueError, match=SAYS_WHY):
        read(text)
    assert strict_json.read_object(text) is None
    assert strict_json.read_storable_object(text) is None


def test_bytes_are_utf_8() -> None:
    assert strict_json.read('"日本"'.encode()) == "日本"
    for other in ("utf-16", "latin-1"):
        with pytest.raises(ValueError, match="utf-8"):
            strict_json.read('"ünïcode"'.encode(other))
    assert strict_json.read_object(b"\xff") is None


def test_what_is_too_deep_is_named_so() -> None:
    for fail in (
        lambda: strict_json.read(ABYSS),
        lambda: strict_json.read_storable(ABYSS),
        lambda: strict_json.write(nested(100_000)),
    ):
        with pytest.raises(strict_json.TooDeepError):
            fail()


def test_a_constant_that_is_no_number_is_named_or_handed_over() -> None:
    with pytest.raises(ValueError, match="-Infinity is not a JSON number"):
        strict_json.read("[-Infinity]")
    assert strict_json.read("[NaN, Infinity]", constant=str) == ["NaN", "Infinity"]


@pytest.mark.parametrize("text", ["[1]", "1", "null", '"{}"', "true"])
def test_only_an_object_is_read_as_an_object(text: str) -> None:
    assert strict_json.read_object(text) is None
    assert strict_json.read_storable_object(text) is None
    assert strict_json.read_object(f'{{"a": {text}}}') == {"a": json.loads(text)}
    assert strict_json.read_storable_object(f'{{"a": {text}}}') == {"a": json.loads(text)}


@pytest.mark.parametrize("number", [2**64 - 1, -(2**63), 2**64, -(2**63) - 1, 10**300])
def test_an_integer_that_no_checkpoint_holds_is_read_as_a_float(number: int) -> None:
    value = strict_json.read_storable(str(number))
    fits = -(2**63) <= number < 2**64
    assert type(value) is (int if fits else float)
    assert value == (number if fits else float(number))


@pytest.mark.parametrize(
    "text", ["1e999", "9" * 400, "9" * 5000, '"\\ud800"', '{"\\udfff": 1}', '"\ud83d"']
)
def test_what_no_checkpoint_holds_is_not_read_to_be_stored(text: str) -> None:
    with pytest.raises(ValueError, match=SAYS_WHY):
        strict_json.read_storable(text)


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_a_value_to_be_stored_has_so_many_levels_and_no_more(opening: str) -> None:
    closing = "]" if opening == "[" else "}"

    def text(depth: int) -> str:
        return opening * depth + "1" + closing * depth

    most = strict_json.MAX_DEPTH
    assert strict_json.read_storable(text(most)) == json.loads(text(most))
    with pytest.raises(ValueError, match=f"deeper than {most} levels"):
        strict_json.read_storable(text(most + 1))
    assert strict_json.read(text(most + 1)) == json.loads(text(most + 1))


def test_a_copy_is_plain_data_that_shares_nothing() -> None:
    value = {"a": [1, {"b": (2, 3)}]}
    copied = strict_json.copy(value)
    assert copied == {"a": [1, {"b": [2, 3]}]}
    copied["a"].append(4)
    assert value == {"a": [1, {"b": (2, 3)}]}


def test_the_text_of_nan_is_one_that_a_strict_reader_refuses() -> None:
    text = strict_json.text_of({"a": float("nan")})
    assert text == '{"a":NaN}'
    assert strict_json.read_object(text) is None


def test_lone_surrogates_are_replaced_and_all_else_is_kept() -> None:
    assert strict_json.clean_text("a\ud800b \u00e9 \U0001f600") == "a\ufffdb \u00e9 \U0001f600"


@given(st.text(st.characters(codec=None)))
def test_clean_text_is_of_the_same_length_and_can_be_sent(text: str) -> None:
    cleaned = strict_json.clean_text(text)
    assert len(cleaned) == len(text)
    cleaned.encode()
    assert all(
        new == old or (new == "\ufffd" and "\ud800" <= old <= "\udfff")
        for new, old in zip(cleaned, text, strict=True)
    )


def test_a_number_of_very_many_digits_is_refused_before_it_is_read() -> None:
    assert strict_json.read("9" * 400) == 10**400 - 1
    with pytest.raises(ValueError, match="too many digits"):
        strict_json.read("9" * 401)
    with pytest.raises(ValueError, match="JSON"):
        strict_json.read_storable("9" * 401)
