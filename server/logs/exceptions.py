"""Exceptions for the log: their types, their places in the code and their codes, never their texts.

The text of an exception quotes what it failed on: a provider's error holds the body of its answer,
a validation error its input, a database error the statement's parameters, a KeyError the key.
"""

import errno
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from traceback import walk_tb
from typing import Any

from turnstream.server.logs.messages import escape

MAX_FRAMES = 40
"""The innermost are kept."""
MAX_LINKS = 20
"""Exceptions that are described of one chain and its groups."""

_PROVIDER_CLIENTS = ("openai", "anthropic", "langchain_core", "langchain_openai")
_CODE = re.compile("[A-Za-z0-9_]{1,64}")

Description = dict[str, Any]
"""`{"type", "status"?, "code"?, "storage"?, "sqlstate"?, "errno"?, "sqlite"?, "frames",
"frames_omitted"?, "exceptions"?, "cause"?}`; the last two are descriptions too."""


def describe(error: BaseException) -> Description:
    """Return what may be logged of an exception, of its causes, and of the members of a group."""
    return _describe(error, set())


def _describe(error: BaseException, seen: set[int]) -> Description:
    seen.add(id(error))
    described = {"type": _type_name(error), **_codes(error), **_places(error)}
    members = [m for m in getattr(error, "exceptions", ()) if isinstance(m, BaseException)]
    if isinstance(error, BaseExceptionGroup):
        described["exceptions"] = [_describe(m, seen) for m in members if _is_new(m, seen)]
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None and _is_new(cause, seen):
        described["cause"] = _describe(cause, seen)
    return described


def _is_new(error: BaseException, seen: set[int]) -> bool:
    return id(error) not in seen and len(seen) < MAX_LINKS


def _type_name(error: BaseException) -> str:
    kind = type(error)
    return escape(f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins."))


def _codes(error: BaseException) -> dict[str, Any]:
    """Numbers and names out of fixed lists; a provider's code, which is one word."""
    response = _attribute(error, "response")
    status = _attribute(error, "status_code") or _attribute(response, "status_code")
    number, sqlite = _attribute(error, "errno"), _attribute(error, "sqlite_errorname")
    sqlstate = _attribute(error, "sqlstate")
    codes = {
        "status": status if isinstance(status, int) else None,
        "code": _provider_code(error),
        "storage": _attribute(error, "log_text"),
        "sqlstate": sqlstate if isinstance(sqlstate, str) and _CODE.fullmatch(sqlstate) else None,
        "errno": errno.errorcode.get(number) if isinstance(number, int) else None,
        "sqlite": sqlite if isinstance(sqlite, str) and _CODE.fullmatch(sqlite) else None,
    }
    return {key: value for key, value in codes.items() if value is not None}


def _provider_code(error: BaseException) -> str | None:
    modules = (kind.__module__.partition(".")[0] for kind in type(error).__mro__)
    if not any(module in _PROVIDER_CLIENTS for module in modules):
        return None
    code = _attribute(error, "code")
    return code if isinstance(code, str) and _CODE.fullmatch(code) else None


_OURS = str(Path(__file__).parents[2])


def _attribute(holder: object, name: str) -> Any:
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001  a property of somebody else's; the log must not fail
        return None


def _places(error: BaseException) -> dict[str, Any]:
    frames = list(_frames(error))
    omitted = len(frames) - MAX_FRAMES
    places: dict[str, Any] = {"frames": frames[-MAX_FRAMES:]}
    return places | {"frames_omitted": omitted} if omitted > 0 else places


def _frames(error: BaseException) -> Iterator[str]:
    """`file:line in function`, the innermost last."""
    for frame, line in walk_tb(error.__traceback__):
        code = frame.f_code
        yield escape(f"{_short(code.co_filename)}:{line} in {code.co_qualname}")


def _short(path: str) -> str:
    """A file as it is imported: without the folder that is searched for it. One of ours as it is
    named in the repository."""
    searched = [folder for folder in (*sys.path, _OURS) if folder]
    folders = [f"{folder}/" for folder in searched if path.startswith(f"{folder}/")]
    return path.removeprefix(max(folders, key=len, default=""))
