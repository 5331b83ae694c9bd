"""The page's files, with the headers that keep it in: a strict policy, no sniffing, no referrer.

Files are compressed, once each, and kept in memory; streams never come this way. `index.html` names
its files below an edition, `/@0123456789ab/js/main.js`: a browser keeps them for good and asks for
none of them again, until a file changes and with it the edition.
"""

import asyncio
import gzip
import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike, stat_result
from pathlib import Path
from typing import Self

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import Message, Receive, Scope, Send

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types lit-html dompurify",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Vary": "Accept-Encoding",
}
ASK_AGAIN = "no-cache"
"""Kept, and asked for with its ETag each time; 304 as long as it is the same."""
KEEP = "public, max-age=31536000, immutable"
"""For a year, without being asked for again: the longest that caches take seriously."""

MEDIA_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
"""Written down, since `mimetypes` reads tables of the machine. A file with none of these endings
is not served: the folder also holds what is for maintainers."""


INDEX = "index.html"
EDITION = re.compile(r"@[0-9a-f]{12}/(?=(?:css|js|vendor)/|icon\.svg$)")
FILE_OF_PAGE = re.compile(r'((?:href|src)=")((?:css|js|vendor)/|icon\.svg")')
"""As `index.html` names it."""


@dataclass(frozen=True)
class Edition:
    """The page's files, as they were when somebody asked for the page."""

    name: str
    """12 hex digits that change with any file: of the SHA-256 of names and contents."""
    versions: Mapping[Path, tuple[int, int]]
    """When each file was changed, in nanoseconds, and how many bytes it has."""

    @classmethod
    def of(cls, folder: Path) -> Self:
        whole, versions = hashlib.sha256(), {}
        for path in sorted(folder.rglob("*")):
            if path.suffix in MEDIA_TYPES:
                versions[path] = version = _version(path.stat())
                whole.update(f"{path.relative_to(folder)} ".encode())
                whole.update(_digest(path, *version))
        return cls(whole.hexdigest()[:12], versions)

    def has(self, path: Path, found: stat_result) -> bool:
        """False for a file that was changed since: kept for good under this name, it would be there
        again when the change is taken back."""
        return self.versions.get(path) == _version(found)


def _version(found: stat_result) -> tuple[int, int]:
    return found.st_mtime_ns, found.st_size


class Page(StaticFiles):
    def __init__(self, folder: Path) -> None:
        super().__init__(directory=folder, html=True)
        self._folder = folder.resolve()
        self._edition: Edition | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", ASK_AGAIN)
            await send(message)

        await super().__call__(scope, receive, with_headers)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Raises HTTPException; 404 for an address without a file, whatever the method."""
        if scope["method"] not in ("GET", "HEAD"):
            found = None
            with suppress(OSError, ValueError):  # a name that no file can have
                _, found = await asyncio.to_thread(self.lookup_path, path)
            raise HTTPException(405 if found else 404)
        return await super().get_response(path, scope)

    def get_path(self, scope: Scope) -> str:
        """A file below an edition that is not the current one is the current file."""
        path = super().get_path(scope)
        edition = EDITION.match(path)
        return path[edition.end() :] if edition else path

    def lookup_path(self, path: str) -> tuple[str, stat_result | None]:
        full_path, found = super().lookup_path(path)
        if self._edition is None or Path(path) == Path(INDEX):
            self._edition = Edition.of(self._folder)
        if Path(full_path).suffix in MEDIA_TYPES or Path(full_path).is_dir():
            return full_path, found
        return "", None

    def file_response(
        self,
        full_path: str | PathLike[str],
        stat_result: stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        path, asked = Path(full_path), Headers(scope=scope)
        edition = self._edition
        assert edition is not None, "a file is looked up before it is served"
        response = (
            _index(path, edition.name)
            if path.name == INDEX
            else FileResponse(
                path, status_code, media_type=MEDIA_TYPES[path.suffix], stat_result=stat_result
            )
        )
        if f"/@{edition.name}/" in scope["path"] and edition.has(path, stat_result):
            response.headers["Cache-Control"] = KEEP
        if "gzip" in asked.get("accept-encoding", ""):
            response = _compressed(response, path, stat_result)
        if self.is_not_modified(response.headers, asked):
            return NotModifiedResponse(response.headers)
        return response


def _index(path: Path, edition: str) -> Response:
    body = FILE_OF_PAGE.sub(rf"\1@{edition}/\2", path.read_text("utf-8")).encode()
    etag = f'"{hashlib.sha256(body).hexdigest()[:12]}"'
    return Response(body, media_type=MEDIA_TYPES[path.suffix], headers={"ETag": etag})


def _compressed(plain: Response, path: Path, found: stat_result) -> Response:
    """The ETag tells the two forms apart, as HTTP wants it."""
    body = (
        _packed(path, *_version(found))
        if isinstance(plain, FileResponse)
        else gzip.compress(plain.body, mtime=0)
    )
    response = Response(body, plain.status_code, plain.headers)
    response.headers["Content-Length"] = str(len(body))
    response.headers["Content-Encoding"] = "gzip"
    response.headers["ETag"] = plain.headers["ETag"].removesuffix('"') + '-gzip"'
    return response


@lru_cache(maxsize=256)
def _packed(path: Path, _mtime_ns: int, _size: int) -> bytes:
    return gzip.compress(path.read_bytes(), mtime=0)


@lru_cache(maxsize=256)
def _digest(path: Path, _mtime_ns: int, _size: int) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


def static_files(folder: Path) -> Page:
    """The app for every address that is no endpoint."""
    return Page(folder)
