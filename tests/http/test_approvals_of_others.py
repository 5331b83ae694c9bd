"""Who decides on calls that others have made, what they see of them, and what is refused."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.http.gated import (
    ASK,
    MORE,
    PAY,
    SLOWLY,
    THREAD,
    Office,
    Person,
    alone,
    approve,
    office,
    refused,
    serving_payments,
)
from tests.support.contracts.approvals import ask, question
from tests.support.run_chunks import QUESTION, SELECTION, tool_call_message
from tests.support.samples import sample
from tests.support.scripted_model import Script, finish, text
from tests.support.serving import settings
from tests.support.users import authenticating
from tests.support.waiting import HeldMethod
from turnstream.server.commands import run
from turnstream.server.turns.header import ThreadKey

CALL = tool_call_message(PAY)
ROUNDS = sample(100, 5)


@asynccontextmanager
async def asked(
    folder: Path, *scripts: Script, roles: tuple[str, ...] = ("boss",), **values: Any
) -> AsyncIterator[tuple[Office, Person, Person]]:
    """Ann has asked for a payment; bob, who has the roles, may do something about it. At the end
    bob has seen nothing of ann's thread."""
    async with (
        office(folder, *(scripts or (CALL,)), **values) as served,
        served.person("ann") as ann,
        served.person("bob", *roles) as bob,
    ):
        await ann.ask()
        runs = [(await ann.client.thread(THREAD))["run_id"]]
        yield served, ann, bob
        shown = await ann.http.get(f"/threads/{THREAD}")
        if shown.status_code == 200:
            runs.append(shown.json()["run_id"])
        for secret in (THREAD, *runs):
            assert secret.encode() not in bob.seen


async def test_an_approver_sees_the_call_and_who_asks_and_no_more(tmp_path: Path) -> None:
    async with asked(tmp_path) as (_, ann, bob):
        [waiting] = await bob.listed()
        [anns] = await ann.listed()
        assert anns.pop("thread_id") == THREAD
        assert waiting == anns
        assert waiting["asked_by"] == {"id": "ann", "name": "ann"}
        for path in (f"/threads/{waiting['id']}", "/threads/c1"):
            refused(await bob.http.get(path), 404, "thread_not_found")
        assert (await bob.http.get("/threads")).json()["threads"] == []


async def test_one_asker_with_many_calls_hides_nobodys_and_pages_reach_them_all(
    tmp_path: Path,
) -> None:
    async with office(tmp_path) as served, served.person("bob", "boss") as bob:
        assert served.client.state is not None
        store = served.client.state["store"]
        many = [question(ThreadKey("ann", "t1"), f"c{n}", at=1.0 + n) for n in range(110)]
        await ask(store, *many)
        await ask(store, question(ThreadKey("cat", "t1"), "late", at=5_000.0))

        async def page(**query: str) -> dict[str, Any]:
            answer = await bob.http.get("/approvals", params=query)
            assert answer.status_code == 200
            content: dict[str, Any] = answer.json()
            return content

        first = await page()
        assert [one["asked_by"]["id"] for one in first["approvals"]] == ["ann"] * 99 + ["cat"]
        second = await page(cursor=first["cursor"])
        assert "cursor" not in second
        found = [one["tool_call_id"] for one in [*first["approvals"], *second["approvals"]]]
        assert Counter(found) == Counter([*(one.tool_call_id for one in many), "late"])
        small = await page(limit="2")
        assert [one["asked_by"]["id"] for one in small["approvals"]] == ["ann", "cat"]
        for query in ({"cursor": "-1"}, {"cursor": "9" * 10}, {"limit": "101"}, {"limit": "0"}):
            refused = await bob.http.get("/approvals", params=query)
            assert refused.status_code == 422
            assert refused.json()["code"] == f"invalid_{next(iter(query))}"


async def test_the_approvers_decision_lets_the_owners_run_go_on(tmp_path: Path) -> None:
    async with asked(tmp_path, CALL, [text("Paid."), finish()]) as (served, ann, bob):
        id = await bob.waiting()
        answer = await bob.decide(id, reason="Fine.")
        assert (answer.status_code, answer.json()) == (200, {"id": id, "approved": True})
        assert not [name for name in answer.headers if name.startswith("x-") and "id" in name]
        thread = await ann.settled()
        assert thread["run_state"] == "finished"
        given = {"id": "c1", "approved": True, "by": "bob", "reason": "Fine."}
        assert (await ann.call())["approval"] == given
        assert thread["messages"][-1]["parts"][-1]["text"] == "Paid."
        assert served.ledger == ["rent"]
        assert await bob.listed() == []


