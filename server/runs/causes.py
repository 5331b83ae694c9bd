"""The cause of a failed run, for its developer: the exception, and the frames of their own files.

The log has the exception's type and its place. Its text may quote what users said, and is told by
`turnstream dev` alone.
"""

import os
import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from traceback import walk_tb

from turnstream.graphs.chunk_shape import ModelFault
from turnstream.graphs.stored import StoredError
from turnstream.server.logs.messages import escape

MAX_TEXT_CHARS = 500
MAX_PLACES = 5
MAX_TOLD = 200
"""Errors whose causes are told again with the threads that they ended."""
MIN_SECRET_CHARS = 8
_HERE = Path(__file__).parents[2]
_OURS = tuple(_HERE / name for name in ("server", "graphs", "tools"))
_SECRET_NAME = re.compile("KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|DSN", re.IGNORECASE)
_PASSWORD = re.compile("://[^/:@]*:[^/@]*@")


class ToldCauses:
    """The causes of errors that `turnstream dev` has told, by the errors' ids; empty in any other
    server. The thread keeps the fixed sentence alone: it may be served elsewhere later.

    The thread keeps the fixed sentence alone: it may be served elsewhere later.
    """

    def __init__(self) -> None:
        self._messages: OrderedDict[str | None, str] = OrderedDict()

    def keep(self, error_id: str, message: str) -> None:
        self._messages[error_id] = message
        while len(self._messages) > MAX_TOLD:
            self._messages.popitem(last=False)

    def clear(self) -> None:
        self._messages.clear()

    def shown(self, error: StoredError | None) -> StoredError | None:
        """Return an error of a thread as its stream told it."""
        if error is None or error["id"] not in self._messages:
            return error
        message = self._messages[error["id"]]
        return StoredError(code=error["code"], message=message, id=error["id"])


TOLD = ToldCauses()


def in_words(cause: BaseException, folders: Sequence[Path]) -> str:
    """`KeyError: 'nokey' at err.py:2 in speak`, without the values of secret variables."""
    error = _own(cause)
    text = " ".join(str(error).split())[:MAX_TEXT_CHARS]
    places = [*_places(error, folders)][::-1][:MAX_PLACES]
    where = f" at {', '.join(places)}" if places else ""
    said = f"{type(error).__name__}{f': {text}' if text else ''}{where}"
    return escape(without_secrets(said))


def without_secrets(text: str) -> str:
    """The text without the values of secret variables of the environment."""
    for secret in _secrets():
        text = text.replace(secret, "***")
    return text


def is_secret_name(name: str) -> bool:
    """Check that the value under a name is to be shown to nobody. Counts of tokens are no secrets,
    so ask it of texts."""
    return _SECRET_NAME.search(name) is not None


def place_in_words(cause: BaseException, folders: Sequence[Path]) -> str:
    """`KeyError at err.py:2 in speak`."""
    error = _own(cause)
    places = [*_places(error, folders)]
    return escape(type(error).__name__ + (f" at {places[-1]}" if places else ""))


def _own(cause: BaseException) -> BaseException:
    """The exception that a model call raised, in place of our own around it."""
    return cause.__cause__ if isinstance(cause, ModelFault) and cause.__cause__ else cause


def _places(error: BaseException, folders: Sequence[Path]) -> Iterator[str]:
    """`file:line in function` in the folders, the innermost last."""
    for frame, line in walk_tb(error.__traceback__):
        file = Path(frame.f_code.co_filename)
        if "site-packages" in file.parts or any(map(file.is_relative_to, _OURS)):
            continue
        folder = next((one for one in folders if file.is_relative_to(one)), None)
        if folder is not None:
            yield f"{file.relative_to(folder)}:{line} in {frame.f_code.co_name}"


def _secrets() -> list[str]:
    """The longest first: one may be a part of another."""
    found = {
        value
        for name, value in os.environ.items()
        if len(value) >= MIN_SECRET_CHARS and (_SECRET_NAME.search(name) or _PASSWORD.search(value))
    }
    return sorted(found, key=len, reverse=True)
