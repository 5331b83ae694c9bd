"""No request, model or client costs the server: whatever they send, /health is answered, and
SIGTERM ends the process in time.

Each test is a class of attacks on one server process, which it ends when they are over.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import strategies as st

from tests.attacks.test_patterns import TEXTS
from tests.attacks.test_tools_schema_costs import ATTACKS as SCHEMAS
from tests.runs.test_misbehaving_models import ATTACKS as FRAGMENTS
from tests.runs.test_misbehaving_models import MALFORMED
from tests.support import hostile_bodies, hostile_models, hostile_schemas
from tests.support.backend import backend, message
from tests.support.heavy_graph import SHAPES
from tests.support.hostile_schemas import Hostile, largest
from tests.support.long_list import add_threads
from tests.support.raw_model import Answer, RawModel, call, endless, finish, raw_model, say, stream
from tests.support.samples import sample
from tests.support.scripted_model import ScriptedModel
from tests.support.scripted_model import finish as scripted_finish
from tests.support.scripted_model import text as scripted_text
from tests.support.watchdog import MAX_HOLD_SECONDS, Attacked, attacked
from turnstream.server.storage.store import open_store

MAX_BODY_BYTES = 15_990_000
MAX_MESSAGE_CHARS = 32_000
MAX_IMAGE_BYTES = 7_990_000
"""Just what the settings allow."""
RESULT_BYTES = 10_000_000
"""Ten times what a client is shown."""
MANY = {"MAX_NEW_THREADS": "100000", "MAX_LIVE_RUNS": "1000"}
HEAVY = "tests.support.heavy_graph:build"

Attack = TypeVar("Attack")


@asynccontextmanager
async def modelled(path: Path, **environment: str) -> AsyncIterator[tuple[RawModel, Attacked]]:
    """A server whose model is another attacker."""
    async with raw_model() as raw:
        model = {"MODEL": "raw", "OPENAI_BASE_URL": raw.url, "OPENAI_API_KEY": "test"}
        async with attacked(path / "t.db", **MANY, **model, **environment) as server:
            yield raw, server


def chat(message: Any = "Go", **fields: Any) -> bytes:
    return json.dumps({"message": message, **fields}).encode()


def calls(name: str, arguments: Sequence[Any]) -> bytes:
    """A model's answer: calls of a tool."""
    made = [
        call(json.dumps(args), name, f"call_{index}", index) for index, args in enumerate(arguments)
    ]
    return stream(*made, finish("tool_calls"))


def some(attacks: Mapping[str, Attack], part: int) -> list[tuple[str, Attack]]:
    """All of them in a long run, else one in so many."""
    return list(attacks.items())[:: sample(1, part)]


# The watchdog


@pytest.mark.parametrize("seconds", [0.0, 2 * MAX_HOLD_SECONDS])
async def test_the_watchdog_sees_a_loop_that_computes_too_long(
    tmp_path: Path, seconds: float
) -> None:
    async with modelled(tmp_path, GRAPH=HEAVY) as (raw, server):
        raw.answers = [calls("compute", [{"seconds": seconds}])]
        await server.dog.seen()
        assert (await server.post(chat())).status_code == 200
        seen = await server.dog.seen()
        assert seen.fault is None
        assert (seen.hold > MAX_HOLD_SECONDS) == bool(seconds)


# Bodies


@pytest.mark.long
async def test_no_body_holds_the_others_up(tmp_path: Path, subtests: pytest.Subtests) -> None:
    async with attacked(tmp_path / "t.db", **MANY) as server:
        for name, body in some(hostile_bodies.BODIES, 6):
            with subtests.test(name):
                async with server.unharmed():
                    await server.post(body(MAX_BODY_BYTES))
        for name, (path, body) in some(hostile_bodies.ELSEWHERE, 4):
            with subtests.test(name):
                async with server.unharmed():
                    answer = await server.post(body(MAX_BODY_BYTES), path)
                    assert answer.status_code < 500, answer.text


@pytest.mark.long
async def test_bodies_made_at_random_hold_nobody_up(tmp_path: Path) -> None:
    async with attacked(tmp_path / "t.db", **MANY) as server:

        async def attack(body: hostile_bodies.Sized) -> None:
            await server.post(body(MAX_BODY_BYTES))

        await server.each(hostile_bodies.bodies, attack)


@pytest.mark.long
async def test_no_arguments_hold_the_others_up(tmp_path: Path, subtests: pytest.Subtests) -> None:
    async with attacked(tmp_path / "t.db") as server:
        for item in (b"1", b"{}", b"[[[[]]]]"):
            with subtests.test(item.decode()):
                arguments = b'{"expression":%s}' % hostile_bodies.array(item)(MAX_BODY_BYTES - 20)
                async with server.unharmed():
                    await server.post(arguments, "/tools/calculator")


# Schemas


