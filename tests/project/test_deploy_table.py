"""The table of docs/deploy.md says what happens when a part fails: each of its rows names the test
that proves it."""

import re
from collections.abc import Sequence
from functools import cache

import pytest

from tests.support.serving import PROJECT

TEST = re.compile(r"`(test_\w+)`")
DEFINITION = re.compile(r"^ *(?:async )?def (test_\w+)\(", re.MULTILINE)


def rows() -> dict[str, Sequence[str]]:
    """By what fails, the names of tests."""
    text = (PROJECT / "docs" / "deploy.md").read_text()
    section = text.partition("\n### What happens when a part fails\n")[2].partition("\n## ")[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    (*_, proof), _, *others = lines
    assert proof.strip() == "tested by"
    return {part.strip(): TEST.findall(tests) for part, *_, tests in others}


@cache
def defined() -> frozenset[str]:
    """The names of all tests."""
    paths = (PROJECT / "tests").rglob("test_*.py")
    found = (DEFINITION.findall(path.read_text()) for path in paths)
    return frozenset(name for names in found for name in names)


def test_there_are_rows_and_no_two_begin_alike() -> None:
    text = (PROJECT / "docs" / "deploy.md").read_text()
    assert len(rows()) > 8
    assert sum(len(names) for names in rows().values()) == len(TEST.findall(text))


@pytest.mark.parametrize("part", rows())
def test_what_happens_when_a_part_fails_is_tested(part: str) -> None:
    names = rows()[part]
    assert names
    assert defined().issuperset(names)
