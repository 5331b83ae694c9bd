"""The audit trail of a server: who logged in, was refused and did what; and the command."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support import audit_rows
from tests.support.audit_rows import audit_dump, events, of
from tests.support.endpoint import Pause, Reply, StrictEndpoint, call_reply
from tests.support.environment import isolate
from tests.support.forked_server import forked_server
from tests.support.serving import (
    Client,
    endpoint_environment,
    endpoint_settings,
    serving,
    settings,
)
from tests.support.users import authenticating, bearer, make_key, named
from turnstream.server.__main__ import main
from turnstream.server.extensions.audit import AuditExtension, tables
from turnstream.server.extensions.audit.records import append
from turnstream.server.storage.also import Also
from turnstream.server.storage.store import SqliteStore, open_store
from turnstream.server.turns.audit_records import AuditRecord

ANN, BOB = named("ann"), named("bob")
HELLO = {"thread_id": "t1", "message": "What is 6 * 7?"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


@pytest.fixture
async def client(path: Path) -> AsyncIterator[Client]:
    async with serving(authenticating(path)) as client:
        yield client


async def recorded(client: Client) -> list[AuditRecord]:
    assert client.state is not None
    extensions, store = client.state["extensions"], client.state["store"]
    assert isinstance(store, SqliteStore)
    for each in extensions:
        if isinstance(each, AuditExtension) and each.trail:
            await each.trail.flush()
    return await audit_rows.recorded(store)


async def test_a_turn_is_recorded_under_its_caller(client: Client) -> None:
    await client.turn(HELLO, headers=ANN)
    await client.turn(HELLO, headers=BOB)
    records = await recorded(client)
    turn = ["run_started", "tool_call", "run_ended"]
    assert events(records) == [*turn, *turn]
    assert [record.principal for record in records] == ["ann"] * 3 + ["bob"] * 3
    assert {(record.thread_id, record.principal) for record in records} == {
        ("t1", "ann"),
        ("t1", "bob"),
    }


async def test_a_login_and_its_logout_are_recorded_with_key_method_and_address(
    client: Client,
) -> None:
    key = await make_key(client, "ann")
    origin = {"Origin": client.url}
    answer = await client.http.post("/login", json={"credential": key}, headers=origin)
    assert answer.status_code == 200
    assert (await client.http.post("/logout", headers=origin)).status_code == 204
    assert (await client.http.post("/logout", headers=origin)).status_code == 204
    records = await recorded(client)
    assert of(records, "login", "principal", "method", "name", "address") == [
        ("ann", "key", key.split("_")[1], "127.0.0.1")
    ]
    assert of(records, "logout", "principal", "address") == [("ann", "127.0.0.1")]
    assert len(records) == 2


async def test_bad_credentials_are_recorded_and_missing_ones_are_not(client: Client) -> None:
    assert (await client.http.get("/threads")).status_code == 401
    assert await recorded(client) == []
    bad = [
        await client.http.get("/threads", headers=bearer("ts_nobody")),
        await client.http.post("/login", json={"credential": "ts_nobody"}),
        await client.http.get("/me", headers={"Cookie": "turnstream_session=forged.x"}),
    ]
    assert [answer.status_code for answer in bad] == [401, 401, 401]
    records = await recorded(client)
    assert of(records, "refusal", "principal", "name", "outcome", "address") == [
        (None, "GET /threads", "unauthenticated", "127.0.0.1"),
        (None, "POST /login", "unauthenticated", "127.0.0.1"),
        (None, "GET /me", "unauthenticated", "127.0.0.1"),
    ]


async def test_a_refused_origin_is_recorded(client: Client) -> None:
    foreign = {**ANN, "Origin": "https://elsewhere.example"}
    answer = await client.http.post("/chat", json=HELLO, headers=foreign)
    assert answer.status_code == 403
    [record] = await recorded(client)
    assert (record.event, record.outcome) == ("refusal", "origin_not_allowed")


async def test_refusals_beyond_a_number_are_counted_and_written_at_the_end(path: Path) -> None:
    async with serving(authenticating(path)) as client:
        for _ in range(13):
            await client.http.get("/threads", headers=bearer("ts_nobody"))
    async with open_store(path, 1000) as store:
        records = await audit_rows.recorded(store)
    assert len(records) == 11
    assert (records[-1].outcome, records[-1].count) == ("left_out", 3)


POLICY = """
default_role = "user"

[roles.user]
tools = ["clock"]

