"""The environment of a test that reads settings."""

import os
from pathlib import Path

import pytest


def isolate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of this machine: no variables, another folder, the offline model."""
    for name in list(os.environ):
        if name.startswith(("TURNSTREAM_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
