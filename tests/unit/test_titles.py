"""Titles that threads get by themselves, and what is made of a model's words for one."""

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from turnstream.server.extensions.titles.titles import cleaned
from turnstream.server.runs.first_words import changed_words
from turnstream.server.storage.titles import (
    FirstWords,
    is_first_title,
    numbered,
    one_line,
    short_title,
)


def test_the_first_words_are_a_title_of_one_line() -> None:
    assert short_title(" What is\n17 * 23? ") == "What is 17 * 23?"
    assert short_title("") == "New thread"
    assert short_title("x" * 61) == "x" * 59 + "…"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\0b\x1b[31m\x7f c\x85d", "ab[31m c d"),
        ("\u202etxt.exe\u202c \u2067x\u2069 \u200f\u061c", "txt.exe x"),
        ("soft\xadhyphen \u200b \ufeffend", "softhyphen end"),
        ("half \ud800 a pair", "half a pair"),
        ("👩\u200d👧 \u0645\u06cc\u200c\u062e", "👩\u200d👧 \u0645\u06cc\u200c\u062e"),
        ("☺\ufe0f 1\ufe0f\u20e3 \u0d36\u0d4d\u200d", "☺\ufe0f 1\ufe0f\u20e3 \u0d36\u0d4d\u200d"),
        ("ok\ufe0f\U000e0161\u200d a\u200cb \u3164", "ok ab"),
        ("a\xa0b\u3000c\u2800d\u115f", "a b cd"),
        ("\u200d \0", ""),
    ],
)
def test_a_title_keeps_what_is_seen_and_what_joins_it(text: str, line: str) -> None:
    assert one_line(text) == line
    assert short_title(text) == (line or "New thread")


@pytest.mark.parametrize("text", ["Hello", "Hello (2)", "x" * 100, ""])
def test_a_title_with_a_number_is_still_that_of_the_first_words(text: str) -> None:
    first = short_title(text)
    assert is_first_title(first, text)
    for number in (2, 10, 1234):
        assert is_first_title(numbered(first, number), text)
        assert len(numbered(first, number)) <= 60
    assert not is_first_title(f"{first} (x)", text)
    assert not is_first_title("Another", text)
    assert not is_first_title("Another (2)", text)


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("Times tables", "Times tables"),
        ('"Times tables."\n', "Times tables"),
        ("\n**Title: Times tables**\nand more", "Times tables"),
        ("# Einmaleins für Anfänger", "Einmaleins für Anfänger"),
        ("a\u202eb\u200bc\x00d", "abcd"),
        ("word " * 40, ("word " * 12)[:59].rstrip() + "…"),
        ("", ""),
        ('"" \n  ', ""),
    ],
)
def test_a_models_words_become_one_plain_line(said: str, title: str) -> None:
    assert cleaned(said) == title


def test_a_thread_begins_with_other_words_when_its_first_message_is_rewritten_or_removed() -> None:
    first, answer, second = HumanMessage("One"), AIMessage("Two"), HumanMessage("Three")
    thread: list[AnyMessage] = [first, answer, second]
    assert changed_words(thread, thread) is None
    assert changed_words([], [first]) is None
    assert changed_words(thread, [HumanMessage("1"), *thread[1:]]) == FirstWords("One", "1")
    assert changed_words(thread, [answer, second]) == FirstWords("One", "Three")
    assert changed_words(thread, [answer]) == FirstWords("One", "")


def test_a_summary_of_earlier_messages_leaves_the_title() -> None:
    summary = HumanMessage("Summary", additional_kwargs={"lc_source": "summarization"})
    thread: list[AnyMessage] = [HumanMessage("One"), AIMessage("Two"), HumanMessage("Three")]
    assert changed_words(thread, [summary, thread[2]]) is None
