"""Reasoning between tags, however the text comes."""

import random
from itertools import pairwise

import pytest

from turnstream.graphs.think_tags import ThinkTags


def split(*deltas: str) -> tuple[str, str]:
    tags, thoughts, texts = ThinkTags(), list[str](), list[str]()
    for thought, text in (*map(tags.split, deltas), tags.rest()):
        thoughts.append(thought)
        texts.append(text)
    return "".join(thoughts), "".join(texts)


@pytest.mark.parametrize(
    ("message", "thought", "text"),
    [
        ("It is 42.", "", "It is 42."),
        ("<think>6 * 7</think>\n\nIt is 42.", "6 * 7", "It is 42."),
        ("\n<think>\n6 * 7\n</think>It is 42.", "6 * 7\n", "It is 42."),
        ("<thinking>a < b</thinking>yes", "a < b", "yes"),
        ("[THINK]hm[/THINK]yes", "hm", "yes"),
        ("<think></think>yes", "", "yes"),
        ("<think>cut off </thi", "cut off </thi", ""),
        ("<thin", "", "<thin"),
        ("  ", "", "  "),
        ("", "", ""),
        ("The tag <think> opens it.</think>", "", "The tag <think> opens it.</think>"),
        ("<think>a</think>b<think>c</think>", "a", "b<think>c</think>"),
        ("<thinker>no</thinker>", "", "<thinker>no</thinker>"),
        ("<think>a</thinking></think>b", "a</thinking>", "b"),
    ],
)
def test_a_message_splits_the_same_however_it_comes(message: str, thought: str, text: str) -> None:
    assert split(message) == (thought, text)
    assert split(*message) == (thought, text)
    chance = random.Random(message)
    for _ in range(50):
        cuts = sorted(chance.randrange(len(message) + 1) for _ in range(3))
        edges = [0, *cuts, len(message)]
        pieces = [message[a:b] for a, b in pairwise(edges)]
        assert split(*pieces) == (thought, text)


def test_text_is_given_on_as_soon_as_it_can_be_no_tag() -> None:
    tags = ThinkTags()
    assert tags.split("<t") == ("", "")
    assert tags.split("able>") == ("", "<table>")
    assert tags.is_done


def test_blanks_without_end_are_held_at_the_cost_of_their_size() -> None:
    tags = ThinkTags()
    for _ in range(3):
        assert tags.split(" ") == ("", "")
    assert tags.rest() == ("", "   ")
    for _ in range(200):
        tags.split(" ")
    assert tags.is_done
