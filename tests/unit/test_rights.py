"""What the roles of a policy add up to for one caller."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from turnstream.graphs.rights import NOT_ALLOWED
from turnstream.server.callers.principal import LOCAL, Principal
from turnstream.server.callers.rights import Forbidden, LimitExceeded, Rights
from turnstream.server.extensions.users import rules
from turnstream.server.extensions.users.policy import Policy
from turnstream.server.extensions.users.policy_file import PolicyFile
from turnstream.server.extensions.users.rules import Rule

FILE = PolicyFile.model_validate(
    {
        "roles": {
            "reader": {"tools": ["get_*", "calculator"], "limits": {"live_runs": 1}},
            "writer": {
                "tools": ["send_*", "calculator"],
                "approval": ["send_*", "calculator"],
                "limits": {"live_runs": 5, "open_streams": 3},
            },
            "auditor": {"tools": ["send_*"], "approval": ["*"]},
        }
    }
)


def rights(*roles: str) -> Rights:
    return Policy(FILE).rights(Principal("ann", roles, method="key"))


def decisions(rights: Rights) -> list[str]:
    return [rights.decide(name) for name in ("get_time", "send_mail", "calculator", "GET_time")]


def test_a_role_gives_the_tools_that_its_globs_match() -> None:
    assert decisions(rights("reader")) == ["allow", "deny", "allow", "deny"]
    assert decisions(rights("writer")) == ["deny", "approval", "approval", "deny"]


def test_roles_add_up_and_approval_is_asked_only_if_all_that_allow_the_tool_ask_for_it() -> None:
    assert decisions(rights("reader", "writer")) == ["allow", "approval", "allow", "deny"]
    assert decisions(rights("writer", "auditor")) == ["deny", "approval", "approval", "deny"]


def test_of_several_limits_the_largest_counts_and_none_is_unlimited() -> None:
    assert rights("reader", "writer").limit("live_runs") == 5
    assert rights("reader", "writer").limit("open_streams") is None
    assert rights("writer").limit("open_streams") == 3
    rights("writer").check_count("open_streams", 2)
    with pytest.raises(LimitExceeded) as fault:
        rights("writer").check_count("open_streams", 3)
    assert (fault.value.limit, fault.value.value) == ("open_streams", 3)


def test_unknown_roles_give_nothing() -> None:
    assert decisions(rights("nobody", "reader")) == decisions(rights("reader"))
    with pytest.raises(Forbidden):
        rights("nobody")
    with pytest.raises(Forbidden):
        rights()


def test_the_default_role_is_for_those_without_a_known_one() -> None:
    policy = Policy(FILE.model_copy(update={"default_role": "reader"}))
    by_default = policy.rights(Principal("ann", ("nobody",), method="key"))
    assert decisions(by_default) == decisions(rights("reader"))
    known = policy.rights(Principal("ann", ("auditor",), method="key"))
    assert decisions(known) == ["deny", "approval", "deny", "deny"]


def test_without_authentication_or_a_policy_everything_is_allowed() -> None:
    for free in (Policy(FILE).rights(LOCAL), Policy().rights(Principal("ann", method="key"))):
        assert set(decisions(free)) == {"allow"}
        assert free.limit("live_runs") is None
        assert not free.restricts_tools


def test_rights_can_be_narrowed_and_never_widened() -> None:
    narrow = rights("reader").narrowed(["get_time", "send_mail"])
    assert decisions(narrow) == ["allow", "deny", "deny", "deny"]
    assert set(decisions(narrow.narrowed(["calculator"]))) == {"deny"}
    assert set(decisions(rights("reader").narrowed([]))) == {"deny"}
    assert rights("reader").narrowed(None) == rights("reader")
    assert Policy().rights(LOCAL).narrowed(["get_time"]).restricts_tools


def answering(answer: Any) -> Rule:
    def rule(_principal: Principal, _call: Mapping[str, Any]) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return Rule("test:rule", rule)


def under(rule: Rule) -> Rights:
    return Policy(FILE, rule).rights(Principal("ann", ("reader",), method="key"))


@pytest.mark.parametrize("answer", ["deny", None, True, "ALLOW", ["allow"], ValueError("secret")])
async def test_a_rule_that_does_not_say_allow_denies(answer: Any) -> None:
    subject = under(answering(answer))
    assert await subject.refusal("get_time", {}) == NOT_ALLOWED
    assert subject.refusal_now("get_time", {}) == NOT_ALLOWED


async def test_a_rule_gets_the_caller_and_the_call() -> None:
    async def rule(principal: Principal, call: Mapping[str, Any]) -> str:
        return "allow" if call["args"]["owner"] == principal.id else "deny"

    subject = under(Rule("test:rule", rule))
    assert await subject.refusal("get_time", {"owner": "ann"}) is None
    assert await subject.refusal("get_time", {"owner": "bob"}) == NOT_ALLOWED
    assert await under(answering("allow")).refusal("get_time", {}) is None


async def test_a_rule_cannot_change_the_arguments_of_the_call() -> None:
    def rule(_principal: Principal, call: Mapping[str, Any]) -> str:
        call["args"]["sum"]["amount"] = 1_000_000
        return "allow"

    args = {"sum": {"amount": 1}}
    await under(Rule("test:rule", rule)).refusal("get_time", args)
    assert args == {"sum": {"amount": 1}}


async def test_a_rule_that_takes_too_long_denies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "RULE_SECONDS", 0.01)

    async def rule(_principal: Principal, _call: Mapping[str, Any]) -> str:
        await asyncio.Event().wait()
        return "allow"

    assert await under(Rule("test:rule", rule)).refusal("get_time", {}) == NOT_ALLOWED
