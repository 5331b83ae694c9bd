"""The code blocks of documents, and the comment above each that says how it is tested.

A block has one of these comments on the line above it:

- `<!-- run -->`: a test runs the shell commands, and each has to succeed;
- `<!-- run: server -->`: a test starts the command and stops it at the next such block;
- `<!-- file: NAME -->`: a test writes the block to a file, for the commands after it;
- `<!-- output -->`: what the commands above it print; `...` stands for any lines;
- `<!-- tested by PATH -->`: another test reads the block;
- `<!-- not run: REASON -->`: no test runs it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MARK = re.compile(r"<!-- (run|file|output|tested by|not run)(?:: | )?(.*?) ?-->$")
_FENCE = re.compile(r"^( *)```([\w-]*)")
_ID = re.compile(
    r"\b[\w-]{11,12}(?=:\d+$)|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|msg_[0-9a-f]+"
)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block."""

    page: Path
    line: int
    language: str
    text: str
    mark: str
    """Empty for a block without a mark."""
    detail: str

    @property
    def place(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    above, number = "", 0
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        if not fence:
            above = lines[number].strip() or above
            number += 1
            continue
        end = next(i for i in range(number + 1, len(lines)) if lines[i].strip() == "```")
        indent = len(fence[1])
        text = "".join(f"{line[indent:]}\n" for line in lines[number + 1 : end])
        mark = MARK.match(above)
        kind, detail = (mark[1], mark[2]) if mark else ("", "")
        yield Block(page, number + 1, fence[2], text, kind, detail)
        above, number = "", end + 1


def indented_code(page: Path) -> list[int]:
    """Return the lines on which code is indented in place of fenced."""
    found, fenced, before = [], False, ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if _FENCE.match(line):
            fenced = not fenced
        if not fenced and line.startswith("    ") and not before.strip():
            found.append(number)
        before = line if line.strip() or not before.startswith("    ") else before
    return found


def masked(text: str) -> list[str]:
    """Return the lines of an output, with the ids that differ from run to run replaced."""
    return [_ID.sub("ID", line.rstrip()) for line in text.strip().splitlines()]


def fits(shown: list[str], printed: list[str]) -> bool:
    """Compare an output with the shown one, in which `...` stands for any lines."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(fits(shown[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and shown[0] == printed[0] and fits(shown[1:], printed[1:])
