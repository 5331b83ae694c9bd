"""Tools that the message names: `call roll_dice with {"count": 2}`, `Roll 3 dice with 6 sides`.

So a tool that was added a minute ago, or that a client brings along, can be tried with no key.
Arguments that begin with a brace are sent as they stand, broken or not.

A client writes the tools' schemas too, and a search of the message for each name in them would cost
the product of both. So only a few tools, properties and options are looked for.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from re import Pattern
from typing import Any

from turnstream.graphs.offline.ask import RENDER, SELECT, SIGNED, Ask, Facts, any_case, number

MAX_TOOLS, MAX_PROPERTIES, MAX_OPTIONS, MAX_NAME_CHARS = 4, 16, 50, 64

_CALL = any_case(
    r"\b(?:call|use|run|invoke)\s++(?:the\s++)?(?:tool\s++)?`?(?P<name>[a-z_][\w-]*+)`?+"
    r"(?:\s++tool)?+(?:\s++with\b|\s*+:)?+\s*+(?P<rest>.*)"
)
_WORD = re.compile(r"[a-z]+")
_NUMBER = any_case(SIGNED)
_QUOTED = any_case(r'"([^"]*)"')


def called_by_name(clause: str, facts: Facts) -> list[Ask]:
    call = _CALL.search(clause)
    if not call or not (call["name"] in facts.tools or "_" in call["name"]):
        return []
    rest = call["rest"].strip()
    if rest.startswith("{"):
        return [Ask(call["name"], rest.rstrip(" ."))]
    return [Ask(call["name"], _arguments(rest, facts.tools.get(call["name"], {})))]


def named_in_words(clause: str, facts: Facts) -> list[Ask]:
    """All words of the tool's name are there, and all arguments that it must have."""
    said = set(_WORD.findall(clause.lower()))
    named = (
        name
        for name in facts.tools
        if name not in (RENDER, SELECT) and said.issuperset(_words(name))
    )
    for name in islice(named, MAX_TOOLS):
        schema = facts.tools[name]
        arguments = _arguments(clause, schema)
        whole = all(required in arguments for required in schema.get("required", ()))
        if whole and (arguments or len(_words(name)) > 1):
            return [Ask(name, arguments)]
    return []


@lru_cache(maxsize=256)
def _words(name: str) -> frozenset[str]:
    return frozenset(_WORD.findall(name.lower()))


def _arguments(text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """First what stands beside its property's name, then the rest in order."""
    listed = islice(schema.get("properties", {}).items(), MAX_PROPERTIES)
    properties = {name: about for name, about in listed if isinstance(about, Mapping)}
    found: dict[str, Any] = {}
    for name, about in properties.items():
        match = _beside(name[:MAX_NAME_CHARS], _kind(about), _options(about)).search(text)
        if match:
            found[name] = _value(next(filter(None, match.groups())), about)
            text = text[: match.start()] + " " + text[match.end() :]
    missing = [name for name in properties if name not in found]
    numeric = [name for name in missing if _kind(properties[name]) in ("integer", "number")]
    texts = [name for name in missing if _kind(properties[name]) == "string"]
    found |= zip(numeric, map(number, _NUMBER.findall(text)), strict=False)
    found |= zip(texts, _QUOTED.findall(text), strict=False)
    return {name: found[name] for name in properties if name in found}


def _options(about: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the values of a property that takes one of a few; empty for any other property."""
    written = (str(option)[:MAX_NAME_CHARS] for option in about.get("enum", ())[:MAX_OPTIONS])
    return tuple(filter(None, written))


@lru_cache(maxsize=1024)
def _beside(name: str, kind: str, options: tuple[str, ...]) -> Pattern[str]:
    """Return the pattern that has the value of a property as a group."""
    words = re.escape(name).replace("_", "[_ ]")
    if options:
        return any_case(rf"\b({'|'.join(map(re.escape, options))})\b")
    if kind in ("integer", "number"):
        return any_case(rf"\b{words}\s*+[=:]?+\s*+({SIGNED})|({SIGNED})\s++{words}\b")
    return any_case(
        rf'\b{words}\s*+[=:]\s*+"?+([^",;]+)"?|\b{words}\s++"([^"]+)"|\b{words}\s++(\w+)'
    )


def _kind(about: Mapping[str, Any]) -> str:
    """The type of a property; of an optional one the type beside null."""
    variants = [v for v in (about, *about.get("anyOf", ())) if isinstance(v, Mapping)]
    return next((str(v["type"]) for v in variants if v.get("type") not in (None, "null")), "")


def _value(text: str, about: Mapping[str, Any]) -> Any:
    kind = _kind(about)
    if kind in ("integer", "number"):
        return number(text)
    if kind == "boolean":
        return text.strip().lower() in ("true", "yes", "on", "1")
    return text.strip()
