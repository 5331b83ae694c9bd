"""Conversions of units, for `convert_units`."""

from turnstream.graphs.offline.ask import SIGNED, Ask, Facts, any_case, number

_UNIT = r"(?:degrees? |square |cubic )?[a-z°µ%][\w°µ/²³^*-]{0,40}+(?: per \w{1,40}+)?+"
_FORWARD = any_case(
    rf"(?P<value>{SIGNED})\s*+(?:from\s++)?+(?P<source>{_UNIT})\s++(?:to|in|into|as)\s++"
    rf"(?P<target>{_UNIT})"
)
_BACKWARD = any_case(
    rf"\bhow (?:many|much) (?P<target>{_UNIT}) (?:(?:is|are|make) )?(?:there )?(?:in )?"
    rf"(?P<value>{SIGNED})\s*+(?P<source>{_UNIT})"
)
_CUE = any_case(r"\b(?:convert|how (?:many|much)|what)\b")
_DEGREES = any_case(r"^degrees? ")


def conversion(clause: str, _: Facts) -> list[Ask]:
    found = [*_BACKWARD.finditer(clause)] or [*_FORWARD.finditer(clause)]
    if not _CUE.search(clause) and [match[0] for match in found] != [clause.strip(" .?!")]:
        return []
    return [
        Ask(
            "convert_units",
            {
                "value": number(match["value"]),
                "from_unit": _DEGREES.sub("", match["source"]),
                "to_unit": _DEGREES.sub("", match["target"]),
            },
        )
        for match in found
    ]
