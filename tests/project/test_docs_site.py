"""The documents build as a site: without a warning, without network, each page in its part."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support import docs_site
from tests.support.serving import PROJECT

ZENSICAL = str(Path(sys.executable).parent / "zensical")
PARTS = ["Start", "Guides", "Reference", "How it works"]
LOADED = re.compile(r"<(?:script|img|iframe|link rel=\"?stylesheet)[^>]*(?:src|href)=\"?https?:")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the built site."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.support.docs_site"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return Path(shutil.copytree(PROJECT / "build" / "site", tmp_path_factory.mktemp("s") / "site"))


def navigation() -> dict[str, list[str]]:
    """Return the pages by part."""
    nav = tomllib.loads((PROJECT / "zensical.toml").read_text())["project"]["nav"]
    return {part: pages for entry in nav for part, pages in entry.items()}


def test_every_page_is_in_one_of_four_parts(site: Path) -> None:
    assert list(navigation()) == PARTS
    listed = [page for pages in navigation().values() for page in pages]
    assert sorted(listed) == sorted(page.name for page in docs_site.STAGED.glob("*.md"))
    assert all((site / page).with_suffix(".html").exists() for page in listed)


def test_a_page_loads_nothing_from_elsewhere(site: Path) -> None:
    for page in site.glob("*.html"):
        assert not LOADED.search(page.read_text(encoding="utf-8")), page.name
    assert LOADED.search('<script src="https://example.org/a.js">')


def test_marks_and_links_to_code_are_not_on_the_site(site: Path) -> None:
    for page in docs_site.STAGED.glob("*.md"):
        assert "<!-- " not in page.read_text(encoding="utf-8"), page.name
    assert "graphs/chat.py" in (site / "graph.html").read_text(encoding="utf-8")


@pytest.fixture
def small(tmp_path: Path) -> Any:
    """Build a site of one page, and return what the build says."""

    def built(text: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "docs").mkdir(exist_ok=True)
        (tmp_path / "docs" / "index.md").write_text(text)
        (tmp_path / "zensical.toml").write_text('[project]\nsite_name = "small"\n')
        command = [ZENSICAL, "build", "--clean", "--strict"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return built


def test_the_build_fails_on_a_link_to_a_page_or_a_heading_that_is_gone(small: Any) -> None:
    assert small("# A\n\n[here](#a)\n").returncode == 0
    for link in ("gone.md", "#gone"):
        ended = small(f"# A\n\n[there]({link})\n")
        assert ended.returncode != 0
        assert "does not exist" in ended.stdout + ended.stderr


def test_a_link_to_a_file_that_is_gone_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("[code](../gone.py)")
    with pytest.raises(docs_site.BrokenLinkError, match="gone"):
        docs_site.staged(page)
