"""`turnstream doctor`: each thing that keeps people from a server is found, with the way out."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.endpoint import StrictEndpoint
from tests.support.environment import isolate
from tests.support.foreign_lock import foreign_lock
from tests.support.redis_server import free_port
from tests.support.reverse_proxies import HOST, behind, block
from tests.support.serving import Client, serving, settings
from turnstream.server.__main__ import main
from turnstream.server.doctor import examine
from turnstream.server.doctor.proxy import examine_proxy
from turnstream.server.storage import database_file
from turnstream.server.storage.findings import Finding
from turnstream.server.storage.location import PostgresUrl

NGINX = block("deploy.md", "nginx", "/etc/nginx/conf.d/turnstream.conf")
PREFIXED = NGINX.replace(
    "    location / {",
    "    location /assistant/ { proxy_pass http://turnstream/; }\n    location / {",
)
NO_STREAMS = "location = /health/stream { return 502; } location / {"


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)


async def found(*arguments: str, url: str | None = None) -> list[Finding]:
    return [finding async for finding in examine(arguments, url)]


async def bad(*arguments: str) -> list[tuple[str, str]]:
    """Return the subjects and texts of what is not well."""
    return [(each.subject, each.text) for each in await found(*arguments) if each.level != "ok"]


async def test_a_new_server_has_no_fault(tmp_path: Path) -> None:
    findings = await found("--database", str(tmp_path / "t.db"))
    assert [each.subject for each in findings] == ["settings", "graph", "database", "model"]
    assert {each.level for each in findings} == {"ok"}
    assert not (tmp_path / "t.db").exists()


async def test_a_setting_that_is_wrong_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert await asyncio.to_thread(main, ["doctor", "--max-steps", "0"]) == 1
    line = capsys.readouterr().out
    assert line.startswith("fault    settings")
    assert "TURNSTREAM_MAX_STEPS" in line


async def test_an_address_without_a_scheme_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(["doctor", "--url", "chat.example.org"])
    assert exit.value.code == 2
    assert "https://chat.example.org" in capsys.readouterr().err


async def test_a_graph_that_cannot_be_loaded_is_named() -> None:
    [(subject, text)] = await bad("missing.py:graph")
    assert subject == "graph"
    assert "missing.py" in text


async def test_a_database_that_others_have_locked_is_found(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    async with serving(settings(path)):
        assert await bad("--database", str(path)) == []  # Beside a server that runs.
    with foreign_lock(path):
        [(subject, text)] = await bad("--database", str(path), "--busy-seconds", "0.1")
    assert subject == "database"
    assert "Wait until the other program has ended its transaction" in text


async def test_a_folder_that_is_not_there_and_a_disk_that_is_full_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [(_, text)] = await bad("--database", str(tmp_path / "none" / "t.db"))
    assert "cannot be made" in text
    monkeypatch.setattr(database_file, "LEAST_BYTES", 10**18)
    monkeypatch.setattr(database_file, "ENOUGH_BYTES", 10**18)
    [full] = [each for each in await found() if each.level == "fault"]
    assert "left on the disk" in full.text


async def test_a_model_server_is_asked_for_its_list_alone() -> None:
    async with StrictEndpoint() as endpoint:
        named = ("--model", "scripted", "--openai-base-url", endpoint.base_url)
        assert await bad(*named) == []
        assert endpoint.requests == []
    for model in ("scripted", "qwen2.5:7b"):
        [(subject, text)] = await bad("--model", model, *named[2:])
        assert subject == "model"
        assert "cannot be reached" in text
    assert await bad("--model", "offline", *named[2:]) == []


async def test_packages_that_workers_need_and_are_missing_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TURNSTREAM_DATABASE", "postgresql://me@127.0.0.1/t")
    monkeypatch.setenv("TURNSTREAM_REDIS", "redis://127.0.0.1")
    module = "turnstream.server.extensions.workers.examination"
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    [(subject, text)] = await bad()
    assert subject == "database"
    assert "turnstream[workers]" in text


async def test_postgres_and_redis_are_examined(
    postgres_url: PostgresUrl, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNSTREAM_DATABASE", postgres_url.secret)
    monkeypatch.setenv("TURNSTREAM_REDIS", redis_url)
    ok = {each.subject: each.text for each in await found() if each.level == "ok"}
    assert "answers and takes writes" in ok["database"]
    assert "answers and takes writes" in ok["redis"]
    [(subject, text)] = await bad("--database-connections", "10000")
    assert subject == "database"
    assert "max_connections" in text


async def test_a_postgres_and_a_redis_that_are_away_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("TURNSTREAM_DATABASE", f"postgresql://me:hunter2@{place}/t")
    monkeypatch.setenv("TURNSTREAM_REDIS", f"redis://:hunter2@{place}")
    faults = await bad()
    assert [subject for subject, _ in faults] == ["database", "redis"]
    assert "hunter2" not in str(faults)


@asynccontextmanager
async def examined(
    tmp_path: Path, program: str, site: str, path: str = "", **values: Any
) -> AsyncIterator[Sequence[Finding]]:
    """Yield the findings on a proxy with this configuration."""
    trusted = {"trusted_proxies": "127.0.0.1", "allowed_hosts": HOST, **values}
    async with serving(settings(tmp_path / "t.db", ping_seconds=0.4, **trusted)) as server:
        server.http.headers["Host"] = HOST
        address = server.url.removeprefix("http://")
        async with behind(program, site, tmp_path, address) as proxy:
            yield await examine_proxy(f"{proxy.url}{path}", proxy.http)


async def test_the_proxies_of_the_page_are_well(tmp_path: Path) -> None:
    async with examined(tmp_path, "nginx", NGINX) as findings:
        assert [each.level for each in findings] == ["ok"]
    caddy = block("deploy.md", "caddy", "/etc/caddy/Caddyfile")
    async with examined(tmp_path, "caddy", caddy) as findings:
        assert [each.level for each in findings] == ["ok"]


async def test_a_path_that_the_proxy_removes_is_known_to_the_server(tmp_path: Path) -> None:
    async with examined(tmp_path, "nginx", PREFIXED, "/assistant") as findings:
        assert "TURNSTREAM_PATH_PREFIX" in findings[0].text
    async with examined(tmp_path, "nginx", PREFIXED, "/assistant", path_prefix="/assistant") as ok:
        assert [each.level for each in ok] == ["ok"]


@pytest.mark.parametrize(
    ("line", "changed", "settings", "cure"),
    [
        ("location / {", "location / { proxy_ignore_headers X-Accel-Buffering;", {}, "buffered"),
        ("proxy_read_timeout 120s", "proxy_read_timeout 100ms", {}, "cut off"),
        ("proxy_http_version 1.1;", "", {}, "HTTP/1.0"),
        ("proxy_set_header Host $http_host;", "", {}, "TURNSTREAM_ALLOWED_HOSTS"),
        ("", "", {"trusted_proxies": ""}, "TURNSTREAM_TRUSTED_PROXIES"),
        ("", "", {"allowed_hosts": "localhost"}, f"add {HOST}"),
        ("location / {", NO_STREAMS, {}, "not by this server"),
    ],
)
async def test_a_proxy_that_spoils_streams_is_found(
    line: str, changed: str, settings: dict[str, str], cure: str, tmp_path: Path
) -> None:
    site = NGINX.replace(line, changed) if line else NGINX
    async with examined(tmp_path, "nginx", site, **settings) as findings:
        assert cure in " ".join(each.text for each in findings if each.level != "ok")


class Silent(httpx.AsyncByteStream):
    """The first event of a stream, and a silence that is longer than the reader waits."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b'data: {"scheme": "https", "http_version": "1.1"}\n\n'
        raise httpx.ReadTimeout("")


