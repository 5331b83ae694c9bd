"""The site of the documentation: `python -m tests.support.docs_site` builds build/site, without
network, and fails on a warning.

The pages are staged in build/docs first. README.md is the front page, and the other documents at
the top of the repository are pages too. A link to a file of the code becomes its path, because the
site has no code.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parent.parent.parent
STAGED = PROJECT / "build" / "docs"
TOP = {"README.md": "index.md"} | {
    name: name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
}
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_MARK = re.compile(r"^<!-- .* -->\n", re.MULTILINE)


class BrokenLinkError(Exception):
    """A link to a file that does not exist."""


def stage() -> None:
    """Write the pages of the site. Raises BrokenLinkError."""
    shutil.rmtree(STAGED, ignore_errors=True)
    shutil.copytree(PROJECT / "docs" / "images", STAGED / "images")
    shutil.copy(PROJECT / "docs" / "site.css", STAGED)
    pages = {page: page.name for page in (PROJECT / "docs").glob("*.md")}
    pages |= {PROJECT / source: name for source, name in TOP.items()}
    for page, name in pages.items():
        (STAGED / name).write_text(staged(page), encoding="utf-8")


def staged(page: Path) -> str:
    """Return the text of a page as the site has it."""
    text = _MARK.sub("", page.read_text(encoding="utf-8"))
    return _LINK.sub(lambda link: _link(page, link), text)


def _link(page: Path, link: re.Match[str]) -> str:
    image, words, address = link.groups()
    path, _, anchor = address.partition("#")
    if not path or ":" in path:
        return link[0]
    target = (page.parent / path).resolve()
    if not target.exists():
        raise BrokenLinkError(f"{page.name}: {address} does not exist")
    inside = target.relative_to(PROJECT).as_posix()
    if inside in TOP or (inside.startswith("docs/") and target.suffix in (".md", ".png", ".svg")):
        name = TOP.get(inside, inside.removeprefix("docs/"))
        return f"{image}[{words}]({name}{'#' if anchor else ''}{anchor})"
    return f"`{inside}`" if words in (path, Path(path).name) else f"{words} (`{inside}`)"


def build() -> None:
    """Build the site; exit with an error after a warning."""
    stage()
    command = [str(Path(sys.executable).parent / "zensical"), "build", "--clean", "--strict"]
    sys.exit(subprocess.run(command, cwd=PROJECT, check=False).returncode)


if __name__ == "__main__":
    build()
