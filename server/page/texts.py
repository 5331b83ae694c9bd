"""The page's texts in another language: a JSON file in the form of `static/dist/texts.json`, which
has the English ones. Sentences of the server about a problem have its code as their key."""

import json
import logging
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from html import escape
from pathlib import Path

from turnstream.server.page import PageError
from turnstream.server.runs.failures import SENTENCES
from turnstream.server.turns.problem_codes import ALL

logger = logging.getLogger(__name__)

Text = str | Mapping[str, str]
"""A text; one with a number has a form for each category of plurals that its language has."""
ENGLISH = Path(__file__).parent.parent.parent / "static" / "dist" / "texts.json"
PROBLEM_KEYS = frozenset(f"problem.{code}" for code in {one.code for one in ALL} | SENTENCES.keys())
CATEGORIES = ("zero", "one", "two", "few", "many", "other")
"""Plural forms of Unicode's CLDR, as `Intl.PluralRules` names them."""
RIGHT_TO_LEFT = ("ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi")
RIGHT_TO_LEFT_SCRIPTS = ("Adlm", "Arab", "Hebr", "Nkoo", "Rohg", "Syrc", "Thaa")
_VALUE = re.compile(r"\{(\w+)\}")
_ATTRIBUTE = re.compile(r'(\b(?:aria-label|title|placeholder)=")([^"]*)(?=")')
_BETWEEN = re.compile(r"(>)([^<>]*)(?=<)")


def read_texts(path: Path) -> Mapping[str, Text]:
    """Read a catalogue; the log names texts that the page does not have. Raises PageError."""
    try:
        texts = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise PageError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise PageError(f"{path} is not JSON: {error}") from None
    if not isinstance(texts, dict):
        raise PageError(f"{path} is not a JSON object of texts")
    english = json.loads(ENGLISH.read_text("utf-8"))
    for key in texts.keys() & english.keys():
        if fault := _fault(texts[key], english[key]):
            raise PageError(f"{path}: {key!r} {fault}")
    for key in texts.keys() & PROBLEM_KEYS:
        if not isinstance(texts[key], str):
            raise PageError(f"{path}: {key!r} should be a string")
    known = english.keys() | PROBLEM_KEYS
    unknown = [key for key in texts if key not in known]
    if unknown:
        meant = get_close_matches(unknown[0], known, 1)
        told = {
            "path": path,
            "texts": ", ".join(map(repr, unknown[:10])),
            "near": f"; is {meant[0]!r} meant by the first?" if meant else "",
        }
        logger.warning("%(path)s: the page has no text %(texts)s%(near)s", told)
    return {key: text for key, text in texts.items() if key not in unknown}


def _fault(text: object, english: Text) -> str:
    """Return the fault of a translation; empty: it has none."""
    if isinstance(english, str):
        if not isinstance(text, str):
            return "should be a string"
        return _unknown_value([text], [english])
    if not isinstance(text, dict) or "other" not in text:
        return 'should be an object of plural forms, with "other" among them'
    if other := [form for form in text if form not in CATEGORIES]:
        return f"has the form {other[0]!r}; there are: {', '.join(CATEGORIES)}"
    if not all(isinstance(form, str) for form in text.values()):
        return "should have strings as its forms"
    return _unknown_value(text.values(), english.values())


def _unknown_value(texts: Iterable[str], english: Iterable[str]) -> str:
    known = {name for text in english for name in _VALUE.findall(text)}
    wrong = [name for text in texts for name in _VALUE.findall(text) if name not in known]
    return f"has {{{wrong[0]}}}, which stands for nothing" if wrong else ""


def direction(locale: str) -> str:
    """The direction in which a language is written, by its script if the tag names one."""
    language, *further = locale.split("-")
    script = next((each.title() for each in further[:1] if len(each) == 4 and each.isalpha()), None)
    is_leftward = script in RIGHT_TO_LEFT_SCRIPTS if script else language in RIGHT_TO_LEFT
    return "rtl" if is_leftward else "ltr"


def translated(index: str, texts: Mapping[str, Text]) -> str:
    """Translate the texts of index.html."""

    def put(found: re.Match[str]) -> str:
        text = texts.get(" ".join(found[2].split()))
        return f"{found[1]}{escape(text) if isinstance(text, str) else found[2]}"

    return _BETWEEN.sub(put, _ATTRIBUTE.sub(put, index))
