"""`turnstream`, or `python -P -m turnstream.server`. The help and the version are printed without
an import of the server."""

import gc
import sys
from collections.abc import Sequence
from typing import NoReturn

from turnstream import __version__
from turnstream.server.help_text import HELP

HELP_OPTIONS = ("-h", "--help")
IMPORTING_GC_THRESHOLDS = (50_000, 50, 100)
"""Rarer collections than Python's own (700, 10, 10) while a process starts: imports make a million
objects, nearly all of which stay."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0 after an orderly end, 2 if the server cannot
    start, 1 if it broke off."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if text := _quick_answer(arguments):
        sys.stdout.write(text)
        return 0
    if arguments[:1] == ["new"]:
        from turnstream.server import new

        return new.main(arguments[1:])
    if arguments[:1] == ["doctor"]:
        from turnstream.server import doctor

        return doctor.main(arguments[1:])
    from turnstream.server import launch

    return launch.main(arguments)


def _quick_answer(arguments: Sequence[str]) -> str | None:
    """Return the version or the short help, if the arguments ask for it."""
    if "--version" in arguments[:1]:
        return f"turnstream {__version__}\n"
    asked = [each for each in arguments if each in HELP_OPTIONS]
    # A name alone is a command, which has a help of its own; a graph has a colon or a dot.
    is_command = bool(arguments) and arguments[0].replace("-", "_").isidentifier()
    is_command = is_command and not arguments[0].startswith("-")
    return HELP if asked and not is_command and arguments[-1] != "all" else None


def command() -> NoReturn:
    """Run the command as the whole of the process."""
    gc.set_threshold(*IMPORTING_GC_THRESHOLDS)
    if not _quick_answer(sys.argv[1:]):
        from turnstream.server.logs.setup import log_stray_failures

        log_stray_failures()
    sys.exit(main())


if __name__ == "__main__":
    command()
