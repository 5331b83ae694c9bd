"""The contract of the door, with extensions that use it and extensions that break it."""

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
from sqlalchemy import Column, MetaData, String, Table, insert, select
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.support.databases import open_command_store
from tests.support.endpoint import StrictEndpoint, call_reply, text_reply
from tests.support.serving import Client, endpoint_settings, serving, settings
from tests.support.waiting import until
from turnstream.server.extensions.base import (
    EXTENSION_API,
    Extension,
    ExtensionError,
    Opened,
    Refusal,
    RunSpec,
    Watch,
    WatchedRun,
    Write,
)
from turnstream.server.extensions.recording import AuditRecorder
from turnstream.server.extensions.requests import caller, thread_entry
from turnstream.server.extensions.users import UsersExtension
from turnstream.server.runs import hooks
from turnstream.server.storage.extension_tables import drop
from turnstream.server.turns.audit_records import AuditRecord
from turnstream.server.turns.chunks import Chunk, Done, MessageFinish, TextDelta
from turnstream.server.turns.header import ThreadKey

metadata = MetaData()
notes = Table(
    "toy_notes",
    metadata,
    Column("owner", String, primary_key=True),
    Column("thread_id", String, primary_key=True),
    Column("run_id", String, primary_key=True),
    Column("text", String, nullable=False),
)
other_metadata = MetaData()
others = Table("other", other_metadata, Column("id", String, primary_key=True))


class Toy(Extension):
    """Notes the text of each run; tests break a part of it."""

    name = "toy"
    api = EXTENSION_API
    tables: ClassVar[MetaData | None] = metadata
    made: ClassVar[list["Toy"]] = []

    def __init__(self, settings: Any) -> None:
        del settings
        self.made.append(self)
        self.watched: list[Chunk] = []
        self.ended: list[tuple[str, str]] = []
        self.opened: Opened | None = None

    @asynccontextmanager
    async def open(self, opened: Opened) -> AsyncIterator[None]:
        self.opened = opened
        yield
        self.opened = None

    def routes(self) -> Sequence[Route]:
        async def mine(request: Request[Any]) -> Response:
            key = caller(request).thread(request.path_params["thread_id"])
            return JSONResponse(await self.noted(key))

        return [Route("/toy/{thread_id}", mine)]

    async def noted(self, key: ThreadKey) -> list[str]:
        assert self.opened
        found = select(notes.c.text).where(notes.c.thread_id == key.thread_id)
        return await self.opened.database.read(lambda each: [*each.scalars(found)])

    def watch(self, run: WatchedRun) -> Watch:
        async def watch(chunks: Sequence[Chunk]) -> None:
            self.watched += chunks
            if isinstance(chunks[-1], Done):
                self.ended.append((run.spec.text, run.state))

        return watch

    async def after_run(self, run: WatchedRun, chunks: Sequence[Chunk]) -> Sequence[Write]:
        text = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))
        key = run.spec.key
        row = {"owner": key.owner, "thread_id": key.thread_id, "run_id": run.spec.run_id}
        return [insert(notes).values(**row, text=text)]

    async def exported(self, key: ThreadKey) -> Any:
        return await self.noted(key)


@pytest.fixture(autouse=True)
def _no_toys() -> None:
    Toy.made.clear()


@asynccontextmanager
async def served(
    folder: Path, endpoint: StrictEndpoint, *extensions: type[Extension], **values: Any
) -> AsyncIterator[Client]:
    given = endpoint_settings(folder / "t.db", endpoint, **values)
    async with serving(given, extensions=extensions) as client:
        yield client


async def notes_of(client: Client, thread_id: str) -> Any:
    """The client of other tests compares answers with a document without the toy."""
    async with httpx.AsyncClient(base_url=client.url) as http:
        return (await http.get(f"/toy/{thread_id}")).json()


def toy() -> Toy:
    return Toy.made[-1]


