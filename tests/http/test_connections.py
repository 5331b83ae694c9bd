"""Clients that are slow, silent or too many: each is told, and none keeps the others out."""

import asyncio
import inspect
import json
import os
import re
import resource
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import h11
import pytest
from uvicorn.protocols.http.h11_impl import H11Protocol

from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint
from tests.support.forked_server import ForkedServer, forked_server
from tests.support.serving import (
    PROJECT,
    Client,
    endpoint_settings,
    serving,
    settings,
)
from tests.support.users import keys_settings
from tests.support.waiting import WAIT_SECONDS, until
from turnstream.server.accepting import ACCEPTS, LINGERING
from turnstream.server.app import PAGE
from turnstream.server.connections import MIN_BODY_RATE, READ_IN, Connection, most_connections

HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = (
    b"POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n"
)
CHUNKED = POST.replace(b"Content-Length: %d", b"Transfer-Encoding: chunked")
SHORT, LONG = 0.2, 60
"""Seconds: a limit that a test waits for, and one that it does not."""


class Peer:
    """A client at its socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def head(self) -> bytes:
        async with asyncio.timeout(WAIT_SECONDS):
            return await self.reader.readuntil(b"\r\n\r\n")

    async def rest(self) -> bytes:
        """All until the server closes."""
        async with asyncio.timeout(WAIT_SECONDS):
            return await self.reader.read()

    async def closed(self) -> None:
        """Wait until the server has closed, whatever it says before."""
        async with asyncio.timeout(WAIT_SECONDS):
            try:
                await self.reader.read()
            except ConnectionError:
                return

    async def trickle(self, piece: bytes, seconds: float) -> int:
        """Send a piece again and again until the server closes: how many it took."""
        closed, sent = asyncio.create_task(self.closed()), 0
        while not closed.done():
            self.send(piece)
            sent += 1
            await asyncio.wait([closed], timeout=seconds)
        await closed
        return sent


@asynccontextmanager
async def peers(url: str, count: int) -> AsyncIterator[list[Peer]]:
    port = int(url.rsplit(":", 1)[1])
    opened = [Peer(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(count)]
    try:
        yield opened
    finally:
        for each in opened:
            each.writer.transport.abort()


@asynccontextmanager
async def peer(client: Client) -> AsyncIterator[Peer]:
    async with peers(client.url, 1) as (one,):
        yield one


def limits(**short: float) -> dict[str, float]:
    """No limit but these is reached."""
    return {"header_seconds": LONG, "body_seconds": LONG, "keep_alive_seconds": LONG, **short}


def refused(answer: bytes) -> tuple[int, str, dict[str, Any], bytes]:
    """The status, code, problem and headers of an answer that closes its connection."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"\r\ncontent-type: application/problem+json" in head
    assert b"\r\nconnection: close" in head.lower()
    assert f"\r\ncontent-length: {len(body)}".encode() in head
    problem = json.loads(body)
    assert problem["status"] == int(head.split()[1])
    return problem["status"], problem["code"], problem, head


@pytest.fixture
async def endpoint() -> AsyncIterator[StrictEndpoint]:
    async with StrictEndpoint() as endpoint:
        yield endpoint


# Headers


async def test_a_silent_connection_is_closed_without_a_word(tmp_path: Path) -> None:
    async with (
        serving(settings(tmp_path / "t.db", **limits(header_seconds=SHORT))) as client,
        peer(client) as silent,
    ):
        assert await silent.rest() == b""
        await until(lambda: client.connections == 0)


async def test_half_sent_headers_are_answered_with_408(tmp_path: Path) -> None:
    async with (
        serving(settings(tmp_path / "t.db", **limits(header_seconds=SHORT))) as client,
        peer(client) as slow,
    ):
        slow.send(HEALTH[:20])
        status, code, problem, _ = refused(await slow.rest())
        assert (status, code) == (408, "request_timeout")
        assert "TURNSTREAM_HEADER_SECONDS" in problem["detail"]


async def test_headers_that_come_byte_by_byte_gain_no_time(tmp_path: Path) -> None:
    async with (
        serving(settings(tmp_path / "t.db", **limits(header_seconds=SHORT))) as client,
        peer(client) as slow,
    ):
        slow.send(b"GET /health HTTP/1.1\r\nX-Long: ")
        assert await slow.trickle(b"x", SHORT / 10) < 40


