"""The titles that threads get by themselves: no two threads of an owner get the same."""

import re

TITLE_CHARS = 60

_NUMBER = re.compile(r" \(([1-9][0-9]{0,8})\)$")


def short_title(text: str) -> str:
    """The first words of a message, on one line, 60 characters at most."""
    return _cut(" ".join(text.split()) or "New thread", TITLE_CHARS)


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
