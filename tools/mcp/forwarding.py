"""Headers that tell a server who calls, made of texts such as `Bearer {token}`."""

from collections.abc import Mapping
from string import Formatter
from typing import Any
from urllib.parse import quote

FORWARDED = ("identity", "display_name", "token")
"""Facts of the caller that a header may tell; `token` is the one that they came with."""
_SAFE = "".join(map(chr, range(0x21, 0x7F))).replace("%", "")


class NothingToForward(Exception):
    """A header needs the caller's token, and they have none."""


def check_text(header: str, text: str) -> None:
    """Raises ValueError if the text does not say which part of a caller it tells, or names what is
    no part of one."""
    try:
        places = {place for _, place, _, _ in Formatter().parse(text) if place is not None}
    except ValueError:
        places = set()
    if not places or places - set(FORWARDED):
        known = " or ".join(f"{{{name}}}" for name in FORWARDED)
        raise ValueError(f"{header} is {text[:60]!r}: write {known} into it, nothing else")


def headers_of(forward: Mapping[str, str], user: Mapping[str, Any]) -> dict[str, str]:
    """Printable ASCII as it is, all else and `%` percent-encoded. Raises NothingToForward."""
    said = {name: quote(str(user.get(name) or ""), safe=_SAFE) for name in FORWARDED}
    if not said["token"] and any("{token" in text for text in forward.values()):
        raise NothingToForward
    return {header: text.format(**said) for header, text in forward.items()}