async def test_an_approver_may_decline_and_give_other_arguments(tmp_path: Path) -> None:
    async with asked(tmp_path, tool_call_message(PAY, MORE)) as (served, ann, bob):
        ids = {one["tool_call_id"]: one["id"] for one in await bob.listed()}
        refused(await bob.decide(ids["c1"], args={"words": "x"}), 422, "invalid_arguments")
        refused(await bob.decide(ids["c1"], False, args={"word": "x"}), 422, "invalid_approval")
        assert (await bob.decide(ids["c1"], args={"word": "less"})).status_code == 200
        await ann.settled()
        assert (await bob.decide(ids["c2"], False)).status_code == 200
        await ann.settled()
        assert (await ann.call(call_id="c2"))["approval"]["approved"] is False
        assert served.ledger == ["less"]


@pytest.mark.parametrize("roles", [("user",), ("clerk",), ("user", "clerk")])
async def test_who_may_not_decide_gets_what_an_unknown_id_gets(
    roles: tuple[str, ...], tmp_path: Path
) -> None:
    async with asked(tmp_path, roles=roles) as (served, ann, bob):
        id = await ann.waiting()
        assert await bob.listed() == []
        nobodys = "0" * len(id)
        answers = [await bob.decide(one) for one in (id, nobodys)]
        for answer in answers:
            refused(answer, 404, "unknown_approval")
        assert answers[0].text.replace(id, nobodys) == answers[1].text
        # The body is not looked at.
        bodies: list[Any] = [{}, {"approved": "yes"}, []]
        for body in bodies:
            refused(await bob.post(f"/approvals/{id}", body), 404, "unknown_approval")
        assert await ann.waiting() == id
        assert not served.ledger


@pytest.mark.parametrize("id", ["c1", "0" * 16, "%00", "'%20or%201=1--", "x" * 5000])
async def test_a_guessed_id_is_unknown(id: str, tmp_path: Path) -> None:
    async with asked(tmp_path) as (served, _, bob):
        problem = refused(await bob.decide(id), 404, "unknown_approval")
        assert len(problem["detail"]) < 200
        assert not served.ledger


async def test_a_decision_in_a_thread_of_the_same_id_is_on_ones_own_thread(tmp_path: Path) -> None:
    async with (
        office(tmp_path, CALL) as served,
        served.person("ann") as ann,
        served.person("bob", "boss") as bob,
    ):
        await ann.ask()
        before = await ann.client.thread(THREAD)
        refused(await bob.post("/chat", approve()), 409, "not_pending")
        as_answer = {"tool_call_id": "c1", "result": {"approved": True}}
        body = {"thread_id": THREAD, "tool_results": [as_answer]}
        refused(await bob.post("/chat", body), 409, "not_pending")
        refused(await bob.http.get(f"/threads/{THREAD}"), 404, "thread_not_found")
        assert (await bob.http.get("/threads")).json()["threads"] == []
        assert await ann.client.thread(THREAD) == before
        assert not served.ledger


async def test_me_says_who_may_decide_on_calls_of_others(tmp_path: Path) -> None:
    async with asked(tmp_path) as (_, ann, bob):
        assert (await bob.http.get("/me")).json()["approves"] is True
        assert "approves" not in (await ann.http.get("/me")).json()


async def test_who_loses_the_role_may_no_longer_decide(tmp_path: Path) -> None:
    async with asked(tmp_path) as (served, _, bob):
        id = await bob.waiting()
        bob.http.headers["X-Forwarded-Groups"] = "user"
        assert await bob.listed() == []
        refused(await bob.decide(id), 404, "unknown_approval")
        bob.http.headers["X-Forwarded-Groups"] = "nothing"
        refused(await bob.decide(id), 403, "forbidden")
        assert not served.ledger


async def test_the_second_decision_is_refused(tmp_path: Path) -> None:
    async with asked(tmp_path) as (served, ann, bob):
        id = await bob.waiting()
        assert (await bob.decide(id, approved=False)).status_code == 200
        await ann.settled()
        for again in (True, False):
            refused(await bob.decide(id, again), 409, "already_answered")
        refused(await ann.post("/chat", approve()), 409, "already_answered")
        assert not served.ledger