async def test_what_is_written_after_a_run_is_there_at_its_end_and_goes_with_its_thread(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Hello Ann"))
    async with served(tmp_path, endpoint, Toy) as client:
        await client.turn({"message": "Hi", "thread_id": "t1"})
        assert await notes_of(client, "t1") == ["Hello Ann"]
    endpoint.script(text_reply("Again"))
    async with served(tmp_path, endpoint, Toy) as client:
        await client.turn({"message": "Hi", "thread_id": "t1"})
        assert await notes_of(client, "t1") == ["Hello Ann", "Again"]
        lines = (await client.http.get("/export")).text.splitlines()
        assert '"extensions":{"toy":["Hello Ann","Again"]}' in lines[0]
        await client.http.delete("/threads/t1")
        assert await notes_of(client, "t1") == []


async def test_rows_of_a_thread_go_with_it_while_their_extension_is_off(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Hello"))
    async with served(tmp_path, endpoint, Toy) as client:
        await client.turn({"message": "Hi", "thread_id": "t1"})
    async with served(tmp_path, endpoint) as client:
        await client.http.delete("/threads/t1")
    async with served(tmp_path, endpoint, Toy) as client:
        assert await notes_of(client, "t1") == []


async def test_a_watcher_sees_what_readers_see_and_the_end_of_the_run(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Hello Ann"))
    async with served(tmp_path, endpoint, Toy) as client:
        _, events = await client.turn({"message": "Hi", "thread_id": "t1"})
        await until(lambda: toy().ended)
        assert toy().ended == [("Hi", "finished")]
        assert len(toy().watched) == len(events)
        assert isinstance(toy().watched[-2], MessageFinish)


class Guard(Toy):
    order = 1

    async def before_run(self, spec: RunSpec) -> Collection[str] | None:
        if "secret" in spec.text:
            raise Refusal("toy_secret", "Leave the secret out of the message.", 422)
        return None


async def problem_of(client: Client, body: Any) -> tuple[int, str]:
    async with httpx.AsyncClient(base_url=client.url) as http:
        answer = await http.post("/chat", json=body)
    return answer.status_code, answer.json()["code"]


async def test_a_guard_refuses_a_run_before_anything_is_stored(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Hello"))
    async with served(tmp_path, endpoint, Guard) as client:
        refused = {"message": "a secret", "thread_id": "t1"}
        assert await problem_of(client, refused) == (422, "toy_secret")
        assert (await client.http.get("/threads/t1")).status_code == 404
        await client.turn({"message": "Hi", "thread_id": "t1"})


class SlowGuard(Toy):
    async def before_run(self, spec: RunSpec) -> Collection[str] | None:  # noqa: ARG002
        await asyncio.Event().wait()
        return None


class FailingGuard(Toy):
    async def before_run(self, spec: RunSpec) -> Collection[str] | None:  # noqa: ARG002
        raise ValueError("no")


class CancelledGuard(Toy):
    async def before_run(self, spec: RunSpec) -> Collection[str] | None:  # noqa: ARG002
        await cancelled()
        return None


class SlowBeginning(Toy):
    async def run_begins(self, spec: RunSpec) -> Sequence[Write]:  # noqa: ARG002
        await asyncio.Event().wait()
        return ()


class FailingBeginning(Toy):
    async def run_begins(self, spec: RunSpec) -> Sequence[Write]:
        raise ValueError(spec)


@pytest.mark.parametrize(
    "guard", [SlowGuard, FailingGuard, CancelledGuard, SlowBeginning, FailingBeginning]
)
async def test_a_guard_that_cannot_answer_refuses(
    tmp_path: Path,
    endpoint: StrictEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    guard: type[Extension],
) -> None:
    monkeypatch.setattr(hooks, "GUARD_SECONDS", 0.01)
    async with served(tmp_path, endpoint, guard) as client:
        assert await problem_of(client, {"message": "Hi"}) == (503, "guard_failed")
    assert not endpoint.requests


class Beginning(Toy):
    """Notes what each run begins on."""

    async def run_begins(self, spec: RunSpec) -> Sequence[Write]:
        row = {"owner": spec.key.owner, "thread_id": spec.key.thread_id, "run_id": spec.run_id}
        leaves = spec.branching
        words = [each.text for each in leaves.left.messages] if leaves else []
        place = leaves.replaced.text if leaves and leaves.replaced else ""
        return [insert(notes).values(**row, text=" ".join([spec.text, *words, place]))]

    async def after_run(self, *_given: object) -> Sequence[Write]:
        return ()


async def test_what_is_written_as_a_run_begins_is_there_and_knows_the_branch_that_it_leaves(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("A"), text_reply("B"))
    async with served(tmp_path, endpoint, Beginning) as client:
        asked = {"id": "m1", "parts": [{"type": "text", "text": "One"}]}
        await client.turn({"thread_id": "t1", "message": asked})
        edit = {"message_id": "m1", "message": {**asked, "id": "m2"}}
        await client.turn({"thread_id": "t1", "edit": edit})
        assert sorted(await notes_of(client, "t1")) == ["One ", "One One A One"]


class Undoing(Toy):
    """Brings deleted threads back."""

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self.restorable_seconds = 3600.0

    def routes(self) -> Sequence[Route]:
        async def undo(request: Request[Any]) -> Response:
            assert self.opened
            key = caller(request).thread(request.path_params["thread_id"])
            is_there = await self.opened.threads.restore(key)
            return JSONResponse([is_there, await thread_entry(request, key)])

        return [Route("/toy/{thread_id}", undo)]


class Hiding(Extension):
    name, api = "hiding", EXTENSION_API

    def __init__(self, settings: Any) -> None:
        del settings
        self.restorable_seconds = 1.0


async def test_an_extension_brings_deleted_threads_back_and_the_most_seconds_count(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("A"))
    async with served(tmp_path, endpoint, Undoing, Hiding) as client:
        assert (await client.http.get("/health")).json()["undo_seconds"] == 3600
        await client.turn({"thread_id": "t1", "message": "Hi"})
        assert (await client.http.delete("/threads/t1")).status_code == 202
        is_there, entry = await notes_of(client, "t1")
        assert (is_there, entry["id"], entry["title"]) == (True, "t1", "Hi")
        await client.http.delete("/threads/t1", params={"at_once": "true"})
        assert await notes_of(client, "t1") == [False, None]


class Narrowing(Toy):
    async def before_run(self, spec: RunSpec) -> Collection[str] | None:
        return ["calculator"] if "sum" in spec.text else None


async def test_a_guard_narrows_the_tools_of_a_run(tmp_path: Path, endpoint: StrictEndpoint) -> None:
    endpoint.script(text_reply("1"))
    endpoint.script(text_reply("2"))
    async with served(tmp_path, endpoint, Narrowing) as client:
        await client.turn({"message": "a sum"})
        await client.turn({"message": "Hi"})
    narrowed, whole = ([tool["function"]["name"] for tool in r["tools"]] for r in endpoint.requests)
    assert narrowed == ["calculator"]
    assert len(whole) > 1


async def test_a_narrowed_run_refuses_a_call_of_another_tool(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(call_reply(("get_current_time", "{}")))
    endpoint.script(text_reply("I cannot."))
    async with served(tmp_path, endpoint, Narrowing) as client:
        await client.turn({"message": "a sum"})
    assert "not_allowed" in endpoint.requests[-1]["messages"][-1]["content"]


class FailingWatcher(Toy):
    def watch(self, run: WatchedRun) -> Watch:  # noqa: ARG002
        async def watch(chunks: Sequence[Chunk]) -> None:
            raise ValueError(chunks)

        return watch


class HangingWatcher(Toy):
    def watch(self, run: WatchedRun) -> Watch:  # noqa: ARG002
        async def watch(chunks: Sequence[Chunk]) -> None:  # noqa: ARG001
            await asyncio.Event().wait()

        return watch


class NoWatcher(Toy):
    def watch(self, run: WatchedRun) -> Watch:
        raise ValueError(run)


class FailingWrites(Toy):
    async def after_run(self, run: WatchedRun, chunks: Sequence[Chunk]) -> Sequence[Write]:
        raise ValueError(run, chunks)


class HangingWrites(Toy):
    async def after_run(self, run: WatchedRun, chunks: Sequence[Chunk]) -> Sequence[Write]:
        del run, chunks
        await asyncio.Event().wait()
        return ()


class WrongWrites(Toy):
    async def after_run(self, run: WatchedRun, chunks: Sequence[Chunk]) -> Sequence[Write]:
        del run, chunks
        return [insert(notes).values(owner="local", thread_id="t1", run_id="r", text=None)]


class ForeignWrites(Toy):
    async def after_run(self, run: WatchedRun, chunks: Sequence[Chunk]) -> Sequence[Write]:
        del run, chunks
        return [insert(others).values(id="1")]


class TooManyWrites(Toy):
    async def after_run(self, run: WatchedRun, chunks: Sequence[Chunk]) -> Sequence[Write]:
        del chunks
        row = {"owner": "local", "thread_id": run.spec.key.thread_id, "text": ""}
        return [insert(notes).values(**row, run_id=str(number)) for number in range(1000)]


class UnknownColumn(Toy):
    async def after_run(self, run: WatchedRun, chunks: Sequence[Chunk]) -> Sequence[Write]:
        del run, chunks
        return [insert(notes).values(nope=1)]


class TooLarge(Toy):
    async def after_run(self, run: WatchedRun, chunks: Sequence[Chunk]) -> Sequence[Write]:
        del chunks
        key = run.spec.key
        row = {"owner": key.owner, "thread_id": key.thread_id, "run_id": run.spec.run_id}
        return [insert(notes).values(**row, text=2**80)]


async def cancelled() -> None:
    task = asyncio.create_task(asyncio.sleep(60))
    task.cancel()
    await task


class CancelledWrites(Toy):
    async def after_run(self, run: WatchedRun, chunks: Sequence[Chunk]) -> Sequence[Write]:
        del run, chunks
        await cancelled()
        return ()


class CancelledWatcher(Toy):
    def watch(self, run: WatchedRun) -> Watch:  # noqa: ARG002
        async def watch(chunks: Sequence[Chunk]) -> None:  # noqa: ARG001
            await cancelled()

        return watch


class Recording(Toy):
    """Writes the events of its records beside the notes, and remembers those that it is told of."""

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self.noted_events: list[str] = []

    async def after_run(self, *_given: object) -> Sequence[Write]:
        return ()

    def record(self, records: Sequence[AuditRecord]) -> Sequence[Write]:
        return [
            insert(notes).values(
                owner=each.principal, thread_id=each.thread_id, run_id=each.event, text=each.event
            )
            for each in records
        ]

    def note(self, records: Sequence[AuditRecord]) -> None:
        self.noted_events += [each.event for each in records]


async def test_deeds_are_recorded_in_their_transaction_and_calls_are_told(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(call_reply(("calculator", '{"expression": "6 * 7"}')), text_reply("42"))
    async with served(tmp_path, endpoint, Recording) as client:
        await client.turn({"message": "6 * 7?", "thread_id": "t1"})
        assert await notes_of(client, "t1") == ["run_started", "run_ended"]
        (toy,) = Toy.made
        assert isinstance(toy, Recording)
        assert toy.noted_events == ["tool_call"]


class FailingRecord(Toy):
    def record(self, records: Sequence[AuditRecord]) -> Sequence[Write]:
        raise ValueError(records)


class FailingNote(Toy):
    def note(self, records: Sequence[AuditRecord]) -> None:
        raise ValueError(records)


class FailingDeletion(Toy):
    def thread_deleted(self, key: ThreadKey) -> Sequence[Write]:
        raise ValueError(key)


FAULTY: Sequence[tuple[type[Toy], str]] = [
    (FailingWatcher, "watches run"),
    (HangingWatcher, "watches run"),
    (NoWatcher, "does not watch run"),
    (FailingWrites, "writes nothing"),
    (HangingWrites, "writes nothing"),
    (WrongWrites, "its writes are left out"),
    (ForeignWrites, "are left out"),
    (TooManyWrites, "are left out"),
    (UnknownColumn, "its writes are left out"),
    (TooLarge, "its writes are left out"),
    (CancelledWrites, "writes nothing"),
    (CancelledWatcher, "watches run"),
    (FailingDeletion, "its writes for the deletion"),
    (FailingRecord, "records nothing"),
]


@pytest.mark.parametrize(
    ("faulty", "logged"), FAULTY, ids=lambda each: getattr(each, "__name__", "")
)
async def test_a_fault_of_an_extension_is_logged_and_harms_no_run(
    tmp_path: Path,
    endpoint: StrictEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    faulty: type[Toy],
    logged: str,
) -> None:
    monkeypatch.setattr(hooks, "AFTER_SECONDS", 0.01)
    monkeypatch.setattr(hooks, "WATCH_SECONDS", 0.01)
    endpoint.script(text_reply("Hello"))
    endpoint.script(text_reply("Again"))
    with caplog.at_level(logging.WARNING):
        async with served(tmp_path, endpoint, faulty) as client:
            for _ in range(2):
                _, events = await client.turn({"message": "Hi", "thread_id": "t1"})
                assert events[-2].data["finishReason"] == "stop"
            assert len(await notes_of(client, "t1")) in (0, 2, 100)
            assert (await client.http.delete("/threads/t1")).status_code == 204
    assert logged in caplog.text


def test_an_extension_that_cannot_be_told_harms_no_call(caplog: pytest.LogCaptureFixture) -> None:
    recorder = AuditRecorder([FailingNote(None)])
    recorder.note(AuditRecord("tool_call", "ann"))
    assert "notes nothing" in caplog.text


async def test_what_a_full_queue_drops_is_counted_and_the_end_is_kept(
    tmp_path: Path, endpoint: StrictEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "MAX_QUEUED", 1)
    go_on = asyncio.Event()

    class Late(Toy):
        def watch(self, run: WatchedRun) -> Watch:
            watch = super().watch(run)

            async def late(chunks: Sequence[Chunk]) -> None:
                await go_on.wait()
                await watch(chunks)

            return late

    endpoint.script(call_reply(("calculator", '{"expression": "6 * 7"}')))
    endpoint.script(text_reply("42"))
    async with served(tmp_path, endpoint, Late) as client:
        _, events = await client.turn({"message": "Hi", "thread_id": "t1"})
        go_on.set()
        await until(lambda: toy().ended)
        opened = toy().opened
        assert opened is not None
        dropped = opened.status.dropped_chunks
        assert dropped > 0
        assert len(toy().watched) + dropped == len(events)


async def test_the_declared_order_decides_which_guard_comes_first(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    class Later(Guard):
        name = "another"
        order = 2
        tables = None

        def routes(self) -> Sequence[Route]:
            return ()

        async def before_run(self, spec: RunSpec) -> Collection[str] | None:
            raise Refusal("toy_later", spec.text)

    for extensions in ((Guard, Later), (Later, Guard)):
        async with served(tmp_path, endpoint, *extensions) as client:
            assert await problem_of(client, {"message": "a secret"}) == (422, "toy_secret")


async def test_a_route_of_an_extension_is_for_recognised_callers(tmp_path: Path) -> None:
    given = settings(tmp_path / "t.db", auth=("keys",))
    on = (Toy, UsersExtension)
    async with serving(given, extensions=on) as client, httpx.AsyncClient() as http:
        assert (await http.get(f"{client.url}/toy/t1")).status_code == 401


async def test_tables_are_migrated_once_and_a_newer_version_is_refused(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    found = list[int]()

    class Second(Toy):
        version = 2

        @staticmethod
        def migrate(connection: Any, version: int) -> None:  # noqa: ARG004
            found.append(version)

    endpoint.script(text_reply("Hello"))
    async with served(tmp_path, endpoint, Toy) as client:
        await client.turn({"message": "Hi", "thread_id": "t1"})
    for _ in range(2):
        async with served(tmp_path, endpoint, Second) as client:
            assert await notes_of(client, "t1") == ["Hello"]
    assert found == [1]
    with pytest.raises(Exception, match="install a newer version of the extension"):
        async with served(tmp_path, endpoint, Toy):
            pass


class Closed:
    """ASGI middleware that lets nobody through."""

    def __init__(self, app: ASGIApp) -> None:
        del app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await Response("closed", 403)(scope, receive, send)


async def nothing(_request: Request[Any]) -> Response:
    return Response()


class WithMiddleware(Toy):
    def routes(self) -> Sequence[Route]:
        return [Route("/closed", nothing, middleware=[Middleware(Closed)])]


async def test_a_route_keeps_its_own_middleware(tmp_path: Path, endpoint: StrictEndpoint) -> None:
    async with served(tmp_path, endpoint, WithMiddleware) as client, httpx.AsyncClient() as http:
        assert (await http.get(f"{client.url}/closed")).text == "closed"


@pytest.mark.parametrize("path", ["/threads", "/threads/stats", "/chat/{id}/stream", "/{x}", "/me"])
async def test_a_route_that_would_never_answer_keeps_the_server_from_starting(
    tmp_path: Path, endpoint: StrictEndpoint, path: str
) -> None:
    class Taken(Toy):
        def routes(self) -> Sequence[Route]:
            return [Route(path, nothing)]

    with pytest.raises(ExtensionError, match=re.escape(path)):
        async with served(tmp_path, endpoint, Taken):
            pass


async def test_methods_of_one_address_may_be_routes_of_their_own(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    class Two(Toy):
        def routes(self) -> Sequence[Route]:
            return [Route("/two", nothing, methods=[name]) for name in ("GET", "POST")]

    async with served(tmp_path, endpoint, Two) as client, httpx.AsyncClient() as http:
        for ask in (http.get, http.post):
            assert (await ask(f"{client.url}/two")).status_code == 200


@pytest.mark.parametrize("part", [ValueError("no"), {1, 2}])
async def test_an_export_goes_on_where_an_extension_has_no_part(
    tmp_path: Path, endpoint: StrictEndpoint, part: Any
) -> None:
    class Broken(Toy):
        async def exported(self, key: ThreadKey) -> Any:
            del key
            if isinstance(part, Exception):
                raise part
            return part

    endpoint.script(text_reply("Hello"))
    async with served(tmp_path, endpoint, Broken) as client:
        await client.turn({"message": "Hi", "thread_id": "t1"})
        (line,) = (await client.http.get("/export")).text.splitlines()
    assert json.loads(line)["extensions"]["toy"]["error"]["code"] == "extension_failed"


async def test_tables_may_be_dropped_beside_a_running_server(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Hello"))
    async with served(tmp_path, endpoint, Toy) as client:
        await client.turn({"message": "Hi", "thread_id": "t1"})
    async with served(tmp_path, endpoint) as client:
        async with open_command_store(tmp_path / "t.db") as store:
            assert await store.write(drop, "toy")
        assert (await client.http.delete("/threads/t1")).status_code == 204


async def test_a_migration_that_fails_half_way_is_undone(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    class Halfway(Toy):
        version = 2

        @staticmethod
        def migrate(connection: Any, version: int) -> None:
            connection.exec_driver_sql("ALTER TABLE toy_notes ADD COLUMN extra TEXT")
            raise ValueError(version)

    endpoint.script(text_reply("Hello"))
    async with served(tmp_path, endpoint, Toy) as client:
        await client.turn({"message": "Hi", "thread_id": "t1"})
    for _ in range(2):
        with pytest.raises(ValueError, match="1"):
            async with served(tmp_path, endpoint, Halfway):
                pass
    async with served(tmp_path, endpoint, Toy) as client:
        assert await notes_of(client, "t1") == ["Hello"]
