"""Whether the server works: for who restarts it, and for who sends it requests."""

import asyncio
from pathlib import Path

import pytest

from tests.support.serving import Client, serving, settings
from tests.support.user_project import write_project
from tests.support.waiting import HeldMethod
from turnstream.graphs.offline import EXAMPLES
from turnstream.tools.builtin import CATALOGUE
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.solar import SOLAR_TOOLS


async def ready(client: Client) -> tuple[int, str]:
    answer = await client.http.get("/health/ready")
    body = answer.json()
    return answer.status_code, body.get("code") or body["status"]


async def test_a_server_is_live_and_ready(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        live = await client.http.get("/health/live")
        assert (live.status_code, live.json()) == (200, {"status": "live"})
        assert await ready(client) == (200, "ready")


async def test_a_server_that_ends_is_live_and_takes_no_more_runs(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        assert client.state
        await client.state["runs"].drain(0)
        assert await ready(client) == (503, "shutting_down")
        assert (await client.http.get("/health/live")).status_code == 200


async def test_a_server_whose_database_was_deleted_is_not_ready(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    async with serving(settings(path)) as client:
        path.unlink()
        async with asyncio.timeout(30):
            while (answer := await ready(client)) == (200, "ready"):
                pass  # it looks once a second
        assert answer == (503, "database_gone")


async def test_a_server_whose_database_does_not_answer_is_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnstream.server.http.info.READY_SECONDS", 0.05)
    async with serving(settings(tmp_path / "t.db")) as client:
        assert client.state
        held = HeldMethod(monkeypatch, client.state["store"], "holder")
        assert await ready(client) == (503, "storage_busy")
        held.through.set()


@pytest.mark.parametrize("host", ["10.0.0.5:8000", "[fd00::5]:8000", "turnstream.local"])
async def test_a_probe_may_ask_by_any_name_and_learns_nothing_else(
    tmp_path: Path, host: str
) -> None:
    own = settings(tmp_path / "t.db", allowed_hosts="127.0.0.1,chat.example.org")
    async with serving(own) as client:
        for path, status in (("", "ok"), ("/live", "live"), ("/ready", "ready")):
            answer = await client.http.get(f"/health{path}", headers={"Host": host})
            assert (answer.status_code, answer.json()) == (200, {"status": status})
        for path in ("/threads", "/", "/health/else", "/openapi.json", "/healthy"):
            answer = await client.http.get(path, headers={"Host": host})
            assert (answer.status_code, answer.json()["code"]) == (403, "host_not_allowed")
        named = await client.http.get("/health", headers={"Host": "chat.example.org"})
        assert named.json()["model"] == "offline"


@pytest.mark.parametrize(
    "head",
    ["HTTP/1.0", "HTTP/1.1\r\nHost:", "HTTP/1.1\r\nHost: ", "HTTP/1.0\r\nHost: 10.0.0.5"],
)
async def test_a_probe_may_name_no_host(tmp_path: Path, head: str) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        for path, status in (("", "ok"), ("/live", "live"), ("/ready", "ready")):
            answer = await answered(client, f"GET /health{path} {head}")
            assert answer.startswith("HTTP/1.1 200")
            assert answer.endswith(f'\r\n{{"status":"{status}"}}')
        for path in ("/threads", "/", "/health/else", "/openapi.json"):
            assert "host_not_allowed" in await answered(client, f"GET {path} {head}")


async def test_a_probe_by_a_malformed_name_is_refused(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        for host in ("a b", "evil.com/", "[::1", "x@y"):
            answer = await answered(client, f"GET /health HTTP/1.1\r\nHost: {host}")
            assert "host_not_allowed" in answer


async def answered(client: Client, head: str) -> str:
    """The bytes of an answer to a request of these lines."""
    url = client.http.base_url
    reader, writer = await asyncio.open_connection(url.host, url.port)
    writer.write(f"{head}\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer.decode()


async def about(client: Client) -> tuple[str | None, bool, list[str]]:
    """The model that answers, whether it is the offline one, and the prompts of the demo."""
    health = (await client.http.get("/health")).json()
    return health["model"], health["offline"], health["examples"]


async def test_the_prompts_of_the_demo_come_with_its_tools_alone(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        assert await about(client) == ("offline", True, list(EXAMPLES))
    others = Catalogue(tuple(t for t in CATALOGUE.real if t not in SOLAR_TOOLS), CATALOGUE.ui)
    async with serving(settings(tmp_path / "others.db"), others) as client:
        assert await about(client) == ("offline", True, [])


async def test_a_graph_of_ones_own_has_no_model_of_the_server_and_no_demo(tmp_path: Path) -> None:
    write_project(tmp_path / "project")
    own = settings(tmp_path / "t.db", graph=str(tmp_path / "project" / "langgraph.json"))
    async with serving(own) as client:
        assert await about(client) == (None, False, [])