async def test_a_live_run_is_told_without_its_addresses(tmp_path: Path) -> None:
    async with asked(tmp_path, tool_call_message(SLOWLY, MORE)) as (served, ann, bob):
        ids = {one["tool_call_id"]: one["id"] for one in await bob.listed()}
        async with ann.client.chat(approve()):
            await served.tools.begun("rent")
            problem = refused(await bob.decide(ids["c1"]), 409, "already_answered")
            assert problem.keys() == {"type", "title", "status", "code", "detail"}
        await ann.http.post(f"/chat/{THREAD}/stop")


async def decision_in_flight(
    patch: pytest.MonkeyPatch, served: Office, deciding: Coroutine[Any, Any, httpx.Response]
) -> tuple[HeldMethod, asyncio.Task[httpx.Response]]:
    """A decision that has found its call open, and waits for its body."""
    assert served.client.state is not None
    held = HeldMethod(patch, served.client.state["bodies"], "read", once=True)
    task = asyncio.create_task(deciding)
    await held.reached.wait()
    return held, task


async def test_a_live_run_that_begins_meanwhile_is_told_without_its_addresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asked(tmp_path) as (served, ann, bob):
        id = await bob.waiting()
        held, deciding = await decision_in_flight(monkeypatch, served, bob.decide(id))
        served.model.script_anew(tool_call_message(("c9", "hold", '{"word": "x"}')))
        async with ann.client.chat({**ASK, "message": "Hold on."}):
            await served.tools.begun("x")
            held.through.set()
            problem = refused(await deciding, 409, "run_in_progress")
            assert problem.keys() == {"type", "title", "status", "code", "detail"}
            served.tools.release.set()
        assert not served.ledger


async def test_a_call_of_another_branch_with_the_same_id_is_not_what_was_approved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gold = tool_call_message(("c1", "pay", '{"word": "gold"}'))
    async with asked(tmp_path, CALL, gold) as (served, ann, bob):
        id = await bob.waiting()
        held, deciding = await decision_in_flight(monkeypatch, served, bob.decide(id))
        await ann.client.turn({"thread_id": THREAD, "regenerate": True})
        assert (await ann.call())["args"] == {"word": "gold"}
        held.through.set()
        refused(await deciding, 409, "already_answered")
        assert not served.ledger


@pytest.mark.long
@pytest.mark.parametrize("number", range(ROUNDS))
async def test_of_many_decisions_at_once_exactly_one_wins(number: int, tmp_path: Path) -> None:
    draw = random.Random(number)
    async with asked(tmp_path) as (served, ann, bob):
        async with served.person("eve", "boss") as eve:
            id = await bob.waiting()
            yes = [draw.random() < 0.8 for _ in range(12)]
            doors = [draw.choice((ann, bob, eve, None)) for _ in yes]
            decisions: list[Awaitable[httpx.Response]] = [
                door.decide(id, approved) if door else ann.post("/chat", approve(approved=approved))
                for door, approved in zip(doors, yes, strict=True)
            ]
            answers = await asyncio.gather(*decisions)
        codes = Counter(a.json()["code"] if a.status_code != 200 else "" for a in answers)
        assert codes.pop("") == 1
        assert codes.keys() <= {"run_in_progress", "already_answered"}
        won = next(n for n, answer in enumerate(answers) if answer.status_code == 200)
        await ann.settled()
        assert (await ann.call())["approval"]["approved"] is yes[won]
        assert served.ledger == (["rent"] if yes[won] else [])


async def test_the_run_that_goes_on_has_the_rights_of_whoever_asked(tmp_path: Path) -> None:
    policy = '[roles.user]\ntools = ["pay", "spend"]\n[roles.boss]\napproves = ["*"]\n'
    then = tool_call_message(("c8", "hold", '{"word": "x"}'), ("c9", "spend", '{"amount": 99}'))
    async with asked(tmp_path, CALL, then, policy=policy) as (served, ann, bob):
        await bob.decide(await bob.waiting())
        thread = await ann.settled()
        assert (await ann.call(call_id="c8"))["result"]["error"]["code"] == "tool_not_allowed"
        assert [call["tool_call_id"] for call in thread["approvals"]] == ["c9"]
        [waiting] = await bob.listed()
        assert waiting["asked_by"]["id"] == "ann"
        assert served.ledger == ["rent"]


async def test_who_approves_needs_no_tools_of_their_own(tmp_path: Path) -> None:
    policy = '[roles.user]\n[roles.boss]\ntools = []\napproves = ["pay"]\n'
    async with asked(tmp_path, policy=policy) as (served, ann, bob):
        assert (await bob.decide(await bob.waiting())).status_code == 200
        await ann.settled()
        assert served.ledger == ["rent"]


