"""The order of messages that the strictest servers demand."""

import random
from typing import Any

import pytest

from tests.support.endpoint.mistral_rules import mistral_refusal
from turnstream.graphs.strict_order import in_strict_order, is_strict, short_id

USER, MODEL = {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}


def calling(*ids: str) -> list[dict[str, Any]]:
    calls = [{"id": id, "type": "function", "function": {"name": "f"}} for id in ids]
    answers = [{"role": "tool", "tool_call_id": id, "content": "1"} for id in ids]
    return [{"role": "assistant", "content": "", "tool_calls": calls}, *answers]


@pytest.mark.parametrize("seed", range(200))
def test_any_history_becomes_one_that_is_taken_and_stays_so(seed: int) -> None:
    chance = random.Random(seed)
    pieces = [[USER], [MODEL], calling("call_1"), calling("abcdefgh1", "x" * 200)]
    history: list[dict[str, Any]] = [{"role": "system", "content": "s"}]
    for _ in range(chance.randrange(8)):
        history += chance.choice(pieces)
    ordered = in_strict_order(history)
    assert mistral_refusal({"messages": ordered}) is None
    assert in_strict_order(ordered) == ordered


def test_what_two_messages_say_is_said_in_one() -> None:
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}
    (joined,) = in_strict_order([USER, image])
    assert [block["type"] for block in joined["content"]] == ["text", "image_url"]
    (same,) = in_strict_order([USER, USER])
    assert same["content"] == "a\n\na"


def test_a_history_in_order_is_left_as_it_is() -> None:
    history = [USER, *calling("abcdefgh1"), MODEL, USER]
    assert in_strict_order(history) == history


def test_short_ids_are_the_same_each_time_and_differ() -> None:
    ids = {short_id(f"call_{number}") for number in range(10_000)}
    assert len(ids) == 10_000
    assert short_id("abcdefgh1") == "abcdefgh1"
    assert all(len(id) == 9 and id.isalnum() and id.isascii() for id in ids)


@pytest.mark.parametrize(
    "name", ["mistral-small-latest", "mistralai/Ministral-8B", "codestral", "Devstral-2", "pixtral"]
)
def test_strict_models_are_known_by_their_names(name: str) -> None:
    assert is_strict(name)
    assert not is_strict("gpt-5")