async def test_headers_of_a_later_request_have_their_own_limit(tmp_path: Path) -> None:
    async with (
        serving(settings(tmp_path / "t.db", **limits(header_seconds=SHORT))) as client,
        peer(client) as slow,
    ):
        slow.send(HEALTH)
        assert b" 200 OK" in await slow.head()
        slow.send(HEALTH[:20])
        answer = await slow.rest()
        assert refused(answer[answer.index(b"HTTP/1.1") :])[1] == "request_timeout"


async def test_a_connection_that_is_used_outlives_the_limit_of_headers(tmp_path: Path) -> None:
    async with (
        serving(settings(tmp_path / "t.db", **limits(header_seconds=SHORT))) as client,
        peer(client) as steady,
        peer(client) as silent,
    ):
        steady.send(HEALTH)
        await steady.head()
        await silent.closed()
        steady.send(HEALTH)
        assert b" 200 OK" in await steady.head()


# Bodies


async def test_a_half_sent_body_is_answered_with_408(tmp_path: Path) -> None:
    async with (
        serving(settings(tmp_path / "t.db", **limits(body_seconds=SHORT))) as client,
        peer(client) as slow,
    ):
        slow.send(POST % 100 + b'{"mess')
        status, code, problem, _ = refused(await slow.rest())
        assert (status, code) == (408, "request_timeout")
        assert "TURNSTREAM_BODY_SECONDS" in problem["detail"]
        await until(lambda: not client.server or not client.server.server_state.tasks)


async def test_a_body_that_trickles_gains_no_time(tmp_path: Path) -> None:
    async with (
        serving(settings(tmp_path / "t.db", **limits(body_seconds=SHORT))) as client,
        peer(client) as slow,
    ):
        slow.send(POST % 1_000_000)
        assert await slow.trickle(b" ", SHORT / 10) < 40


