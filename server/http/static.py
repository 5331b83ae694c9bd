"""The page's files, with the headers that keep it in: a strict policy, no sniffing, no referrer.

Files are compressed, once each, and kept in memory; streams never come this way. Names of built
files have the hash of their content: a browser keeps them for good, and asks for all others again.
"""

import asyncio
import gzip
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from os import PathLike, stat_result
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import Message, Receive, Scope, Send

from turnstream.tools.components import Component

WIDGET = "widget.js"
"""The script by which a page of another site shows ours in a frame."""
_DIRECTIVES = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types lit-html dompurify",
)


def policy(frame_ancestors: Sequence[str] = ()) -> str:
    """The page's Content-Security-Policy. `frame_ancestors`: origins whose pages may show it in a
    frame."""
    ancestors = " ".join(frame_ancestors) or "'none'"
    return "; ".join((*_DIRECTIVES, f"frame-ancestors {ancestors}"))


POLICY = policy()
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
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
"""Written down, since `mimetypes` reads tables of the machine. A file with none of these endings
is not served: the folder also holds what is for maintainers."""


HASHED = re.compile(r"-[0-9A-Z]{8}\.(?:css|js|png|svg|webp|woff2)(?:\.map)?$")
"""A name with the hash of its content, as `static/build.mjs` and the page's file give it."""


class Page(StaticFiles):
    cache_control = ASK_AGAIN

    def __init__(
        self,
        folder: Path,
        *,
        html: bool = True,
        made: Mapping[str, bytes] | None = None,
        frame_ancestors: Sequence[str] = (),
    ) -> None:
        """`html`: the address of a folder is that of its index.html; `made`: files by name that
        stand before those of the folder; `frame_ancestors`: see `policy`."""
        super().__init__(directory=folder, html=html)
        files = (made or {}).items()
        self.made = {
            name: (file, gzip.compress(file, mtime=0), hashlib.sha256(file).hexdigest()[:12])
            for name, file in files
        }
        self.headers = {**HEADERS, "Content-Security-Policy": policy(frame_ancestors)}
        self.is_embedded = bool(frame_ancestors)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(self.headers)
                if self.is_embedded and scope["path"] == f"/{WIDGET}":
                    headers["Cross-Origin-Resource-Policy"] = "cross-origin"
                headers.setdefault("Cache-Control", self.cache_control)
            await send(message)

        await super().__call__(scope, receive, with_headers)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Raises HTTPException; 404 for an address without a file, whatever the method."""
        if scope["method"] not in ("GET", "HEAD"):
            is_there = _name_of(path) in self.made
            with suppress(OSError, ValueError):  # a name that no file can have
                _, found = await asyncio.to_thread(self.lookup_path, path)
                is_there = is_there or found is not None
            raise HTTPException(405 if is_there else 404)
        if (name := _name_of(path)) in self.made:
            return self._made_response(name, Headers(scope=scope))
        return await super().get_response(path, scope)

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
        version = stat_result.st_mtime_ns, stat_result.st_size
        # Not of its time and size: two builds of index.html may have both alike.
        headers = {"ETag": f'"{_digest(path, *version)}"'}
        if HASHED.search(path.name):
            headers["Cache-Control"] = KEEP
        response: Response = FileResponse(
            path, status_code, headers, MEDIA_TYPES[path.suffix], stat_result=stat_result
        )
        if "gzip" in asked.get("accept-encoding", ""):
            response = _compressed(response, _packed(path, *version))
        if self.is_not_modified(response.headers, asked):
            return NotModifiedResponse(response.headers)
        return response

    def _made_response(self, name: str, asked: Headers) -> Response:
        (content, packed, digest), kind = self.made[name], MEDIA_TYPES[Path(name).suffix]
        headers = {"ETag": f'"{digest}"'}
        if HASHED.search(name):
            headers["Cache-Control"] = KEEP
        response = Response(content, 200, headers, kind)
        if "gzip" in asked.get("accept-encoding", ""):
            response = _compressed(response, packed)
        if self.is_not_modified(response.headers, asked):
            return NotModifiedResponse(response.headers)
        return response


def _name_of(path: str) -> str:
    """The name of a file by its path; the folder's is that of its index.html."""
    return "index.html" if path in ("", ".") else path


def _compressed(plain: Response, body: bytes) -> Response:
    """The ETag tells the two forms apart, as HTTP wants it."""
    response = Response(body, plain.status_code, plain.headers)
    response.headers["Content-Length"] = str(len(body))
    response.headers["Content-Encoding"] = "gzip"
    response.headers["ETag"] = plain.headers["ETag"].removesuffix('"') + '-gzip"'
    return response


@lru_cache(maxsize=256)
def _packed(path: Path, _mtime_ns: int, _size: int) -> bytes:
    return gzip.compress(path.read_bytes(), mtime=0)


@lru_cache(maxsize=256)
def _digest(path: Path, _mtime_ns: int, _size: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


class ComponentFiles(Page):
    """The files of a component, which the parameter `file` of a route names."""

    cache_control = KEEP

    def __init__(self, component: Component) -> None:
        super().__init__(component.folder, html=False)
        self.component = component
        self.version = _version(component.folder)

    def get_path(self, scope: Scope) -> str:
        return str(scope["path_params"]["file"])

    def lookup_path(self, path: str) -> tuple[str, stat_result | None]:
        return super().lookup_path(path) if _is_served(Path(path)) else ("", None)


def _is_served(path: Path) -> bool:
    """A path in a component's folder is not of what tools keep there."""
    return not any(name[0] == "." or name == "node_modules" for name in path.parts)


def _version(folder: Path) -> str:
    """Return a hash of the files of a folder that are served."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        if path.suffix in MEDIA_TYPES and _is_served(inner) and path.is_file():
            content = path.read_bytes()
            digest.update(f"{inner.as_posix()}\n{len(content)}\n".encode())
            digest.update(content)
    return digest.hexdigest()[:12]


def component_files(components: Iterable[Component]) -> Mapping[str, ComponentFiles]:
    """The files of the components, by name."""
    return {component.name: ComponentFiles(component) for component in components}


def static_files(
    folder: Path,
    made: Mapping[str, bytes] | None = None,
    frame_ancestors: Sequence[str] = (),
) -> Page:
    """The app for every address that is no endpoint. `made` and `frame_ancestors`: see `Page`."""
    return Page(folder, made=made, frame_ancestors=frame_ancestors)