async def test_a_server_with_a_longer_silence_than_the_doctors_is_not_the_proxys_fault() -> None:
    async def answer(_request: httpx.Request) -> httpx.Response:
        headers = {"Content-Type": "text/event-stream", "Location": "/health/stream"}
        return httpx.Response(200, headers=headers, stream=Silent())

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        [finding] = await examine_proxy("https://chat.example.org", http)
    assert "TURNSTREAM_PING_SECONDS of the server" in finding.text


async def test_a_server_that_opens_no_further_stream_says_so_through_the_doctor(
    tmp_path: Path,
) -> None:
    async with (
        serving(settings(tmp_path / "t.db", ping_seconds=15)) as client,
        AsyncExitStack() as stack,
    ):
        for _ in range(8):
            await stack.enter_async_context(client.http.stream("GET", "/health/stream"))
        [finding] = await examine_proxy(client.url, client.http)
    assert "as many streams open as it may" in finding.text


async def test_an_answer_that_is_not_the_servers_is_a_finding() -> None:
    async def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers["Origin"] == "https://chat.example.org"
        kind = {"Content-Type": "application/problem+json"}
        return httpx.Response(502, headers=kind, content=b"<html>")

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        [finding] = await examine_proxy("https://ann:hunter2@chat.example.org", http)
    assert "as this server never does" in finding.text
    assert "hunter2" not in finding.text


async def test_streams_that_anybody_may_open_are_some_at_a_time(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db", ping_seconds=15)) as client:
        await some_at_a_time(client)


async def some_at_a_time(client: Client) -> None:
    async def opened(open: int) -> int:
        async with client.http.stream("GET", "/health/stream") as answer:
            return await opened(open + 1) if answer.status_code == 200 else open

    assert await opened(0) == 8
    assert (await client.http.get("/threads")).status_code == 200
