"""The place of the database: a SQLite file, or the URL of a Postgres database."""

from pathlib import Path
from urllib.parse import urlsplit

SCHEMES = ("postgresql", "postgres")


class PostgresUrl:
    """Shown without its user's password, and without what else it says of the connection."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Raises ValueError."""
        parts = urlsplit(text)
        if not parts.path.strip("/") and "dbname=" not in parts.query:
            raise ValueError(f"{_shown(text)} names no database: add /NAME")
        self._text = text

    @property
    def secret(self) -> str:
        """All of it, as libpq takes it."""
        return self._text

    def __str__(self) -> str:
        return _shown(self._text)

    def __repr__(self) -> str:
        return f"PostgresUrl({_shown(self._text)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PostgresUrl) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


Location = Path | PostgresUrl


def location(value: object) -> Location:
    """Parse the setting. Raises ValueError, without the value if that may hold a password."""
    if isinstance(value, Path | PostgresUrl):
        return value
    text = str(value)
    scheme, separator, _ = text.partition("://")
    if not separator:
        return Path(text)
    if scheme not in SCHEMES:
        raise ValueError(f"give a file, or postgresql://USER@HOST/NAME; not {scheme}://")
    return PostgresUrl(text)


def _shown(text: str) -> str:
    parts = urlsplit(text)
    user = parts.username
    place = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{f'{user}@' if user else ''}{place}{parts.path}"