BOSS = '[roles.boss]\napproves = ["*"]\n'


async def test_an_asker_who_may_no_longer_call_the_tool_does_not_call_it(tmp_path: Path) -> None:
    async with asked(tmp_path):
        pass
    policy = BOSS + '[roles.user]\ntools = ["echo"]\n'
    async with (
        office(tmp_path, policy=policy) as served,
        served.person("ann") as ann,
        served.person("bob", "boss") as bob,
    ):
        assert (await bob.decide(await bob.waiting())).status_code == 200
        await ann.settled()
        assert (await ann.call())["result"]["error"]["code"] == "tool_not_allowed"
        assert not served.ledger


async def test_the_run_of_an_asker_without_a_role_does_not_go_on(tmp_path: Path) -> None:
    async with asked(tmp_path):
        pass
    async with (
        office(tmp_path, policy=BOSS) as served,
        served.person("bob", "boss") as bob,
    ):
        id = await bob.waiting()
        problem = refused(await bob.decide(id), 409, "asker_forbidden")
        assert "You have no role" not in problem["detail"]
        assert await bob.waiting() == id
        assert not served.ledger


async def test_a_limit_of_the_asker_is_told_without_its_name_and_value(tmp_path: Path) -> None:
    policy = BOSS + "[roles.user]\n[roles.user.limits]\nlive_runs = 1\n"
    hold = tool_call_message(("c9", "hold", '{"word": "x"}'))
    async with asked(tmp_path, CALL, hold, policy=policy) as (served, ann, bob):
        id = await bob.waiting()
        async with ann.client.chat({"thread_id": "other", "message": "Hold."}) as stream:
            await served.tools.begun("x")
            answer = await bob.decide(id)
            problem = refused(answer, 429, "limit_exceeded")
            assert "retry-after" in answer.headers
            assert "live_runs" not in answer.text
            assert problem.keys() == {"type", "title", "status", "code", "detail"}
            served.tools.release.set()
            await stream.rest()
        assert (await bob.decide(id)).status_code == 200
        await ann.settled()
        assert served.ledger == ["rent"]


OTHERS = """
[roles.user]
approval_by_others = ["echo", "pay"]

[roles.boss]
approval_by_others = ["pay"]
approves = ["*"]
"""


@pytest.mark.parametrize("call", [PAY, ("c1", "echo", '{"word": "rent"}')])
async def test_nobody_approves_their_own_call_of_a_tool_that_others_must_approve(
    call: tuple[str, str, str], tmp_path: Path
) -> None:
    scripts = [tool_call_message(call)] * 2
    async with asked(tmp_path, *scripts, policy=OTHERS) as (served, ann, bob):
        id = await ann.waiting()
        as_answer = {"tool_call_id": "c1", "result": {"approved": True}}
        for answer in (
            await ann.decide(id),
            await ann.post("/chat", approve()),
            await ann.post("/chat", approve(args={"word": "less"})),
            await ann.post("/chat", {"thread_id": THREAD, "tool_results": [as_answer]}),
        ):
            refused(answer, 403, "forbidden")
        assert await bob.waiting() == id
        assert dict(served.tools.calls) == {}
        assert (await bob.decide(id)).status_code == 200
        await ann.settled()
        assert dict(served.tools.calls) == {"rent": 1}


async def test_an_approver_does_not_approve_their_own_call_either_and_may_decline_it(
    tmp_path: Path,
) -> None:
    async with (
        office(tmp_path, CALL, policy=OTHERS) as served,
        served.person("bob", "boss") as bob,
    ):
        await bob.ask()
        id = await bob.waiting()
        refused(await bob.decide(id), 403, "forbidden")
        refused(await bob.post("/chat", approve()), 403, "forbidden")
        assert (await bob.decide(id, approved=False)).status_code == 200
        await bob.settled()
        assert (await bob.call())["approval"]["approved"] is False
        assert not served.ledger


# Threads that get another owner


async def assign(folder: Path, patch: pytest.MonkeyPatch, old: str, new: str) -> None:
    patch.setenv("TURNSTREAM_DATABASE", str(folder / "t.db"))
    arguments = ["threads", "assign", "--from", old, "--to", new]
    assert await asyncio.to_thread(run, arguments) == 0