async def brings(raw: RawModel, server: Attacked, tool: Hostile) -> None:
    """A client brings the tool along, and the model calls it."""
    raw.answers = [calls("probe", tool.arguments)]
    probe = {"name": "probe", "parameters": tool.parameters}
    answer = await server.post(chat(client_tools=[probe]))
    assert answer.status_code in (200, 413, 422), answer.text


@pytest.mark.long
async def test_no_schema_holds_the_others_up(tmp_path: Path, subtests: pytest.Subtests) -> None:
    every = {**SCHEMAS, **hostile_schemas.MORE}
    async with modelled(tmp_path) as (raw, server):
        for name, attack in some(every, 12):
            for tool in largest(attack):
                with subtests.test(name):
                    async with server.unharmed():
                        await brings(raw, server, tool)


@pytest.mark.long
async def test_schemas_made_at_random_hold_nobody_up(tmp_path: Path) -> None:
    async with modelled(tmp_path) as (raw, server):
        await server.each(hostile_schemas.attacks(), lambda tool: brings(raw, server, tool))


# The offline model


@pytest.mark.long
async def test_no_message_holds_the_offline_model_up(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    async with attacked(tmp_path / "t.db", **MANY) as server:
        for text in TEXTS[:: sample(1, 10)]:
            with subtests.test(repr("".join(text))):
                async with server.unharmed():
                    answer = await server.post(
                        chat(text.text(MAX_MESSAGE_CHARS)[:MAX_MESSAGE_CHARS])
                    )
                    assert answer.status_code in (200, 422), answer.text


words = st.sampled_from(["draw ", "a chart ", "of ", "1, ", "2 ", "* ", "and ", "then ", "it "])
places = st.sampled_from(
    ["what time is it in ", "Tokyo", "km ", "to ", "pick ", " ", "?", "\n", "é"]
)
messages = st.lists(
    st.tuples(st.lists(words | places, max_size=4), st.sampled_from([1, 10, 20_000])), min_size=1
)


@pytest.mark.long
async def test_messages_made_at_random_hold_nobody_up(tmp_path: Path) -> None:
    async with attacked(tmp_path / "t.db", **MANY) as server:

        async def attack(drawn: list[tuple[list[str], int]]) -> None:
            text = "".join("".join(said) * times for said, times in drawn)
            answer = await server.post(chat(text[:MAX_MESSAGE_CHARS]))
            assert answer.status_code in (200, 422), answer.text

        await server.each(messages, attack)


# Models


async def hears(raw: RawModel, server: Attacked, *answers: Answer) -> None:
    """The model says this, and the stream comes to its end."""
    raw.answers = [*answers]
    answer = await server.post(chat())
    assert answer.text.endswith("data: [DONE]\n\n"), answer.text[-1000:]


@pytest.mark.long
async def test_no_model_holds_the_others_up(tmp_path: Path, subtests: pytest.Subtests) -> None:
    async with modelled(tmp_path, MAX_RUN_SECONDS="60") as (raw, server):
        for name, answer in some(hostile_models.ANSWERS, 4):
            with subtests.test(name):
                async with server.unharmed():
                    await hears(raw, server, answer())
        for name, wrong in some(MALFORMED, 12):
            with subtests.test(name):
                async with server.unharmed():
                    await hears(raw, server, stream(say("Half "), wrong, finish()))
        for name, fragments in some(FRAGMENTS, 4):
            with subtests.test(name):
                async with server.unharmed():
                    said: bytes = fragments(sample(200_000, 20_000))  # type: ignore[no-untyped-call]
                    await hears(raw, server, said)


@pytest.mark.long
async def test_no_model_that_says_nothing_for_ever_holds_the_others_up(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    async with modelled(tmp_path, MAX_RUN_SECONDS="1") as (raw, server):
        for name, piece in some(hostile_models.SILENT, 5):
            with subtests.test(name):
                async with server.unharmed():
                    await hears(raw, server, endless(piece))


@pytest.mark.long
async def test_models_made_at_random_hold_nobody_up(tmp_path: Path) -> None:
    async with modelled(tmp_path, MAX_RUN_SECONDS="60") as (raw, server):
        await server.each(hostile_models.answers(), lambda answer: hears(raw, server, answer))


# Results


@pytest.mark.long
async def test_no_result_holds_the_others_up(tmp_path: Path, subtests: pytest.Subtests) -> None:
    async with modelled(tmp_path, GRAPH=HEAVY) as (raw, server):
        for shape, _ in some(SHAPES, 4):
            with subtests.test(shape):
                async with server.unharmed():
                    await hears(
                        raw, server, calls("large", [{"shape": shape, "size": RESULT_BYTES}])
                    )


# Connections

POST = b"POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BEGUN = {
    "silence": b"",
    "headers": b"GET /health HTTP/1.1\r\nX-Long: ",
    "a body": POST + b'Content-Length: 9000000\r\n\r\n{"message":"',
    "chunks": POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\n",
}
CONNECTIONS, PIECES = sample(250, 100), sample(10, 3)


@asynccontextmanager
async def connections(server: Attacked) -> AsyncIterator[list[asyncio.StreamWriter]]:
    port = int(server.client.url.rsplit(":", 1)[1])
    pairs = [await asyncio.open_connection("127.0.0.1", port) for _ in range(CONNECTIONS)]
    try:
        yield [writer for _, writer in pairs]
    finally:
        for _, writer in pairs:
            writer.transport.abort()


@pytest.mark.long
async def test_many_connections_hold_nobody_up(tmp_path: Path, subtests: pytest.Subtests) -> None:
    async with attacked(tmp_path / "t.db", MAX_CONNECTIONS="900") as server:
        for name, begun in BEGUN.items():
            with subtests.test(name):
                async with server.unharmed(), connections(server) as opened:
                    for piece in (begun, *([b"x"] if begun else []) * PIECES):
                        for writer in opened:
                            writer.write(piece)
                            await writer.drain()
                    answer = await server.client.http.get("/health")
                    assert answer.status_code == 200, answer.text
        # What is still open at the end is no reason to stay.
        async with connections(server) as opened:
            for writer in opened:
                writer.write(BEGUN["a body"])
            await server.ends()


# Threads

THREADS = sample(50_000, 10_000)
PAGES, POLLERS = 10, 4


async def polls(server: Attacked) -> None:
    cursor: dict[str, str] = {}
    for _ in range(PAGES):
        page = await server.client.http.get("/threads", params={"limit": "100", **cursor})
        assert len(page.json()["threads"]) == 100
        cursor = {"cursor": page.json()["cursor"]}


@pytest.mark.long
async def test_a_long_list_of_threads_holds_nobody_up(tmp_path: Path) -> None:
    async with open_store(tmp_path / "t.db", 5000) as store:
        await store._writes.do(add_threads, THREADS)
    async with attacked(tmp_path / "t.db", **MANY) as server, server.unharmed():
        posts = [server.post(chat("Hello")) for _ in range(10)]
        await asyncio.gather(*(polls(server) for _ in range(POLLERS)), *posts)


LOADS = (
    "/threads/t",
    "/threads/t?protocol=ui-message-stream",
    "/threads/t?protocol=ag-ui",
    "/threads/t?protocol=langgraph",
    "/langgraph/threads/t/state",
)
ELSEWHERE: dict[str, dict[str, Any]] = {
    "/ag-ui": {"threadId": "t", "messages": [{"id": "new", "role": "user", "content": "Hello"}]},
    "/langgraph/threads/t/history": {"limit": 1000},
    "/langgraph/threads/t/runs/stream": {
        "assistant_id": "chat",
        "input": {"messages": [{"type": "human", "content": "Hello"}]},
    },
}


@pytest.mark.long
async def test_a_long_thread_holds_nobody_up(tmp_path: Path, subtests: pytest.Subtests) -> None:
    turns = sample(600, 40)
    model = ScriptedModel.of(
        *[[scripted_text("The answer is 391. " * 40), scripted_finish()]] * turns
    )
    async with backend(tmp_path / "t.db", model) as inside:
        for _ in range(turns):
            await inside.turn(message("What is 17 * 23? " * 5), "t")
    async with attacked(tmp_path / "t.db") as server:
        for path in LOADS:
            with subtests.test(path):
                async with server.unharmed():
                    assert (await server.client.http.get(path)).status_code == 200
        command = {
            "type": "add-message",
            "message": {"role": "user", "parts": [{"type": "text", "text": "Hello"}]},
        }
        state = {"thread_id": "t", "messages": []}
        bodies: dict[str, dict[str, Any]] = {
            "a message": {"thread_id": "t", "message": "Hello"},
            "with a state": {"commands": [command], "state": state},
            "anew": {"thread_id": "t", "regenerate": True},
        }
        for name, body in bodies.items():
            with subtests.test(name):
                async with server.unharmed():
                    answer = await server.post(json.dumps(body).encode())
                    assert answer.status_code == 200, answer.text
        for path, body in ELSEWHERE.items():
            with subtests.test(path):
                async with server.unharmed():
                    answer = await server.post(json.dumps(body).encode(), path)
                    assert answer.status_code == 200, answer.text


@pytest.mark.long
async def test_ended_runs_with_images_hold_nobody_up(tmp_path: Path) -> None:
    image = ("data:image/png;base64,iVBORw0KGgoA" + "A" * MAX_IMAGE_BYTES)[: MAX_IMAGE_BYTES - 2]
    look = {"parts": [{"type": "text", "text": "Look"}, {"type": "image", "image": image}]}
    async with attacked(tmp_path / "t.db", **MANY) as server, server.unharmed():
        for number in range(sample(30, 3)):
            answer = await server.post(chat(look, thread_id=f"t{number // 4}"))
            assert answer.status_code == 200, answer.text
            assert (await server.client.http.get(f"/threads/t{number // 4}")).status_code == 200
