"""What any implementation of the storage interfaces must do: classes of tests.

A test module binds a class to an implementation with a subclass and one fixture.
"""

import pytest

for _name in ("claims", "logs", "run_log", "runs", "store", "thread_list", "threads"):
    pytest.register_assert_rewrite(f"tests.support.contracts.{_name}")