async def test_a_call_made_without_authentication_is_nobodys_to_approve_until_it_is_assigned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with alone(tmp_path, CALL) as (_, local):
        await local.ask()
        id = await local.waiting()
    policy = BOSS + '[roles.user]\ntools = ["pay"]\n'
    then = tool_call_message(("c9", "echo", '{"word": "x"}'))
    async with (
        office(tmp_path, then, policy=policy) as served,
        served.person("ann") as ann,
        served.person("bob", "boss") as bob,
    ):
        assert await bob.listed() == []
        refused(await bob.decide(id), 404, "unknown_approval")
        await assign(tmp_path, monkeypatch, "local", "ann")
        [waiting] = await bob.listed()
        assert (waiting["id"], waiting["asked_by"]) == (id, {"id": "ann", "name": "ann"})
        # Nobody knows the roles that ann has: she has not asked.
        refused(await bob.decide(id), 409, "asker_forbidden")
        assert (await ann.decide(id)).status_code == 200
        await ann.settled()
        assert (await ann.call(call_id="c9"))["result"]["error"]["code"] == "tool_not_allowed"
        assert served.ledger == ["rent"]


async def test_a_call_that_was_assigned_goes_on_with_the_default_role_and_not_with_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with alone(tmp_path, CALL) as (_, local):
        await local.ask()
    await assign(tmp_path, monkeypatch, "local", "ann")
    policy = 'default_role = "guest"\n' + BOSS + '[roles.guest]\ntools = ["pay"]\n'
    then = tool_call_message(("c9", "echo", '{"word": "x"}'))
    async with (
        office(tmp_path, then, policy=policy) as served,
        served.person("ann") as ann,
        served.person("bob", "boss") as bob,
    ):
        assert (await bob.decide(await bob.waiting())).status_code == 200
        await ann.settled()
        assert (await ann.call(call_id="c9"))["result"]["error"]["code"] == "tool_not_allowed"
        assert dict(served.tools.calls) == {"rent": 1}


async def test_the_roles_of_the_old_owner_do_not_go_to_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = BOSS + "[roles.chief]\n[roles.user]\ntools = []\n"
    async with (
        office(tmp_path, tool_call_message(PAY, MORE), policy=policy) as served,
        served.person("cora", "chief") as cora,
        served.person("ann") as ann,
        served.person("bob", "boss") as bob,
    ):
        await cora.ask()
        await assign(tmp_path, monkeypatch, "cora", "ann")
        assert await cora.listed() == []
        ids = {one["tool_call_id"]: one["id"] for one in await bob.listed()}
        assert {one["asked_by"]["id"] for one in await bob.listed()} == {"ann"}
        for id in ids.values():
            refused(await bob.decide(id), 409, "asker_forbidden")
        # The thread is read anew for the list when a run has ended.
        assert (await ann.decide(ids["c1"], approved=False)).status_code == 200
        await ann.settled()
        refused(await bob.decide(ids["c2"]), 409, "asker_forbidden")
        assert not served.ledger


async def test_without_a_policy_nobody_decides_on_calls_of_others(tmp_path: Path) -> None:
    configured = authenticating(tmp_path / "t.db")
    async with (
        serving_payments(configured, CALL) as served,
        served.person("ann") as ann,
        served.person("bob") as bob,
    ):
        await ann.ask()
        assert await bob.listed() == []
        refused(await bob.decide(await ann.waiting()), 404, "unknown_approval")
        assert not served.ledger


async def test_when_authentication_is_off_again_calls_of_callers_are_nobodys(
    tmp_path: Path,
) -> None:
    async with asked(tmp_path) as (_, ann, _bob):
        id = await ann.waiting()
    async with serving_payments(settings(tmp_path / "t.db")) as served:
        local = Person(served.client)
        assert await local.listed() == []
        refused(await local.decide(id), 404, "unknown_approval")
        refused(await local.post("/chat", approve()), 409, "not_pending")
        assert not served.ledger


async def test_a_call_that_waits_for_no_approval_takes_none(tmp_path: Path) -> None:
    calls = tool_call_message(
        PAY, ("c2", "echo", '{"word": "x"}'), ("c3", SELECTION, QUESTION), ("c4", "pay", "{bad")
    )
    async with asked(tmp_path, calls) as (served, ann, bob):
        assert [one["tool_call_id"] for one in await bob.listed()] == ["c1"]
        for id in ("c2", "c3", "c4", "c5", ""):
            refused(await ann.post("/chat", approve(id)), 409, "not_pending")
        assert dict(served.tools.calls) == {"x": 1}
