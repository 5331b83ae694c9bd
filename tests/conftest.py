"""Which tests share a process when several run them, how much tests of properties try, and a
maintenance file of its own for each test."""

import gc
from itertools import count

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

import tests.support.samples  # noqa: F401  loads the profile of Hypothesis
from tests.support.engines import (  # noqa: F401  fixtures
    empty_postgres_url,
    own_postgres_url,
    postgres_server,
    postgres_url,
    reused_database,
)
from tools.solar.visits import FILE_VARIABLE

TOGETHER = ("tests/browser/", "tests/clients/")
"""Folders whose tests share one browser, or one set of npm clients: several would fight for a
small machine."""
NUMBERS = count(1)


class FoldersTogether(LoadScopeScheduling):  # type: ignore[misc]
    """Gives each test to the next idle process, but all tests of some folders to one. The largest
    of these groups begins first."""

    def _split_scope(self, nodeid: str) -> str:
        # Not `--dist loadgroup`: of pytest-xdist 3.8.0 it has no effect with pytest 9.2, whose
        # node ids are computed.
        return next((folder for folder in TOGETHER if nodeid.startswith(folder)), nodeid)


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


@pytest.fixture(autouse=True)
def _maintenance_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Maintenance that a test plans is in a file that no other test has."""
    file = tmp_path_factory.getbasetemp() / f"maintenance-{next(NUMBERS)}.db"
    monkeypatch.setenv(FILE_VARIABLE, str(file))
