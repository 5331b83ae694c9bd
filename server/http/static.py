"""The page's files, with the headers that keep it in: a strict policy, no sniffing, no referrer.

Files are compressed, once each, and kept in memory; streams never come this way.
"""

import gzip
from functools import lru_cache
from os import PathLike, stat_result
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
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
    "Cache-Control": "no-cache",
    "Vary": "Accept-Encoding",
}
"""`no-cache`: kept, and asked for with its ETag each time; 304 as long as it is the same."""

MEDIA_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
"""Written down, since `mimetypes` reads tables of the machine. A file with none of these endings
is not served: the folder also holds what is for maintainers."""


class Page(StaticFiles):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await super().__call__(scope, receive, with_headers)

    def lookup_path(self, path: str) -> tuple[str, stat_result | None]:
        full_path, found = super().lookup_path(path)
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
        response: Response = FileResponse(
            path, status_code, media_type=MEDIA_TYPES[path.suffix], stat_result=stat_result
        )
        if "gzip" in asked.get("accept-encoding", ""):
            packed = _packed(path, stat_result.st_mtime_ns, stat_result.st_size)
            response = _compressed(response, packed)
        if self.is_not_modified(response.headers, asked):
            return NotModifiedResponse(response.headers)
        return response


@lru_cache(maxsize=256)
def _packed(path: Path, _mtime_ns: int, _size: int) -> bytes:
    return gzip.compress(path.read_bytes(), mtime=0)


def _compressed(plain: Response, body: bytes) -> Response:
    """The ETag tells the two forms apart, as HTTP wants it."""
    response = Response(body, plain.status_code)
    response.headers["Content-Encoding"] = "gzip"
    response.headers["Content-Type"] = plain.headers["Content-Type"]
    response.headers["Last-Modified"] = plain.headers["Last-Modified"]
    response.headers["ETag"] = plain.headers["ETag"].removesuffix('"') + '-gzip"'
    return response


def static_files(directory: Path) -> Page:
    """The app for every address that is no endpoint."""
    return Page(directory=directory, html=True)
