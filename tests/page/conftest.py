"""Each `*.test.mjs` is one test: a file for Node's own test runner."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MODULES = HERE / "modules.mjs"
NODE = shutil.which("node")
NO_NODE = "the page's modules need Node.js 18.19 or later: no node on the PATH"
NOT_UNDER_CI = f"{NO_NODE}; under CI none of these tests may be skipped"
SECONDS = 60


class NodeFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        yield NodeTests.from_parent(self, name="node")


class NodeTests(pytest.Item):
    def runtest(self) -> None:
        if NODE is None:
            if os.environ.get("CI", "").lower() in ("1", "true"):
                pytest.fail(NOT_UNDER_CI, pytrace=False)
            pytest.skip(NO_NODE)
        done = subprocess.run(
            [NODE, "--import", MODULES.as_uri(), "--test-reporter", "spec", self.path],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        if done.returncode != 0:
            pytest.fail(done.stdout + done.stderr, pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.path.name


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> NodeFile | None:
    if file_path.name.endswith(".test.mjs"):
        return NodeFile.from_parent(parent, path=file_path)
    return None
