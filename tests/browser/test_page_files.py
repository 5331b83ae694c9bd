"""The page's files: vendored bytes, headers, and where HTML may be made."""

import hashlib
import json
import re
from pathlib import Path

import httpx
import pytest

from tests.browser.conftest import own_profile
from tests.browser.site import Visit
from tests.support.serving import Client
from turnstream.server.app import STATIC
from turnstream.server.http.static import static_files

VENDOR = STATIC / "vendor"
MAKES_HTML = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|unsafeHTML|createContextualFragment|document\.write"
    r"|DOMPurify|\beval\(|new Function"
)

MAX_FIRST_LOAD_BYTES = 189_000
"""Of compressed bodies. What is seldom used is loaded when it is."""
SIZES = """() => Object.fromEntries(
  performance.getEntries()
    .filter((entry) => "encodedBodySize" in entry)
    .map(({ name, encodedBodySize }) =>
      [new URL(name).pathname.replace(/^\\/@[0-9a-f]+/, ""), encodedBodySize])
)"""

SENT = """() => performance.getEntries()
  .filter(({ name, transferSize }) => name.includes("/@") && transferSize > 0)
  .map(({ name }) => name)
"""


def own_modules() -> list[Path]:
    return sorted((STATIC / "js").rglob("*.js"))


def test_vendored_files_are_those_of_the_list_byte_for_byte() -> None:
    packages = json.loads((VENDOR / "VENDOR.json").read_text())["packages"]
    listed = {file["file"]: file["sha256"] for package in packages for file in package["files"]}
    found = {
        str(path.relative_to(VENDOR)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.rglob("*")
        if path.is_file() and path.name not in ("VENDOR.json", "vendor.py")
    }
    assert found == listed


def test_every_vendored_package_has_its_licence() -> None:
    for package in json.loads((VENDOR / "VENDOR.json").read_text())["packages"]:
        assert package["licence"]
        assert any("LICENSE" in file["file"] for file in package["files"]), package["name"]


def test_only_the_markdown_module_makes_html() -> None:
    makers = [path.name for path in own_modules() if MAKES_HTML.search(path.read_text())]
    assert makers == ["markdown.js"]


def test_every_import_is_relative_and_leads_to_a_file() -> None:
    for path in own_modules():
        for name in re.findall(r'(?:from|import)\s*\(?"([^"]+)"', path.read_text()):
            assert name.startswith("."), (path, name)
            assert (path.parent / name).resolve().is_file(), (path, name)


def test_the_page_has_no_inline_script_or_style() -> None:
    page = (STATIC / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page)
    assert not re.search(r"(?:href|src)=\"(?:https?:)?//", page)


@own_profile
async def test_the_first_load_weighs_no_more_than_it_may(visit: Visit) -> None:
    await visit.page.wait_for_load_state("networkidle")
    sizes: dict[str, int] = await visit.page.evaluate(SIZES)
    assert "/js/main.js" in sizes
    assert sum(sizes.values()) <= MAX_FIRST_LOAD_BYTES, sizes


@pytest.mark.parametrize("path", ["/", "/js/main.js", "/css/base.css", "/vendor/VENDOR.json"])
async def test_every_file_is_served_under_the_strict_policy(client: Client, path: str) -> None:
    answer = await client.http.get(path)
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"].split("; ")
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "connect-src 'self'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


async def test_scripts_have_the_type_that_nosniff_asks_for(client: Client) -> None:
    answer = await client.http.get("/js/main.js")
    assert answer.headers["content-type"].startswith("text/javascript")


async def test_a_file_is_compressed_and_asked_for_again_with_its_etag(client: Client) -> None:
    first = await client.http.get("/vendor/uplot/uPlot.esm.js")
    assert first.headers["content-encoding"] == "gzip"
    assert int(first.headers["content-length"]) < 60_000
    again = await client.http.get(
        "/vendor/uplot/uPlot.esm.js", headers={"If-None-Match": first.headers["etag"]}
    )
    assert again.status_code == 304
    assert again.headers["content-security-policy"]
    plain = await client.http.get("/js/main.js", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.headers["etag"] != (await client.http.get("/js/main.js")).headers["etag"]


def named_in(page: str) -> list[str]:
    """The page's files, as `index.html` names them."""
    return re.findall(r'(?:href|src)="(@[^"]+)"', page)


async def test_what_the_page_names_is_kept_for_good_and_the_page_itself_asked_for_again(
    client: Client,
) -> None:
    page = await client.http.get("/")
    assert page.headers["cache-control"] == "no-cache"
    named = named_in(page.text)
    assert {re.sub("^@[0-9a-f]{12}", "", name) for name in named} >= {"/js/main.js", "/icon.svg"}
    assert len(named) == len(re.findall(r'(?:href|src)="(?!#)', page.text))
    for name in named:
        answer = await client.http.get(name)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"


async def test_a_file_below_another_edition_or_none_is_the_current_one_and_asked_for_again(
    client: Client,
) -> None:
    edition = named_in((await client.http.get("/")).text)[0].partition("/")[0]
    current = await client.http.get(f"{edition}/js/main.js")
    for path in ("/js/main.js", "/@0123456789ab/js/main.js"):
        answer = await client.http.get(path)
        assert answer.headers["cache-control"] == "no-cache"
        assert answer.content == current.content
    for path in ("", "/", "/index.html", "/nope.js", "/vendor/vendor.py", "/../pyproject.toml"):
        assert (await client.http.get(edition + path)).status_code == 404


async def test_a_file_that_is_changed_while_the_server_runs_is_in_an_edition_of_its_own(
    tmp_path: Path,
) -> None:
    (tmp_path / "js").mkdir()
    (tmp_path / "index.html").write_text('<script type="module" src="js/main.js"></script>')
    main = tmp_path / "js" / "main.js"
    main.write_text("first")
    app = httpx.ASGITransport(static_files(tmp_path))
    async with httpx.AsyncClient(transport=app, base_url="http://test") as http:
        first = await http.get("/")
        (name,) = named_in(first.text)
        main.write_text("second, longer")
        changed = await http.get(name)
        assert changed.text == "second, longer"
        assert changed.headers["cache-control"] == "no-cache", "the first edition has other words"
        again = await http.get("/", headers={"If-None-Match": first.headers["etag"]})
        assert again.status_code == 200
        (other,) = named_in(again.text)
        assert other != name
        assert "immutable" in (await http.get(other)).headers["cache-control"]
        assert (await http.get(name)).headers["cache-control"] == "no-cache"
        same = await http.get("/", headers={"If-None-Match": again.headers["etag"]})
        assert same.status_code == 304


async def test_a_reload_asks_for_the_page_alone_and_for_none_of_its_files(visit: Visit) -> None:
    await visit.page.wait_for_load_state("networkidle")
    asked: list[str] = []
    visit.note_requests(lambda request: asked.append(request.url))
    await visit.page.reload()
    await visit.page.wait_for_load_state("networkidle")
    assert len([url for url in asked if "/@" in url]) > 100
    assert await visit.page.evaluate(SENT) == []


async def test_streams_are_never_compressed(client: Client) -> None:
    async with client.chat({"message": "Hello"}, headers={"Accept-Encoding": "gzip"}) as stream:
        assert "content-encoding" not in stream.response.headers
        await stream.rest()


@pytest.mark.parametrize(
    "path",
    ["/vendor/vendor.py", "/../pyproject.toml", "/%2e%2e/pyproject.toml", "/js", "/nope.js"],
)
async def test_what_is_not_of_the_page_is_not_served(client: Client, path: str) -> None:
    answer: httpx.Response = await client.http.get(path)
    assert answer.status_code == 404
