"""Sentences of other programs, as far as they are read: where no type, status or field of an error
says what it is.

This is the one place that reads them. A state that an error names in another way too is recognised
by that: in `server/runs/failures.py` by its type, its status and the name that a provider gives it,
in `refused_options` by a field. A sentence that its program changes makes the error a more general
one, and `tests/unit/test_foreign_sentences.py` fails with the package that has changed it.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

WORD = re.compile(r"\w+")
State = Literal["content_filter", "model_key_missing"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence within the text of an exception of this class."""

    kind: str
    """The package and the class."""
    said: re.Pattern[str]
    is_of_server: bool = False
    """True if it is the answer of a server, which has a status."""


SENTENCES: Mapping[State, Sequence[Sentence]] = {
    # Anthropic calls it `invalid_request_error`, as it calls all that it refuses.
    "content_filter": (
        Sentence(
            "anthropic.APIStatusError",
            re.compile("blocked by content filtering policy"),
            is_of_server=True,
        ),
    ),
    # The clients raise these before there is a request, OpenAI's and Google's when they are made.
    "model_key_missing": (
        Sentence(
            "openai.OpenAIError",
            re.compile("Missing credentials|api_key client option must be set"),
        ),
        Sentence("builtins.TypeError", re.compile("Could not resolve authentication method")),
        Sentence("builtins.ValueError", re.compile("API key required")),
    ),
}


def state_of(cause: BaseException) -> State | None:
    """Return the state that the sentence of an exception, or of one behind it, tells."""
    causes = [one for one in (cause, cause.__cause__, cause.__context__) if one is not None]
    for state, sentences in SENTENCES.items():
        if any(_says(one, sentence) for one in causes for sentence in sentences):
            return state
    return None


def _says(cause: BaseException, sentence: Sentence) -> bool:
    kinds = (f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(cause).__mro__)
    has_status = isinstance(getattr(cause, "status_code", None), int)
    return (
        has_status == sentence.is_of_server
        and sentence.kind in kinds
        and sentence.said.search(str(cause)) is not None
    )


def refused_options(error: Any, options: Collection[str]) -> set[str]:
    """Return those of these options of a request that its refusal, an `openai.APIStatusError`,
    names: OpenAI in `param`, servers made with FastAPI in `detail`. Of a server that fills neither
    it is the option whose name stands in the sentence."""
    fields = {*_names_in(error.param), *_names_in_detail(error.body)}
    if fields:
        return fields & {*options}
    text = str(error)
    return {name for name in options if name in text}


def _names_in(param: Any) -> list[str]:
    found = WORD.search(param) if isinstance(param, str) else None
    return [found.group()] if found else []


def _names_in_detail(body: Any) -> list[str]:
    detail = body.get("detail") if isinstance(body, dict) else None
    faults = detail if isinstance(detail, list) else ()
    places = [fault.get("loc") for fault in faults if isinstance(fault, dict)]
    return [name for place in places if isinstance(place, list) for name in place[1:2]]
