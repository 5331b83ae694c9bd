"""The place of a text where words were found, with these marked."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from turnstream.server.extensions.search.words import Wanted, Word, words_in

_BLANK = re.compile(r"\s")
EXCERPT_CHARS = 160
BEFORE_CHARS = 40
"""Characters of an excerpt ahead of the first word found."""

_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of text; pieces follow each other without a blank between them."""

    text: str
    is_match: bool = False


def marked(text: str, wanted: Wanted) -> tuple[Segment, ...]:
    """All of the text."""
    return tuple(_segments(text, 0, len(text), [w for w in words_in(text) if wanted.has(w.folded)]))


def excerpt(text: str, wanted: Wanted) -> tuple[Segment, ...]:
    """EXCERPT_CHARS of the text, where most of the words stand together. None of them is in it:
    its beginning."""
    words = [word for word in words_in(text) if wanted.has(word.folded)]
    start = _start(text, words)
    end = min(len(text), start + EXCERPT_CHARS)
    if end < len(text):
        blank = max(text.rfind(" ", start + EXCERPT_CHARS // 2, end), text.rfind("\n", start, end))
        end = blank if blank > start + EXCERPT_CHARS // 2 else end
    shown = [word for word in words if start <= word.start and word.end <= end]
    segments = [*_segments(text, start, end, shown)]
    before = [Segment("…")] if start else []
    return (*before, *segments, *([Segment("…")] if end < len(text) else []))


def _start(text: str, words: Sequence[Word]) -> int:
    """Return the beginning of the excerpt with the most different words; of several, the first."""
    best, most, last = 0, 0, 0
    inside = Counter[str]()
    for first, word in enumerate(words):
        while last < len(words) and words[last].end <= word.start + EXCERPT_CHARS - BEFORE_CHARS:
            inside[words[last].folded] += 1
            last += 1
        if len(inside) > most:
            best, most = word.start, len(inside)
        if last == first:  # It is longer than an excerpt.
            last += 1
        elif inside[word.folded] > 1:
            inside[word.folded] -= 1
        else:
            del inside[word.folded]
    start = max(0, best - BEFORE_CHARS)
    if start:
        blank = _BLANK.search(text, start, best)
        start = blank.end() if blank else best
    return start


def _segments(text: str, start: int, end: int, found: Sequence[Word]) -> Iterator[Segment]:
    at = start
    for first, last in _joined(found):
        if first > at:
            yield _segment(text[at:first], is_match=False)
        yield _segment(text[first:last], is_match=True)
        at = last
    if at < end:
        yield _segment(text[at:end], is_match=False)


def _joined(found: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """Words that touch each other are one place."""
    place: tuple[int, int] | None = None
    for word in found:
        if place and word.start == place[1]:
            place = (place[0], word.end)
            continue
        if place:
            yield place
        place = (word.start, word.end)
    if place:
        yield place


def _segment(text: str, *, is_match: bool) -> Segment:
    return Segment(_BLANKS.sub(" ", text), is_match)
