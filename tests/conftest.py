"""Which tests share a process when several run them, the slow tests of a run, and a maintenance
file of its own for each test."""

import gc
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from itertools import count, takewhile
from pathlib import Path
from types import FrameType

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

import tests.support.samples  # noqa: F401  loads the profile of Hypothesis
from tests.support import costs
from tests.support.engines import (  # noqa: F401  fixtures
    empty_postgres_url,
    own_postgres_url,
    postgres_server,
    postgres_url,
    reused_database,
)
from tests.support.statements import share_compiled_statements
from turnstream.graphs.user_modules import FOLDERS_HIDDEN
from turnstream.tools.solar.visits import FILE_VARIABLE

sys.meta_path.insert(0, FOLDERS_HIDDEN)  # the clone is searched, for `tests`

os.environ["SSL_CERT_FILE"] = str(Path(__file__).parent / "support" / "authority.pem")
"""Tests speak no TLS: to read the hundred authorities of a machine takes 20 ms for each client."""
NUMBERS = count(1)
share_compiled_statements()


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


signal.signal(signal.SIGINT, _interrupt)
"""A handler that is not Python's own keeps asyncio from setting one for each piece of a test, for
which the signal module prints the task with all that it holds."""
SHARED = {"tests/browser/": 2, "tests/clients/": 1, "tests/project/": 1}
"""In how many processes tests of a folder run: each process has one browser, one set of npm
clients, or one look at what is imported; many would fight for a small machine. A file stays in one
process."""


class FoldersTogether(LoadScopeScheduling):  # type: ignore[misc]
    """Gives each test to the next idle process, but tests of some folders to few. The largest of
    these groups begins first."""

    def _split_scope(self, nodeid: str) -> str:
        # Not `--dist loadgroup`: of pytest-xdist 3.8.0 it has no effect with pytest 9.2, whose
        # node ids are computed.
        return self._shared.get(nodeid.partition("::")[0], nodeid)

    @cached_property
    def _shared(self) -> dict[str, str]:
        """The group of each file of those folders; the groups of a folder are of one size."""
        sizes = Counter(nodeid.partition("::")[0] for nodeid in self.collection)
        groups = {}
        for folder, processes in SHARED.items():
            filled = dict.fromkeys((f"{folder}{n}" for n in range(processes)), 0)
            for file, size in sizes.most_common():
                if file.startswith(folder):
                    groups[file] = min(filled, key=lambda group: filled[group])
                    filled[groups[file]] += size
        return groups


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FoldersTogether:
    return FoldersTogether(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if hasattr(getattr(item, "function", None), "hypothesis"):
            item.add_marker(pytest.mark.long)


def pytest_collection_finish() -> None:
    """What is there by now stays, as in the server: the collector need not look at it again."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    costs.summarize(terminalreporter)


@pytest.fixture(autouse=True)
def _maintenance_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Maintenance that a test plans is in a file that no other test has."""
    file = tmp_path_factory.getbasetemp() / f"maintenance-{next(NUMBERS)}.db"
    monkeypatch.setenv(FILE_VARIABLE, str(file))


@pytest.fixture(autouse=True)
def _modules_of_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A module that a test has written and loaded is not found under its name by the next test, nor
    is the folder of one searched."""
    folder, places = str(tmp_path_factory.getbasetemp()), [*sys.path]
    newest = next(reversed(sys.modules))
    yield
    sys.path[:] = [each for each in sys.path if each in places or not each.startswith(folder)]
    for name in [*takewhile(lambda name: name != newest, reversed(sys.modules))]:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(folder):
            del sys.modules[name]
