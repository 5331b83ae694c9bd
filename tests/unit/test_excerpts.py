"""The place of a text where words were found."""

from hypothesis import given
from hypothesis import strategies as st

from turnstream.server.extensions.search.excerpts import (
    BEFORE_CHARS,
    EXCERPT_CHARS,
    Segment,
    excerpt,
    marked,
)
from turnstream.server.extensions.search.words import wanted, words_in

WORDS = st.lists(st.sampled_from(["rain", "Spain", "falls", "on", "x" * 130, "x" * 30, ".\n"]))


def shown(segments: tuple[Segment, ...]) -> str:
    return "".join(f"[{one.text}]" if one.is_match else one.text for one in segments)


def test_the_words_of_a_title_are_marked() -> None:
    assert shown(marked("Raincoats in  Spain", wanted("spain rain"))) == "[Raincoats] in [Spain]"


def test_an_excerpt_is_where_most_of_the_words_stand_together() -> None:
    text = "rain. " + "word " * 60 + "the rain in Spain" + " word" * 60
    there = shown(excerpt(text, wanted("rain spain")))
    assert there.startswith("…word")
    assert " word the [rain] in [Spain] word " in there


def test_a_text_without_the_words_is_shown_from_its_beginning() -> None:
    assert shown(excerpt("a b " * 100, wanted("rain"))) == "a b " * 39 + "a b…"


@given(WORDS)
def test_no_other_place_has_more_of_the_words(given: list[str]) -> None:
    text, looked_for = " ".join(given), wanted("x rain spain falls x" + "x" * 20)
    found = [word for word in words_in(text) if looked_for.has(word.folded)]
    room = EXCERPT_CHARS - BEFORE_CHARS
    most = max(
        (
            len({o.folded for o in found[n:] if o.end <= word.start + room})
            for n, word in enumerate(found)
        ),
        default=0,
    )
    there = shown(excerpt(text, looked_for))
    assert len({one.casefold() for one in _marks(there)}) >= most


def _marks(text: str) -> list[str]:
    return [piece.partition("]")[0] for piece in text.split("[")[1:]]
