"""Tools that the message names: `call roll_dice with {"count": 2}`, `Roll 3 dice with 6 sides`.

So a tool that was added a minute ago, or that a client brings along, can be tried with no key.
Arguments that begin with a brace are sent as they stand, broken or not.
"""

import re
from collections.abc import Mapping
from re import Pattern
from typing import Any

from graphs.offline.ask import RENDER, SELECT, SIGNED, Ask, Facts, any_case, number

_CALL = any_case(
    r"\b(?:call|use|run|invoke)\s+(?:the\s+)?(?:tool\s+)?`?(?P<name>[a-z_][\w-]*)`?"
    r"(?:\s+tool)?(?:\s+with\b|\s*:)?\s*(?P<rest>.*)"
)
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
    said = set(re.findall(r"[a-z]+", clause.lower()))
    for name, schema in facts.tools.items():
        words = set(re.findall(r"[a-z]+", name.lower()))
        if not words <= said or name in (RENDER, SELECT):
            continue
        arguments = _arguments(clause, schema)
        whole = set(schema.get("required", ())) <= arguments.keys()
        if whole and (arguments or len(words) > 1):
            return [Ask(name, arguments)]
    return []


def _arguments(text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """First what stands beside its property's name, then the rest in order."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    found: dict[str, Any] = {}
    for name, about in properties.items():
        pattern = _beside(name, about)
        match = pattern.search(text)
        if match:
            found[name] = _value(next(filter(None, match.groups())), about)
            text = text[: match.start()] + " " + text[match.end() :]
    missing = [name for name in properties if name not in found]
    numeric = [name for name in missing if _kind(properties[name]) in ("integer", "number")]
    texts = [name for name in missing if _kind(properties[name]) == "string"]
    found |= zip(numeric, map(number, re.findall(SIGNED, text)), strict=False)
    found |= zip(texts, _QUOTED.findall(text), strict=False)
    return {name: found[name] for name in properties if name in found}


def _beside(name: str, about: Mapping[str, Any]) -> Pattern[str]:
    words = re.escape(name).replace("_", "[_ ]")
    if "enum" in about:
        options = "|".join(re.escape(str(option)) for option in about["enum"])
        return any_case(rf"\b({options})\b")
    if _kind(about) in ("integer", "number"):
        return any_case(rf"\b{words}\s*[=:]?\s*({SIGNED})|({SIGNED})\s+{words}\b")
    return any_case(rf'\b{words}\s*[=:]\s*"?([^",;]+)"?|\b{words}\s+"([^"]+)"|\b{words}\s+(\w+)')


def _kind(about: Mapping[str, Any]) -> str:
    """The type of a property; of an optional one the type beside null."""
    variants = [about, *about.get("anyOf", ())]
    return next((str(v["type"]) for v in variants if v.get("type") not in (None, "null")), "")


def _value(text: str, about: Mapping[str, Any]) -> Any:
    kind = _kind(about)
    if kind in ("integer", "number"):
        return number(text)
    if kind == "boolean":
        return text.strip().lower() in ("true", "yes", "on", "1")
    return text.strip()
