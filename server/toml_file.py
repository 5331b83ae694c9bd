"""A TOML file that a setting names: its content as a model, and one sentence with the line of each
fault."""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

_WORD = re.compile(r'"([^"]*)"|\'([^\']*)\'|([A-Za-z0-9_-]+)')
_EXPECTED = {
    "tuple_type": "should be a list",
    "string_type": "should be a string",
    "string_too_short": "should not be empty",
    "int_type": "should be a whole number",
    "int_from_float": "should be a whole number",
    "greater_than": "should be greater than 0",
    "mapping_type": "should be a table",
    "dict_type": "should be a table",
    "model_type": "should be a table",
    "model_attributes_type": "should be a table",
}
"""By pydantic's name of a fault."""

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class TomlFile(Generic[Model]):
    """A file that was read."""

    path: Path
    text: str
    content: Model

    def fault(self, place: Sequence[str | int], what: str) -> str:
        """A sentence about a key, with its line."""
        return _sentence(self.path, self.text, place, what)


def read_toml(
    path: Path, model: type[Model], refusal: type[Exception], setting: str
) -> TomlFile[Model]:
    """Read the file that a setting names. Raises `refusal` with one sentence.

    A ValueError of the model's validators is taken for the whole of what is wrong; the description
    of a field says what to do if the field is missing.
    """
    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text)
    except OSError as error:
        raise refusal(f"{setting}: {path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise refusal(f"{path.name}: the file is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise refusal(f"{path.name}: {error}") from None
    try:
        return TomlFile(path, text, model.model_validate(content))
    except ValidationError as error:
        faults = [_explained(model, fault) for fault in error.errors(include_url=False)]
        place, what = min(faults, key=lambda fault: line_of(text, fault[0]))
        raise refusal(_sentence(path, text, place, what)) from None


def _sentence(path: Path, text: str, place: Sequence[str | int], what: str) -> str:
    named = ".".join(str(step) for step in place if isinstance(step, str))
    return f"{path.name}, line {line_of(text, place)}: {named}: {what}"


def _explained(model: type[BaseModel], fault: Any) -> tuple[Sequence[str | int], str]:
    """The place of a fault that pydantic found, and what is wrong there."""
    place = [step for step in fault["loc"] if step != "[key]"]
    match fault["type"]:
        case "extra_forbidden":
            section = _section(model, place[:-1])
            return place, f"unknown key{near(str(place[-1]), section.model_fields)}"
        case "missing":
            field = _section(model, place[:-1]).model_fields[str(place[-1])]
            return place, f"missing; {field.description}" if field.description else "missing"
        case "value_error":
            return place, str(fault["ctx"]["error"])
        case "literal_error":
            return place, f"{fault['input']!r} should be {fault['ctx']['expected']}"
    expected = _EXPECTED.get(fault["type"]) or str(fault["msg"])
    return place, f"{expected}, not {_shown(fault['input'])}"


def _section(kind: Any, place: Sequence[str | int]) -> type[BaseModel]:
    """The model of the table at a place."""
    if place and isinstance(kind, type) and issubclass(kind, BaseModel):
        return _section(kind.model_fields[str(place[0])].annotation, place[1:])
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind
    origin, inner = get_origin(kind), [each for each in get_args(kind) if each is not type(None)]
    # Of a mapping the values; an optional table is the table itself.
    is_container = isinstance(origin, type) and issubclass(origin, Iterable)
    return _section(
        inner[-1 if is_container and len(inner) == 2 and inner[1] is not ... else 0],
        place[1:] if is_container else place,
    )


def near(word: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown word: the known one that is meant, or all of them."""
    names = [*known]
    found = get_close_matches(word, names, 1)
    return (
        f"; did you mean {found[0]!r}?" if found else f"; there are: {', '.join(names) or 'none'}"
    )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def line_of(text: str, place: Sequence[str | int]) -> int:
    """The line of a key, from 1; that of the nearest table or key around it if it has none."""
    path = [str(step) for step in place]
    table: list[str] = []
    arrays: dict[tuple[str, ...], int] = {}
    best = (0, 1)
    for number, line in enumerate(text.splitlines(), start=1):
        header = line.strip()
        key, equals, _ = header.partition("=")
        if header.startswith("["):
            name = header.lstrip("[").partition("]")[0]
            found = table = _table(_words(name), arrays, is_element=header.startswith("[["))
        elif equals and not key.startswith("#"):
            found = [*table, *_words(key)]
        else:
            continue
        shared = _shared(found, path)
        if shared > best[0]:
            best = (shared, number)
    return best[1]


def _table(
    words: Sequence[str], arrays: dict[tuple[str, ...], int], *, is_element: bool
) -> list[str]:
    """The path of a table by the words of its header. `arrays`: the number of the last element of
    each array of tables so far, which is counted here."""
    found: list[str] = []
    for count, word in enumerate(words, start=1):
        found.append(word)
        name = tuple(found)
        if is_element and count == len(words):
            arrays[name] = arrays.get(name, -1) + 1
        if name in arrays:
            found.append(str(arrays[name]))
    return found


def _words(dotted: str) -> list[str]:
    return [a or b or c for a, b, c in _WORD.findall(dotted)]


def _shared(found: Sequence[str], path: Sequence[str]) -> int:
    """Return the number of steps that two paths have in common from the first."""
    count = 0
    for one, other in zip(found, path, strict=False):
        if one != other:
            break
        count += 1
    return count
