"""The log goes to stderr: one way for our records, libraries' records and stray failures."""

import logging
import sys
import threading
import warnings
from contextlib import suppress
from typing import TextIO

from turnstream.server.logs.formats import FORMATS, LogFormat
from turnstream.server.logs.messages import OURS

logger = logging.getLogger("turnstream")


class StderrHandler(logging.Handler):
    """Writes to what `sys.stderr` is at that moment.

    What goes wrong here is not told by `Handler.handleError`, which prints the message's values.
    """

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError, ValueError):  # stderr is closed or full: there is nowhere to say so
            sys.stderr.write(f"{self._line(record)}\n")
            sys.stderr.flush()

    def _line(self, record: logging.LogRecord) -> str:
        try:
            return self.format(record)
        except Exception:  # noqa: BLE001  a record that cannot be formatted must not end a run
            place = (record.pathname, record.lineno)
            lost = "a record of the log could not be formatted"
            return self.format(
                logging.LogRecord(logger.name, logging.ERROR, *place, lost, (), None)
            )


_PLAIN = (StderrHandler, logging.StreamHandler)
"""Handlers that `logging.basicConfig` sets up; their subclasses belong to somebody who knows why.
"""


def configure(log_format: LogFormat) -> None:
    """Log to stderr in this format: our records from INFO, libraries' from WARNING.

    HTTP clients log every request as INFO. What `logging.basicConfig` has set up is replaced:
    the OpenAI client calls it when OPENAI_LOG is set, and then logs request bodies.
    """
    root = logging.getLogger()
    for handler in root.handlers[:]:
        if type(handler) in _PLAIN:
            root.removeHandler(handler)
    root.addHandler(StderrHandler())
    root.setLevel(logging.WARNING)
    # uvicorn's own command has set up handlers by the time that it asks for the app.
    for name in ("", "uvicorn", "uvicorn.access"):
        for handler in logging.getLogger(name).handlers:
            if type(handler) in _PLAIN:
                handler.setFormatter(FORMATS[log_format]())
    logging.getLogger(OURS).setLevel(logging.INFO)


def log_stray_failures() -> None:
    """Log, without their texts, what Python itself would print: warnings, and the exceptions of
    threads and finalizers. Stays so to the end of the process."""
    warnings.showwarning = _warning
    threading.excepthook = _thread_failed
    sys.unraisablehook = _ignored


def _warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    del message, file, line
    place = {"warning": category.__name__, "file": filename, "line": lineno}
    logger.warning("%(warning)s at %(file)s:%(line)s", place)


def _thread_failed(failed: threading.ExceptHookArgs) -> None:
    if failed.exc_value is not None and failed.exc_type is not SystemExit:
        logger.error("a thread broke off", exc_info=failed.exc_value)


def _ignored(ignored: "sys.UnraisableHookArgs") -> None:
    logger.error("an exception could not be raised", exc_info=ignored.exc_value)
