"""The end of the JSON object that a text begins with, found as the text comes."""

import re

_TOKEN = re.compile(r'\\.|["{}\[\]]|\\\Z', re.DOTALL)
_SPACE = " \t\r\n"


class JsonEnd:
    """Counts brackets outside strings; each character is looked at once."""

    def __init__(self) -> None:
        self.is_valid: bool | None = None
        """For the caller to say, once the end is reached."""
        self._depth = 0
        self._begun = False
        self._closed = False
        self._impossible = False
        self._in_string = False
        self._escaped = False

    @property
    def is_reached(self) -> bool:
        """True if the last bracket has closed, with nothing behind it but space."""
        return self._closed and not self._impossible

    def feed(self, text: str) -> None:
        start = 0
        if not self._begun:
            text = text.lstrip(_SPACE)
            self._begun = bool(text)
            self._impossible = self._begun and text[0] != "{"
        if self._escaped and text:
            start, self._escaped = 1, False
        if not (self._closed or self._impossible):
            start = self._count(text, start)
        if self._closed and text[start:].strip(_SPACE):
            self._impossible = True

    def _count(self, text: str, start: int) -> int:
        """Go on to the closing bracket, or to the end of the text; say where that is."""
        for token in _TOKEN.finditer(text, start):
            match token.group():
                case '"':
                    self._in_string = not self._in_string
                case "{" | "[" if not self._in_string:
                    self._depth += 1
                case "}" | "]" if not self._in_string:
                    self._depth -= 1
                    if self._depth <= 0:
                        self._closed = True
                        return token.end()
                case "\\":
                    self._escaped = True
        return len(text)
