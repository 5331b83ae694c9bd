"""Patterns have names, so that what each costs is measured (tests/attacks/test_patterns.py)."""

from pathlib import Path

import pytest

from tests.support.patterns import PACKAGES, inline_patterns

PROJECT = Path(__file__).parent.parent.parent


def test_every_pattern_has_a_name_in_a_module_where_it_is_found() -> None:
    written = {
        path.relative_to(PROJECT).as_posix(): inline_patterns(path.read_text(encoding="utf-8"))
        for package in PACKAGES
        for path in (PROJECT / package.partition(".")[2]).rglob("*.py")
    }
    assert {path: lines for path, lines in written.items() if lines} == {}


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("import re\nre.sub('a+', '', text)", [2]),
        ("import re\ndef f():\n    return re.compile('a+')", [3]),
        ("import re\nf = lambda text: re.search(a, text)", [2]),
        ("import re\nA = re.compile('a+')\ndef f(p):\n    return re.compile(re.escape(p))", [4]),
        ("import re\nA = re.compile('a+')\ndef f(p):\n    return A, re.compile(p)", []),
    ],
)
def test_a_pattern_that_is_written_where_it_is_used_is_found(source: str, lines: list[int]) -> None:
    assert inline_patterns(source) == lines
