"""A policy's file: what it says, and the sentence with the line of each fault."""

from pathlib import Path

import pytest

from turnstream.server.extensions.base import Served
from turnstream.server.extensions.users.policy import open_policy
from turnstream.server.extensions.users.policy_file import PolicyError, read_policy
from turnstream.server.toml_file import line_of

WHOLE = """\
default_role = "user"

[roles.user]
tools = ["*"]
approval = ["send_*"]

[roles.user.limits]
requests_per_minute = 60
live_runs = 2
tool_calls_per_day = { "*" = 100, web_search = 20 }

[roles."on call"]
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "policy.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_glob_that_matches_nothing_is_named_with_what_is_near(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = """
    [roles.user]
    tools = ["send_*", "own_*", "*"]
    models = ["gpt*"]
    approval = ["shedule_maintenance", "schedule_maintenance"]
    approves = ["Schedule_*"]
    limits.tool_calls_per_day = { "web_serch" = 1 }
    """
    policy = open_policy(written(tmp_path, text))
    tools = ["schedule_maintenance", "send_mail", "web_search"]
    policy.check(Served(tools, ["offline"]))
    said = [record.getMessage() for record in caplog.records]
    start = "TURNSTREAM_POLICY: roles.user"
    assert said == [
        f"{start}.tools: 'own_*' matches nothing",
        f"{start}.approval: 'shedule_maintenance' matches nothing; "
        "did you mean 'schedule_maintenance'?",
        f"{start}.approves: 'Schedule_*' matches nothing",
        f"{start}.models: 'gpt*' matches nothing",
        f"{start}.limits.tool_calls_per_day: 'web_serch' matches nothing; "
        "did you mean 'web_search'?",
    ]


def test_a_policy_is_read_with_its_defaults(tmp_path: Path) -> None:
    policy = read_policy(written(tmp_path, WHOLE))
    user, on_call = policy.roles["user"], policy.roles["on call"]
    assert (policy.default_role, policy.rule) == ("user", None)
    assert (user.tools, user.approval) == (("*",), ("send_*",))
    assert (user.limits.requests_per_minute, user.limits.open_streams) == (60, None)
    assert user.limits.tool_calls_per_day == {"*": 100, "web_search": 20}
    assert (on_call.tools, on_call.approval) == (("*",), ())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            '[roles.user]\n\ntols = ["*"]\n',
            "line 3: roles.user.tols: unknown key; did you mean 'tools'?",
        ),
        (
            "[roles.user.limits]\nspeed = 3",
            "line 2: roles.user.limits.speed: unknown key; there are: requests_per_minute, "
            "live_runs, open_streams, new_threads_per_day, tokens_per_day, tool_calls_per_day",
        ),
        (
            "[roles.user]\nlimits.live_runs = 0",
            "line 2: roles.user.limits.live_runs: should be greater than 0, not 0",
        ),
        (
            "[roles.user.limits]\nlive_runs = true",
            "line 2: roles.user.limits.live_runs: should be a whole number, not True",
        ),
        (
            '[roles.user.limits]\ntool_calls_per_day = { a = 1, "b c" = "x" }',
            "line 2: roles.user.limits.tool_calls_per_day.b c: should be a whole number, not 'x'",
        ),
        (
            '[roles.user]\ntools = "search"',
            "line 2: roles.user.tools: should be a list, not 'search'",
        ),
        (
            '[roles.user]\ntools = [\n  "a",\n  3,\n]',
            "line 2: roles.user.tools: should be a string, not 3",
        ),
        ('[roles.user]\ntools = [""]', "line 2: roles.user.tools: should not be empty, not ''"),
        ("[roles]\nuser = 3", "line 2: roles.user: should be a table, not 3"),
        ("roles = 3", "line 1: roles: should be a table, not 3"),
        ("# nothing\n", "line 1: roles: missing; add a table such as [roles.user]"),
        (
            'rule = "my_rules"\n[roles.user]',
            "line 1: rule: 'my_rules' does not name a function as module:function",
        ),
        (
            '\ndefault_role = "usr"\n[roles.user]',
            "line 2: default_role: there is no role 'usr'; did you mean 'user'?",
        ),
        (
            '[roles."a.b"]\n[roles.user]\n[roles."a.b".limits]\nlive_run = 1',
            "line 4: roles.a.b.limits.live_run: unknown key; did you mean 'live_runs'?",
        ),
        (
            "[roles.a]\ntool = []\n[roles.b.limits]\nlive_runs = -1",
            "line 2: roles.a.tool: unknown key; did you mean 'tools'?",
        ),
    ],
)
def test_a_fault_is_one_sentence_with_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(PolicyError) as fault:
        read_policy(written(tmp_path, text))
    assert str(fault.value) == f"policy.toml, {sentence}"


def test_the_example_of_the_documentation_is_a_policy(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "policy.md").read_text(encoding="utf-8")
    example = page.split("```toml\n")[1].split("```")[0]
    policy = read_policy(written(tmp_path, example))
    assert (policy.default_role, [*policy.roles]) == ("user", ["user", "admin"])
    limits = policy.roles["user"].limits.model_dump()
    assert all(limits.values()), "every limit is shown"


def test_what_is_not_toml_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"policy\.toml: .*line 2"):
        read_policy(written(tmp_path, "[roles.user]\ntools = *\n"))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"TURNSTREAM_POLICY: .*none\.toml cannot be read"):
        read_policy(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"# \xe9")
    with pytest.raises(PolicyError, match="not UTF-8"):
        read_policy(tmp_path / "latin.toml")


def test_a_key_without_a_line_has_that_of_what_is_around_it() -> None:
    assert line_of(WHOLE, ("roles", "user", "limits", "tool_calls_per_day", "web_search")) == 10
    assert line_of(WHOLE, ("roles", "user", "approval", 0)) == 5
    assert line_of(WHOLE, ("roles", "on call", "tools")) == 12
    assert line_of("[roles.user] # the desk's\ntools = 1", ("roles", "user", "tools")) == 2


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("no_such_module:allow", "no_such_module:allow cannot be loaded .ModuleNotFoundError"),
        ("json:nothing", "json:nothing cannot be loaded .AttributeError"),
        ("json:__name__", "json:__name__ is a str"),
    ],
)
def test_a_rule_that_cannot_be_loaded_refuses_the_start(
    tmp_path: Path, rule: str, sentence: str
) -> None:
    file = written(tmp_path, f'rule = "{rule}"\n[roles.user]')
    with pytest.raises(PolicyError, match=f"TURNSTREAM_POLICY: {sentence}"):
        open_policy(file)
