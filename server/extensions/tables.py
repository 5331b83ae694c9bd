"""The list of threads as the statements of extensions may read it, and types for their own tables.

Of `threads` these columns stay: `owner` and `id`; `title`; `run_id`, the last run, which is empty
before the first; `run_state`, how that run stands. Extensions do not write there.
"""

from turnstream.server.storage.tables import NUMBER, TEXT, threads
from turnstream.server.storage.thread_list import SHOWN

__all__ = ["IS_THERE", "NUMBER", "TEXT", "threads"]

IS_THERE = SHOWN
"""A condition on `threads`: nobody has deleted the thread."""
