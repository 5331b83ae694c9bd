"""The page's files: vendored bytes, what is built, headers, and where HTML may be made."""

import hashlib
import json
import os
import re
from pathlib import Path

import httpx
import pytest

from tests.browser.conftest import own_profile
from tests.browser.site import Visit
from tests.support.serving import Client, serving, settings
from turnstream.server.app import PAGE, STATIC
from turnstream.server.http.static import static_files

VENDOR = STATIC / "vendor"
MAKES_HTML = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|unsafeHTML|createContextualFragment|document\.write"
    r"|DOMPurify|\beval\(|new Function"
)
IMPORT = re.compile(
    r'(?:from|import) *\(?"([^"]+)"|new URL\("([^"]+)", import\.meta\.url\)', re.ASCII
)

MAX_FIRST_LOAD_REQUESTS, MAX_FIRST_LOAD_BYTES = 25, 130_000
"""Of all that is asked for, and of the compressed bodies."""
SIZES = """() => performance.getEntries()
  .filter((entry) => "encodedBodySize" in entry)
  .map(({ name, encodedBodySize }) => [new URL(name).pathname, encodedBodySize])
"""
SENT = """() => performance.getEntries()
  .filter(({ name, transferSize }) => /-[0-9A-Z]{8}[.]/.test(name) && transferSize > 0)
  .map(({ name }) => name)
"""
HASHED = re.compile(r"[\w.-]+-[0-9A-Z]{8}\.(?:css|js|svg)(?:\.map)?")


def address_of(name: str) -> str:
    """The address of a built file, by the beginning and the end of its name."""
    (found,) = PAGE.glob(name)
    return f"/{found.name}"


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
        for name in map("".join, IMPORT.findall(path.read_text())):
            assert name.startswith("."), (path, name)
            assert name == "." or (path.parent / name).resolve().is_file(), (path, name)


def test_the_page_has_no_inline_script_or_style() -> None:
    page = (STATIC / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page)
    assert not re.search(r"(?:href|src)=\"(?:https?:)?//", page)


@own_profile
async def test_the_first_load_has_no_more_requests_and_bytes_than_it_may(visit: Visit) -> None:
    await visit.page.wait_for_load_state("networkidle")
    sizes: list[tuple[str, int]] = await visit.page.evaluate(SIZES)
    assert {"/", "/me", *named_in((PAGE / "index.html").read_text())} - {*dict(sizes)} == {
        address_of("icon-*.svg")
    }
    assert len(sizes) <= MAX_FIRST_LOAD_REQUESTS, sizes
    assert sum(size for _, size in sizes) <= MAX_FIRST_LOAD_BYTES, sizes


def test_all_that_is_built_but_the_page_has_the_hash_of_its_content_in_its_name() -> None:
    names = {path.name for path in PAGE.iterdir()}
    stable = {"index.html", "widget.js", "widget.js.map", "texts.json"}
    assert {name for name in names if not HASHED.fullmatch(name)} == stable
    code = {name for name in names if name.endswith((".js", ".css"))}
    assert {name for name in names if name.endswith(".map")} == {f"{name}.map" for name in code}
    for name in code:
        assert f"sourceMappingURL={name}.map" in (PAGE / name).read_text()


@pytest.mark.parametrize("name", ["index.html", "chunk-*.js", "page-*.css", "chunk-*.js.map"])
async def test_every_file_is_served_under_the_strict_policy(client: Client, name: str) -> None:
    answer = await client.http.get(f"/{next(PAGE.glob(name)).name}")
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"].split("; ")
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "connect-src 'self'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


async def test_a_script_has_the_type_that_nosniff_asks_for_and_is_compressed(
    client: Client,
) -> None:
    address = address_of("uPlot.esm-*.js")
    packed = await client.http.get(address)
    assert packed.headers["content-type"].startswith("text/javascript")
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < 30_000
    plain = await client.http.get(address, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == packed.content
    assert plain.headers["etag"] != packed.headers["etag"]


def named_in(page: str) -> list[str]:
    """The addresses of the files that `index.html` names."""
    return [f"/{name}" for name in re.findall(r'(?:href|src)="([^"#]+)"', page)]


async def test_what_the_page_names_is_kept_for_good_and_the_page_itself_asked_for_again(
    client: Client,
) -> None:
    page = await client.http.get("/")
    assert page.headers["cache-control"] == "no-cache"
    same = await client.http.get("/", headers={"If-None-Match": page.headers["etag"]})
    assert same.status_code == 304
    assert same.headers["content-security-policy"]
    named = named_in(page.text)
    assert address_of("icon-*.svg") in named
    for address in (*named, address_of("keys-dialog-*.js"), address_of("keys-*.css.map")):
        answer = await client.http.get(address)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"


async def test_a_page_that_was_built_anew_is_no_earlier_one_though_its_time_and_size_are_the_same(
    tmp_path: Path,
) -> None:
    tags = set()
    for name in ("main-0123ABCD.js", "main-4567EFGH.js"):
        (folder := tmp_path / name).mkdir()
        (folder / "index.html").write_text(name)
        os.utime(folder / "index.html", (0, 0))
        app = httpx.ASGITransport(static_files(folder))
        async with httpx.AsyncClient(transport=app, base_url="http://test") as http:
            tags.add((await http.get("/")).headers["etag"])
    assert len(tags) == 2


async def test_the_sources_are_served_too_and_asked_for_again_each_time(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db"), page=STATIC) as client:
        for address in ("/", "/js/main.js", "/css/base.css", "/vendor/lit-html/lit-html.js"):
            answer = await client.http.get(address)
            assert answer.status_code == 200
            assert answer.headers["cache-control"] == "no-cache"
        assert '"js/main.js"' in (await client.http.get("/")).text
        for address in ("/vendor/vendor.py", "/build.mjs", "/vendor/marked/LICENSE"):
            assert (await client.http.get(address)).status_code == 404


async def test_a_reload_asks_for_the_page_alone_and_for_none_of_its_files(visit: Visit) -> None:
    await visit.page.wait_for_load_state("networkidle")
    asked: list[str] = []
    visit.note_requests(lambda request: asked.append(request.url))
    await visit.page.reload()
    await visit.page.wait_for_load_state("networkidle")
    assert len([url for url in asked if HASHED.search(url)]) >= 3
    assert await visit.page.evaluate(SENT) == []


async def test_streams_are_never_compressed(client: Client) -> None:
    async with client.chat({"message": "Hello"}, headers={"Accept-Encoding": "gzip"}) as stream:
        assert "content-encoding" not in stream.response.headers
        await stream.rest()


@pytest.mark.parametrize(
    "path",
    ["/js/main.js", "/../pyproject.toml", "/%2e%2e/index.html", "/%2e%2e/icon.svg", "/nope.js"],
)
async def test_what_is_not_of_the_page_is_not_served(client: Client, path: str) -> None:
    answer: httpx.Response = await client.http.get(path)
    assert answer.status_code == 404
