"""Titles of threads; of those that threads get by themselves no owner has two that are the same."""

import re

TITLE_CHARS = 60

_NUMBER = re.compile(r" \(([1-9][0-9]{0,8})\)$")
_UNSEEN = re.compile(
    "[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ufeff\U000e0000-\U000e007f\ud800-\udfff]+"
)
"""What is not seen, turns the text around it, or cannot be stored."""
_JOINERS = "\u200c\u200d"
"""They stay: they are a part of words and of emoji."""


def one_line(text: str) -> str:
    """The text on one line, of what can be seen; it may be empty."""
    words = (_UNSEEN.sub("", word) for word in text.split())
    return " ".join(word for word in words if word.strip(_JOINERS))


def short_title(text: str) -> str:
    """The first words of a message, on one line, 60 characters at most."""
    return _cut(one_line(text) or "New thread", TITLE_CHARS)


def is_first_title(title: str, text: str) -> bool:
    """Whether a thread that begins with this message has got the title by itself."""
    number = _NUMBER.search(title)
    first = short_title(text)
    return title == first or bool(number and title == numbered(first, int(number[1])))


def numbered(title: str, number: int) -> str:
    suffix = f" ({number})"
    return _cut(title, TITLE_CHARS - len(suffix)) + suffix


def _cut(line: str, most: int) -> str:
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
