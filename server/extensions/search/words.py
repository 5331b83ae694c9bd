"""The words of a text, as the search compares them: one rule for every database.

A word has neither case nor accents. Of scripts that set no blanks between words each character is
one; so is an emoji. All else is blank.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

MAX_WORD_CHARS = 64
"""Longer words are compared by so many characters."""
MAX_WORDS = 16
"""Different words that a search may have."""
MIN_BEGINNING = 2
"""Characters of a beginning of words; fewer are a whole word."""

_ALONE = (
    "\u0e01-\u0e30\u0e32-\u0e33\u0e40-\u0e4e\u0e81-\u0ede\u1000-\u109f\u1780-\u17dd"  # no blanks
    "\u3041-\u3096\u30a1-\u30fa\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9d"
    "\U00020000-\U0003ffff"
    "\u20a0-\u20cf\u2122\u2190-\u21ff\u2300-\u27bf\u2900-\u2bff\U0001f000-\U0001faff"  # signs
)
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1-\u05c5\u05c7\u0610-\u061a\u064b-\u065f"
    "\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0900-\u0963\u0966-\u096f\u0971-\u0dff"
)
_WORD = re.compile(f"[{_ALONE}]|(?:(?![{_ALONE}])[^\\W_]|[{_MARKS}])+")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_NOT_OF_A_WORD = re.compile(f"[^{_ALONE}{_MARKS}\\w]+|_+")


@dataclass(frozen=True, slots=True)
class Word:
    """As the search compares it, and where it stands in the text."""

    folded: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """The words of a search: a thread is found if it has all of them."""

    words: tuple[str, ...]
    beginning: str | None = None
    """The last word: others may begin with it. None: it is too short, and one of the `words`."""

    def has(self, folded: str) -> bool:
        is_begun = self.beginning is not None and folded.startswith(self.beginning)
        return is_begun or folded in self.words


def words_in(text: str) -> Iterator[Word]:
    for match in _WORD.finditer(text):
        folded = _folded(match[0])
        if folded:
            yield Word(folded, match.start(), match.end())


def distinct_words(text: str) -> list[str]:
    return [*dict.fromkeys(word.folded for word in words_in(text))]


def wanted(text: str) -> Wanted:
    """Parse a search: each word, and those that begin with the last one.

    Raises ValueError if there is no word in it, or more than MAX_WORDS.
    """
    found: Sequence[str] = [word.folded for word in words_in(text)]
    if not found:
        raise ValueError(f"it has no word; look for 1 to {MAX_WORDS} words")
    *whole, last = found
    is_ended = text[-1:].isspace() or len(last) < MIN_BEGINNING
    if len({*found}) > MAX_WORDS:
        raise ValueError(f"it has more than {MAX_WORDS} words; look for fewer")
    distinct = dict.fromkeys([*whole, last] if is_ended else whole)
    return Wanted(tuple(distinct), None if is_ended else last)


def owner_word(owner: str) -> str:
    """A word that no text has: it keeps what an owner looks for among the owner's texts."""
    return f"\ue000{sha256(owner.encode()).hexdigest()[:16]}"


def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()[:MAX_WORD_CHARS]
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", word)).casefold()
    return _NOT_OF_A_WORD.sub("", _ACCENTS.sub("", plain))[:MAX_WORD_CHARS]