async def test_a_body_that_keeps_the_least_rate_may_take_longer(tmp_path: Path) -> None:
    size = 10 * MIN_BODY_RATE
    async with (
        serving(settings(tmp_path / "t.db", **limits(body_seconds=0.4))) as client,
        peer(client) as steady,
        peer(client) as slow,
    ):
        steady.send(POST % size + b"{")
        slow.send(POST % 100)
        closed, left = asyncio.create_task(slow.closed()), size - 1
        while not closed.done():
            steady.send(b" " * (MIN_BODY_RATE // 10))
            left -= MIN_BODY_RATE // 10
            await asyncio.wait([closed], timeout=SHORT / 20)
        steady.send(b" " * (left - 1) + b"}")
        assert b" 422 " in await steady.head()


async def test_a_body_that_came_fast_and_then_trickles_gains_no_time(tmp_path: Path) -> None:
    own = settings(tmp_path / "t.db", **limits(body_seconds=SHORT))
    async with serving(own) as client, peer(client) as slow:
        slow.send(POST % 1_000_000 + b"{" + b" " * 30 * MIN_BODY_RATE)
        assert await slow.trickle(b" ", SHORT / 10) < 40


async def test_a_whole_body_has_a_limit_that_chunk_extensions_do_not_extend(
    tmp_path: Path,
) -> None:
    short = limits(body_seconds=SHORT)
    own = settings(tmp_path / "t.db", **short, max_body_bytes=MIN_BODY_RATE // 10)
    async with serving(own) as client, peer(client) as slow:
        slow.send(CHUNKED)
        padded = b"1;" + b"x" * MIN_BODY_RATE + b"\r\n \r\n"
        assert await slow.trickle(padded, SHORT / 10) < 40


async def test_a_body_that_came_fast_may_not_pause_longer(tmp_path: Path) -> None:
    own = settings(tmp_path / "t.db", **limits(body_seconds=SHORT))
    async with serving(own) as client, peer(client) as slow:
        slow.send(POST % 1_000_000 + b" " * 30 * MIN_BODY_RATE)
        assert refused(await slow.rest())[1] == "request_timeout"


async def test_a_body_that_nobody_waits_for_any_more_ends_in_time(tmp_path: Path) -> None:
    async with (
        serving(settings(tmp_path / "t.db", **limits(body_seconds=SHORT))) as client,
        peer(client) as slow,
    ):
        slow.send(b"POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
        assert b" 405 " in await slow.head()
        assert await slow.trickle(b" " * 1000, SHORT / 10) < 40


# Between requests


async def test_a_half_sent_body_is_no_reason_to_stay_when_the_server_ends(tmp_path: Path) -> None:
    async with forked_server(tmp_path / "t.db", BODY_SECONDS=str(LONG)) as server:
        async with peers(server.url, 2) as (half, none):
            for peer in (half, none):
                peer.send(POST % 100)
            half.send(b"{")
            await server.client.http.get("/health")
            server.terminate()
            for peer in (half, none):
                answer = await peer.rest()
                assert b" 503 " in answer
                assert b'"shutting_down"' in answer
            assert await server.exit_status() == 0
        assert not [line for line in server.log if line.startswith(b"ERROR")]


async def test_an_idle_connection_is_closed(tmp_path: Path) -> None:
    async with (
        serving(settings(tmp_path / "t.db", **limits(keep_alive_seconds=SHORT))) as client,
        peer(client) as idle,
    ):
        idle.send(HEALTH)
        assert (await idle.rest()).count(b"HTTP/1.1") == 1


async def test_pipelined_requests_are_answered_in_order(tmp_path: Path) -> None:
    short = limits(keep_alive_seconds=SHORT, header_seconds=SHORT, body_seconds=SHORT)
    async with serving(settings(tmp_path / "t.db", **short)) as client, peer(client) as eager:
        missing = HEALTH.replace(b"/health", b"/missing.json")
        eager.send(HEALTH + missing + HEALTH)
        answer = await eager.rest()
        assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"200", b"404", b"200"]


async def test_a_half_sent_body_behind_another_request_is_answered_with_408(
    tmp_path: Path,
) -> None:
    async with (
        serving(settings(tmp_path / "t.db", **limits(body_seconds=SHORT))) as client,
        peer(client) as slow,
    ):
        slow.send(HEALTH + POST % 100 + b"{")
        assert b" 200 OK" in await slow.head()
        answer = await slow.rest()
        assert refused(answer[answer.index(b"HTTP/1.1") :])[1] == "request_timeout"


# Streams and readers


async def test_an_event_stream_outlives_all_limits(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    gate = asyncio.Event()
    endpoint.script(Reply((Say("One "), Pause(gate), Say("two."))))
    begins = 10 * SHORT  # An answer on a busy machine begins later than the other limits end.
    short = limits(keep_alive_seconds=SHORT, header_seconds=SHORT, body_seconds=begins)
    async with (
        serving(endpoint_settings(tmp_path / "t.db", endpoint, **short)) as client,
        client.chat({"message": "Count."}) as stream,
        peer(client) as owing,
    ):
        await stream.until("text-delta")
        attach = HEALTH.replace(b"/health", f"/chat/{stream.thread_id}/stream".encode())
        owing.send(attach[:-2] + b"Content-Length: 9\r\n\r\n")  # and no such body
        assert b" 200 OK" in await owing.head()
        for _ in range(12):  # each of them waits for a limit
            async with peer(client) as silent:
                await silent.closed()
        gate.set()
        assert (await stream.rest())[-1].data == "[DONE]"
        assert b"[DONE]" in await owing.rest()


async def test_who_reads_nothing_of_an_answer_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnstream.server.connections.UNREAD_SECONDS", SHORT)
    short = limits(keep_alive_seconds=SHORT, header_seconds=SHORT)
    async with serving(settings(tmp_path / "t.db", **short)) as client:
        port = int(client.url.rsplit(":", 1)[1])
        with socket.socket() as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.connect(("127.0.0.1", port))
            largest = max(PAGE.glob("*.js"), key=lambda path: path.stat().st_size)
            reader.sendall(HEALTH.replace(b"health", largest.name.encode()) * 40)
            await until(lambda: client.connections == 1)
            await until(lambda: client.connections == 0)


# Requests that are none


@pytest.mark.parametrize(
    "request_", [b"nonsense\r\n\r\n", HEALTH[:-2] + b"X-Long: " + b"x" * 70_000]
)
async def test_what_is_not_http_is_a_problem(request_: bytes, tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client, peer(client) as odd:
        odd.send(request_)
        assert refused(await odd.rest())[:2] == (400, "malformed_request")


async def test_a_body_with_bad_framing_is_a_problem(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client, peer(client) as odd:
        odd.send(CHUNKED + b"zz\r\n")
        assert refused(await odd.rest())[:2] == (400, "malformed_request")


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 2\r\nTransfer-Encoding: chunked",
        b"transfer-encoding: Chunked\r\ncontent-length: 2",
        b"Content-Length: 2\r\nContent-Length: 3",
        b"Content-Length: 2, 3",
        b"Content-Length: +2",
        b"Transfer-Encoding: gzip, chunked",
        b"Transfer-Encoding: identity\r\nContent-Length: 2",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding : chunked",
    ],
)
async def test_a_body_whose_end_others_could_see_elsewhere_is_refused(
    framing: bytes, tmp_path: Path
) -> None:
    request = CHUNKED.replace(b"Transfer-Encoding: chunked", framing) + b"2\r\n{}\r\n0\r\n\r\n"
    async with serving(keys_settings(tmp_path)) as client:
        for path in (b"/login", b"/logout", b"/chat"):
            async with peer(client) as odd:
                odd.send(request.replace(b"/chat", path))
                assert refused(await odd.rest())[:2] == (400, "malformed_request")
        assert client.state
        assert client.state["bodies"].together == client.state["anonymous_bodies"].together == 0


async def test_a_chunked_body_of_http_1_0_is_refused(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client, peer(client) as odd:
        odd.send(CHUNKED.replace(b"HTTP/1.1", b"HTTP/1.0") + b"2\r\n{}\r\n0\r\n\r\n")
        assert refused(await odd.rest())[:2] == (400, "malformed_request")


async def test_an_upgrade_to_a_websocket_is_declined(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client, peer(client) as odd:
        odd.send(HEALTH[:-2] + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        assert b" 200 OK" in await odd.head()


async def test_an_answer_waits_for_no_acknowledgement(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client, peer(client) as one:
        one.send(HEALTH)
        await one.head()
        assert client.server is not None
        (connection,) = client.server.server_state.connections
        accepted = connection.transport.get_extra_info("socket")
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


# The cap


async def test_one_too_many_is_refused_and_served_when_others_are_gone(tmp_path: Path) -> None:
    own = settings(tmp_path / "t.db", max_connections=20, **limits(header_seconds=4))
    async with serving(own) as client, peers(client.url, 20) as silent:
        await until(lambda: client.connections == 20)
        async with peer(client) as late:
            late.send(HEALTH)
            status, code, problem, head = refused(await late.rest())
        assert (status, code) == (503, "too_many_connections")
        assert "TURNSTREAM_MAX_CONNECTIONS" in problem["detail"]
        assert int(re.findall(rb"retry-after: (\d+)", head)[0]) > 0
        for each in silent:
            await each.closed()
        assert (await client.http.get("/health")).status_code == 200


async def test_as_many_as_the_cap_are_served_however_they_come(tmp_path: Path) -> None:
    """Those who come while others have just been let in, too."""
    own = settings(tmp_path / "t.db", max_connections=20, **limits())
    async with serving(own) as client:
        address = ("127.0.0.1", client.http.base_url.port)
        waves: list[socket.socket] = []
        try:
            for _ in range(10):
                waves += [socket.create_connection(address) for _ in range(2)]
                await asyncio.sleep(0)  # one turn of the loop that accepts
            await until(lambda: client.connections == 20)
        finally:
            for each in waves:
                each.close()


async def test_a_refused_client_that_is_still_sending_gets_its_answer(tmp_path: Path) -> None:
    own = settings(tmp_path / "t.db", max_connections=1, **limits())
    async with serving(own) as client, peer(client):
        await until(lambda: client.connections == 1)
        answer = await client.http.post("/chat", json={"message": "x" * 5_000_000})
        assert answer.status_code == 503
        assert answer.json()["code"] == "too_many_connections"


async def test_many_too_many_are_all_refused_at_once(tmp_path: Path) -> None:
    own = settings(tmp_path / "t.db", max_connections=1, **limits())
    async with serving(own) as client, peer(client):
        await until(lambda: client.connections == 1)
        async with peers(client.url, 2 * LINGERING + ACCEPTS) as late:
            for each in late:
                assert refused(await each.rest())[0] == 503


@pytest.mark.parametrize(
    ("wanted", "descriptors", "most"),
    [(0, 1024, 512), (0, 64, 32), (900, 1024, 900), (5000, 1024, 960), (90, 100, 50), (0, 1, 1)],
)
def test_descriptors_are_left_for_other_things(wanted: int, descriptors: int, most: int) -> None:
    assert most_connections(wanted, descriptors) == most


# No descriptors


def cpu_seconds(process_id: int) -> float:
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def leave_no_descriptor(server: ForkedServer) -> None:
    """Lower the process's limit to what it has open."""
    process_id = server.pid
    numbers = [int(path.name) for path in Path(f"/proc/{process_id}/fd").iterdir()]
    _, hard = resource.prlimit(process_id, resource.RLIMIT_NOFILE)
    resource.prlimit(process_id, resource.RLIMIT_NOFILE, (max(numbers) + 1, hard))


def warnings(server: ForkedServer) -> list[bytes]:
    """The log but for what is said at the start."""
    return [line for line in server.log if not line.startswith(b"INFO: ")]


async def answered(client: Client) -> bool:
    response = await client.http.get("/health")
    return response.status_code == 200


@pytest.mark.full
async def test_a_flood_beyond_the_descriptors_costs_little_and_passes(tmp_path: Path) -> None:
    async with (
        forked_server(tmp_path / "t.db", HEADER_SECONDS="4") as server,
        peer(server.client) as first,
    ):
        first.send(HEALTH)
        await first.head()
        first.send(HEALTH[:20])
        leave_no_descriptor(server)
        before = cpu_seconds(server.pid)
        async with peers(server.url, 300):
            await until(lambda: any(b"cannot accept connections" in line for line in server.log))
            await first.closed()  # which takes its seconds
        assert cpu_seconds(server.pid) - before < 0.5
        _, hard = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (hard, hard))
        assert await answered(server.client)
        assert len(warnings(server)) == 1
        assert b"Traceback" not in b"".join(server.log)


async def test_a_flood_leaves_descriptors_for_the_rest(tmp_path: Path) -> None:
    async with forked_server(
        tmp_path / "t.db", MAX_CONNECTIONS="20", HEADER_SECONDS="60"
    ) as server:
        before = cpu_seconds(server.pid)
        async with peers(server.url, 300) as flood:
            for each in flood[20:]:
                assert refused(await each.rest())[0] == 503
        assert cpu_seconds(server.pid) - before < 2
        while not await answered(server.client):  # it has yet to see that the flood is gone
            pass
        (warning,) = warnings(server)
        assert b"TURNSTREAM_MAX_CONNECTIONS" in warning


# What the modules rest on


def test_the_versions_that_were_read_are_the_pinned_ones() -> None:
    pins = (PROJECT / "constraints.txt").read_text().splitlines()
    for name, version in READ_IN.items():
        assert f"{name}=={version}" in pins, "read server/connections.py beside the new version"


async def test_uvicorn_and_h11_have_what_connections_rest_on(tmp_path: Path) -> None:
    for name in (
        *("connection_made", "connection_lost", "data_received"),
        *("on_response_complete", "send_400_response"),
    ):
        assert name in vars(H11Protocol), name
    parameters = list(inspect.signature(H11Protocol).parameters)
    assert parameters[:3] == ["config", "server_state", "app_state"]
    async with serving(settings(tmp_path / "t.db")) as client, peer(client) as one:
        one.send(POST % 100 + b"{")
        await until(lambda: client.connections == 1)
        assert client.server is not None
        assert client.server.servers == []  # uvicorn itself listens to nothing
        (connection,) = client.server.server_state.connections
        assert isinstance(connection, Connection)
        await until(lambda: connection.cycle)
        assert connection.conn.their_state is h11.SEND_BODY
        assert connection.conn.our_state is h11.SEND_RESPONSE
        assert connection.conn.trailing_data == (b"", False)
        cycle = vars(connection.cycle)
        for name in ("disconnected", "response_started", "response_complete"):
            assert cycle[name] is False
        assert isinstance(cycle["message_event"], asyncio.Event)
        assert isinstance(client.server.server_state.default_headers, list)
        assert connection.timeout_keep_alive == settings(tmp_path / "t.db").keep_alive_seconds
