"""Titles of threads; of those that threads get by themselves no owner has two that are the same."""

import re
from dataclasses import dataclass

TITLE_CHARS = 60

_NUMBER = re.compile(r" \(([1-9][0-9]{0,8})\)$")
_UNSEEN = (
    "[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2"
    "\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ud800-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U00013441\U00013442\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U0010ffff]"
)
"""Characters that are not seen, turn the text around them, or cannot be stored. The page shows the
same ones as escapes (`static/js/unseen.js`)."""
_EMOJI = "[\xa9\xae\u203c-\u27bf\u2934-\u3299\U0001f000-\U0001faff]"
_SPELLED = (
    f"(?<={_EMOJI})\ufe0f|(?<=[0-9#*])\ufe0f(?=\u20e3)|(?:(?<={_EMOJI})|(?<=\ufe0f))\u200d(?={_EMOJI})"
    "|(?<=[\u0620-\u06ff])\u200c(?=[\u0620-\u06ff])"
    "|(?<=[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca])[\u200c\u200d]"
)
"""Selectors and joiners that are part of emoji, of Persian words, of words in scripts of India."""
_LEFT_OUT = re.compile(f"(?P<spelled>{_SPELLED})|{_UNSEEN}+")


@dataclass(frozen=True, slots=True)
class FirstWords:
    """The words that a thread began with until now, and those that it begins with from now on."""

    before: str
    after: str

    def undone(self) -> "FirstWords":
        return FirstWords(self.after, self.before)


def one_line(text: str) -> str:
    """The text on one line, of what can be seen; it may be empty."""
    words = (_LEFT_OUT.sub(lambda found: found["spelled"] or "", word) for word in text.split())
    return " ".join(filter(None, words))


def short_title(text: str) -> str:
    """The first words of a message, on one line, 60 characters at most."""
    return _cut(one_line(text) or "New thread", TITLE_CHARS)


def is_first_title(title: str, text: str) -> bool:
    """Check that a thread which begins with this message got the title by itself."""
    number = _NUMBER.search(title)
    first = short_title(text)
    return title == first or bool(number and title == numbered(first, int(number[1])))


def numbered(title: str, number: int) -> str:
    suffix = f" ({number})"
    return _cut(title, TITLE_CHARS - len(suffix)) + suffix


def _cut(line: str, most: int) -> str:
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
