"""nginx and Caddy on a loopback port, with the very configurations of docs/deploy.md.

Only what a machine decides is replaced: addresses, ports and the certificate, which is self-signed.
"""

import asyncio
import os
import re
import shutil
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.support.serving import PROJECT, Client
from tests.support.waiting import WAIT_SECONDS, eventually

HOST = "chat.example.org"
SERVER, LOGIN_PROXY = "127.0.0.1:8000", "127.0.0.1:4180"
"""The addresses of turnstream and of oauth2-proxy in the page."""
PACKAGES = {
    "nginx": "nginx-light",
    "caddy": "caddy",
    "openssl": "openssl",
    "sqlite3": "sqlite3",
}

NGINX = """
daemon off;
{user}
pid {folder}/nginx.pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    gzip on;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {site}
}}
"""
CADDY = """
{{
    admin off
    auto_https disable_redirects
    storage file_system {folder}
    servers {{
        protocols h1 h2
    }}
}}
{site}
"""


def block(page: str, language: str, beginning: str) -> str:
    """The fenced block of a page in docs/ whose first line is a comment that is just this."""
    text = (PROJECT / "docs" / page).read_text(encoding="utf-8")
    for found in re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        if found.partition("\n")[0] == f"# {beginning}":
            return str(found)
    raise AssertionError(f"docs/{page} has no {language} block of {beginning!r}")


def variables(page: str, beginning: str) -> dict[str, str]:
    """The settings of an environment file in docs/, by their names in `Settings`."""
    lines = block(page, "ini", beginning).splitlines()
    pairs = (line.split("=", 1) for line in lines if line and not line.startswith("#"))
    return {name.removeprefix("TURNSTREAM_").lower(): value for name, value in pairs}


def require(*programs: str) -> None:
    """Skip without these programs, but never under CI."""
    missing = [program for program in programs if shutil.which(program, path=search_path()) is None]
    if not missing:
        return
    reason = f"install what is missing: apt install {' '.join(PACKAGES[name] for name in missing)}"
    if os.environ.get("CI"):
        pytest.fail(f"{reason}; under CI none of these tests may be skipped")
    pytest.skip(reason)


def search_path() -> str:
    """Debian has nginx in a folder that only root's PATH names."""
    return os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin"))


@dataclass(frozen=True)
class Certificate:
    folder: Path

    @property
    def chain(self) -> Path:
        return self.folder / "fullchain.pem"

    @property
    def key(self) -> Path:
        return self.folder / "privkey.pem"


async def self_signed(folder: Path) -> Certificate:
    certificate = Certificate(folder)
    process = await asyncio.create_subprocess_exec(
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
        *("-nodes", "-days", "2", "-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"),
        *("-out", certificate.chain, "-keyout", certificate.key),
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    assert process.returncode == 0, said.decode()
    return certificate


class ToLoopback(httpx.AsyncHTTPTransport):
    """Finds the host of the page on this machine; name, Host and certificate stay its own."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        # A copy: the client keeps cookies by the request's own address.
        sent = httpx.Request(
            request.method,
            request.url.copy_with(host="127.0.0.1"),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": HOST},
        )
        return await super().handle_async_request(sent)


@asynccontextmanager
async def behind(
    program: str, site: str, folder: Path, server: str, login_proxy: str = LOGIN_PROXY
) -> AsyncIterator[Client]:
    """A browser's way through the proxy `program` to turnstream at `server`. `site` is its
    configuration as the page has it; both addresses are `host:port`."""
    require(program, "openssl")
    certificate = await self_signed(folder)
    with socket.socket() as free, socket.socket() as other:
        free.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        ports = {"443": free.getsockname()[1], "80": other.getsockname()[1]}
    placed = site.replace(SERVER, server).replace(LOGIN_PROXY, login_proxy)
    write = _nginx_command if program == "nginx" else _caddy_command
    command = write(placed, folder, certificate, ports)
    async with _running(command, folder) as process, _https(certificate, ports["443"]) as http:
        await eventually(lambda: _answers(http, process))
        yield Client(http)


def _nginx_command(
    site: str, folder: Path, certificate: Certificate, ports: Mapping[str, int]
) -> list[str]:
    placed = re.sub(r"listen (\d+)", lambda found: f"listen 127.0.0.1:{ports[found[1]]}", site)
    placed = placed.replace(f"/etc/letsencrypt/live/{HOST}", str(certificate.folder))
    user = "user root;" if os.geteuid() == 0 else ""
    file = folder / "nginx.conf"
    file.write_text(NGINX.format(folder=folder, user=user, site=placed))
    return ["nginx", "-e", "stderr", "-p", str(folder), "-c", str(file)]


def _caddy_command(
    site: str, folder: Path, certificate: Certificate, ports: Mapping[str, int]
) -> list[str]:
    address = f"https://{HOST}:{ports['443']} {{\n    bind 127.0.0.1\n"
    tls = f"    tls {certificate.chain} {certificate.key}\n"
    file = folder / "Caddyfile"
    placed = site.replace(f"{HOST} {{\n", address + tls)
    file.write_text(CADDY.format(folder=folder, site=placed))
    return ["caddy", "run", "--config", str(file), "--adapter", "caddyfile"]


@asynccontextmanager
async def _running(command: list[str], folder: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """The proxy's process; what it has said is shown when a test fails."""
    log = folder / "proxy.log"
    with log.open("wb") as said:
        process = await asyncio.create_subprocess_exec(
            *command,
            env={"PATH": search_path(), "HOME": str(folder)},
            stdout=said,
            stderr=said,
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        sys.stderr.write(log.read_text(errors="replace"))


@asynccontextmanager
async def _https(certificate: Certificate, port: int) -> AsyncIterator[httpx.AsyncClient]:
    trusted = ssl.create_default_context(cafile=certificate.chain)
    async with httpx.AsyncClient(
        base_url=f"https://{HOST}:{port}",
        transport=ToLoopback(verify=trusted),
        timeout=WAIT_SECONDS,
    ) as http:
        yield http


async def _answers(http: httpx.AsyncClient, process: asyncio.subprocess.Process) -> bool:
    assert process.returncode is None, "the proxy has ended"
    try:
        return (await http.get("/health")).status_code == 200
    except httpx.TransportError:
        return False
