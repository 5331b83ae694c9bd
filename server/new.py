"""`turnstream new NAME`: a folder with an agent, its test, a langgraph.json and a Dockerfile."""

import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

TEMPLATE = Path(__file__).parent / "template"
USAGE = "usage: turnstream new NAME\n\nMake a folder with an agent that runs at once.\n"
MADE = """\
{folder} has an agent. Serve it while you write it:

  cd {folder} && turnstream dev
"""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def main(arguments: Sequence[str]) -> int:
    """Return the exit status: 2 if the folder cannot be made."""
    if {"-h", "--help"}.intersection(arguments):
        sys.stdout.write(USAGE)
        return 0
    fault = _fault(arguments)
    if not fault:
        folder = Path(arguments[0])
        try:
            folder.mkdir(exist_ok=True)
            for file in sorted(TEMPLATE.iterdir()):
                if file.is_file():
                    shutil.copyfile(file, folder / file.name)
        except OSError as error:
            fault = f"{folder} cannot be written: {error.strerror or error}"
    if fault:
        sys.stderr.write(f"turnstream: {fault}\n")
        return 2
    sys.stdout.write(MADE.format(folder=folder))
    return 0


def _fault(arguments: Sequence[str]) -> str:
    """A sentence; empty if a project can be made."""
    if len(arguments) != 1:
        return "give one name: turnstream new my-agent"
    name = arguments[0]
    if not _NAME.fullmatch(name):
        return f"{name!r:.100} is no name of a folder here: letters, digits, - and _"
    folder = Path(name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        return f"{name} is there already and is not empty: choose another name"
    return ""