[roles.user.limits]
requests_per_minute = 2
"""


async def test_a_denied_call_and_a_limit_that_is_reached_are_recorded_by_their_codes(
    path: Path, tmp_path: Path
) -> None:
    (tmp_path / "policy.toml").write_text(POLICY)
    async with StrictEndpoint() as endpoint:
        endpoint.script(call_reply(("calculator", '{"expression": "6 * 7"}'), ids=("c1",)))
        given = {"auth": ("header",), "trusted_proxies": ("127.0.0.1",)}
        policy = tmp_path / "policy.toml"
        async with serving(endpoint_settings(path, endpoint, policy=policy, **given)) as client:
            await client.turn(HELLO, headers=ANN)
            refused = await client.http.post("/tools/calculator", json={}, headers=ANN)
            limited = await client.http.get("/threads", headers=ANN)
            assert (refused.status_code, limited.status_code) == (403, 429)
            records = await recorded(client)
    assert of(records, "tool_call", "name", "disposition", "outcome") == [
        ("calculator", "invalid", "tool_not_allowed")
    ]
    assert of(records, "refusal", "principal", "name", "outcome") == [
        ("ann", "POST /tools", "tool_not_allowed"),
        ("ann", "GET /threads", "limit_exceeded"),
    ]


async def test_a_call_of_a_tool_alone_is_recorded(client: Client) -> None:
    args = {"expression": "6 * 7"}
    await client.http.post("/tools/calculator", json=args, headers=ANN)
    await client.http.post("/tools/calculator", json={"expression": "1 / 0"}, headers=ANN)
    assert of(await recorded(client), "tool_call", "principal", "name", "outcome") == [
        ("ann", "calculator", "result"),
        ("ann", "calculator", "error"),
    ]


async def test_a_deleted_thread_is_recorded(client: Client) -> None:
    await client.turn(HELLO, headers=ANN)
    await client.http.delete("/threads/t1", headers=BOB)
    await client.http.delete("/threads/t1", headers=ANN)
    assert of(await recorded(client), "thread_deleted", "principal", "thread_id") == [("ann", "t1")]


async def test_without_authentication_nothing_is_recorded(path: Path) -> None:
    async with serving(settings(path)) as client:
        await client.turn(HELLO)
        await client.http.delete("/threads/t1")
        await client.http.get("/threads", headers={"Host": "elsewhere.example"})
        assert await recorded(client) == []


async def test_with_zero_days_nothing_is_recorded_and_what_was_is_deleted(path: Path) -> None:
    async with serving(authenticating(path)) as client:
        await client.turn(HELLO, headers=ANN)
        assert await recorded(client)
    async with serving(authenticating(path, audit_days=0)) as client:
        assert await recorded(client) == []
        await client.turn(HELLO, headers=ANN)
        assert await recorded(client) == []


async def test_no_record_has_a_key_a_title_or_a_word_of_a_turn(client: Client, path: Path) -> None:
    secret = "hunter2"
    key = await make_key(client, "ann")
    ann = bearer(key)
    await client.turn({"thread_id": "t1", "message": f"I am {secret}"}, headers=ann)
    await client.http.patch("/threads/t1", json={"title": secret}, headers=ann)
    await client.http.post("/tools/calculator", json={"expression": secret}, headers=ann)
    await client.http.get(f"/threads/{secret}?{secret}", headers=bearer(secret))
    await client.http.get(f"/{secret}", headers=bearer(secret))
    origin = {"Origin": client.url}
    await client.http.post("/login", json={"credential": f"ts_{secret}"}, headers=origin)
    login = await client.http.post("/login", json={"credential": key}, headers=origin)
    assert login.status_code == 200
    records = await recorded(client)
    assert len(records) >= 5
    dumped = audit_dump(path)
    for word in (secret, key.split("_")[2], *login.cookies.values()):
        assert word not in dumped


async def test_a_server_that_is_killed_has_an_end_for_each_run_when_it_is_there_again(
    path: Path,
) -> None:
    variables = {"AUTH": "header", "TRUSTED_PROXIES": "127.0.0.1"}
    async with StrictEndpoint() as endpoint:
        endpoint.script(call_reply(("calculator", '{"expression": "6 * 7"}'), ids=("c1",)))
        endpoint.default = Reply((Pause(asyncio.Event()),))
        environment = endpoint_environment(endpoint) | variables
        async with (
            forked_server(path, **environment) as server,
            server.client.chat(HELLO, headers=ANN) as stream,
        ):
            await stream.until("result")
            server.kill()
        async with forked_server(path, **environment) as again:
            answer = await again.client.http.get("/threads/t1", headers=ANN)
            assert answer.json()["run_state"] == "interrupted"
    async with open_store(path, 1000) as store:
        records = await audit_rows.recorded(store)
    # The call had ended: whether it was written depends on the moment.
    assert [name for name in events(records) if name != "tool_call"] == ["run_started", "run_ended"]
    assert of(records, "run_ended", "principal", "outcome") == [("ann", "interrupted")]


# the command


@pytest.fixture
def environment(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)
    monkeypatch.setenv("TURNSTREAM_DATABASE", str(path))


def fill(path: Path, *records: AuditRecord) -> None:
    async def fill() -> None:
        async with open_store(path, 1000) as store:
            await store.write(tables.metadata.create_all)
            await store.write(append, records)

    asyncio.run(fill())


@pytest.mark.usefixtures("environment")
def test_the_command_shows_a_table_and_each_filter_narrows_it(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(
        path,
        AuditRecord("login", "ann", at=60),
        AuditRecord("run_started", "ann", thread_id="t1", run_id="r1", name="chat"),
        AuditRecord("run_ended", "bob", outcome="finished", input_tokens=7, output_tokens=5),
        AuditRecord("refusal", outcome="left_out", count=12, address="192.0.2.1"),
    )

    def lines(*arguments: str) -> list[str]:
        assert main(["audit", *arguments]) == 0
        return capsys.readouterr().out.splitlines()

    titles, *rows = lines()
    assert titles.split()[:3] == ["TIME", "EVENT", "CALLER"]
    assert [re.split("  +", row)[1] for row in rows] == [
        "login",
        "run_started",
        "run_ended",
        "refusal",
    ]
    assert rows[0].startswith("1970-01-01 00:01:00")
    assert "finished" in rows[2]
    assert "7+5" in rows[2]
    assert "left_out 12" in rows[3]
    assert len(lines("--principal", "ann")) == 3
    assert len(lines("--thread", "t1")) == 2
    assert len(lines("--event", "refusal")) == 2
    assert len(lines("--since", "1d")) == 4
    assert len(lines("--since", "2999-01-01")) == 1


@pytest.mark.usefixtures("environment")
def test_the_command_writes_json_lines_without_what_is_not_known(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(path, AuditRecord("login", "ann", "key", at=1.5), AuditRecord("logout", "ann", at=2))
    assert main(["audit", "--json"]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {
        "at": "1970-01-01T00:00:01.500+00:00",
        "event": "login",
        "principal": "ann",
        "method": "key",
    }
    assert second["event"] == "logout"


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_what_steers_a_terminal_is_written_out(
    form: list[str], path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(path, AuditRecord("login", "a\x1b[2J\x9b\u202e\x7f\nb"))
    assert main(["audit", *form]) == 0
    shown = capsys.readouterr().out
    assert not set("\x1b\x9b\u202e\x7f") & set(shown)
    assert len(shown.splitlines()) == (1 if form else 2)


@pytest.mark.usefixtures("environment")
def test_a_bad_option_of_the_command_is_said(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit"]) == 2
    assert "there is no database" in capsys.readouterr().err
    fill(path)
    assert main(["audit", "--since", "yesterday"]) == 2
    assert "give days such as 30d, or a date" in capsys.readouterr().err


@pytest.mark.usefixtures("environment")
def test_what_an_administrator_does_is_recorded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["keys", "add", "ann"]) == 0
    id = capsys.readouterr().out.split("_")[1]
    assert main(["keys", "revoke", id]) == 0
    assert main(["keys", "revoke", id]) == 2
    assert main(["audit", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["event"], row["principal"], row["name"]) for row in rows] == [
        ("key_added", "ann", id),
        ("key_revoked", "ann", id),
    ]
    monkeypatch.setenv("TURNSTREAM_AUDIT_DAYS", "0")
    assert main(["keys", "add", "ann"]) == 0
    capsys.readouterr()
    assert main(["audit", "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


async def test_threads_that_get_another_owner_are_recorded_with_their_number(
    client: Client,
) -> None:
    from turnstream.server.storage.ownership import assign

    assert client.state is not None
    store = client.state["store"]
    assert isinstance(store, SqliteStore)
    await client.turn(HELLO, headers=ANN)
    recorder = client.state["recorder"]

    def recording(count: int) -> Also:
        return recorder.joining(AuditRecord("threads_assigned", "ann", name="bob", count=count))

    await assign(store, "ann", "bob", recording)
    await assign(store, "ann", "bob", recording)
    assert of(await recorded(client), "threads_assigned", "principal", "name", "count") == [
        ("ann", "bob", 1)
    ]
