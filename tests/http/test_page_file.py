"""The page as its file wants it, over HTTP."""

import re
from pathlib import Path

import pytest

from tests.support.serving import serving, settings
from turnstream.server.app import create_app
from turnstream.server.page import PageError


async def test_the_page_of_a_file_is_served_with_what_it_names(tmp_path: Path) -> None:
    file = tmp_path / "page.toml"
    file.write_text('title = "Desk"\n[colours]\naccent = "#56707f"', encoding="utf-8")
    with pytest.raises(PageError, match="accent on page"):
        create_app(settings(tmp_path / "t.db", page=file))
    file.write_text('title = "Desk"\nhidden = ["tokens"]', encoding="utf-8")
    async with serving(settings(tmp_path / "t.db", page=file)) as client:
        page = await client.http.get("/")
        assert "<title>Desk</title>" in page.text
        assert page.text == (await client.http.get("/index.html")).text
        assert page.headers["cache-control"] == "no-cache"
        same = await client.http.get("/", headers={"If-None-Match": page.headers["etag"]})
        assert (same.status_code, same.text) == (304, "")
        assert (await client.http.post("/")).status_code == 405
        (theme,) = re.findall(r'href="(theme-[^"]+)"', page.text)
        sheet = await client.http.get(f"/{theme}")
        assert sheet.headers["content-type"].startswith("text/css")
        assert sheet.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert sheet.headers["content-security-policy"] == page.headers["content-security-policy"]


async def test_a_page_is_framed_by_the_origins_that_its_file_names_and_by_no_other(
    tmp_path: Path,
) -> None:
    file = tmp_path / "page.toml"
    file.write_text('frame_ancestors = ["https://*.example.org", "\'self\'"]', encoding="utf-8")
    async with serving(settings(tmp_path / "t.db", page=file)) as client:
        page = await client.http.get("/")
        policy = page.headers["content-security-policy"].split("; ")
        assert "frame-ancestors https://*.example.org 'self'" in policy
        assert page.headers["cross-origin-resource-policy"] == "same-origin"
        widget = await client.http.get("/widget.js")
        assert widget.headers["cross-origin-resource-policy"] == "cross-origin"
        assert widget.headers["cache-control"] == "no-cache"
    async with serving(settings(tmp_path / "u.db")) as client:
        widget = await client.http.get("/widget.js")
        assert widget.headers["cross-origin-resource-policy"] == "same-origin"


async def test_a_style_sheet_of_ones_own_comes_after_those_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "own.css").write_text(".bubble { border-radius: 0 }", encoding="utf-8")
    file = tmp_path / "page.toml"
    file.write_text('style = "own.css"\nhidden = ["tokens"]', encoding="utf-8")
    async with serving(settings(tmp_path / "t.db", page=file)) as client:
        page = (await client.http.get("/")).text
        sheets = re.findall(r'rel="stylesheet" href="([a-z]+)-', page)
        assert sheets == ["page", "theme", "own"]
        (own,) = re.findall(r'href="(own-[^"]+)"', page)
        assert (await client.http.get(f"/{own}")).text == ".bubble { border-radius: 0 }"
