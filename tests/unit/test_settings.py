"""Settings: where they come from, and what is said of a bad one."""

from pathlib import Path

import pytest

from tests.support.environment import isolate
from turnstream.graphs.limits import Limits
from turnstream.server.extensions.base import ExtensionError
from turnstream.server.launch import StartError, read_settings


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)


def refused(*arguments: str) -> str:
    with pytest.raises((StartError, ExtensionError)) as error:
        read_settings(arguments)
    return str(error.value)


def test_the_defaults_need_no_key_and_no_argument() -> None:
    settings = read_settings([])
    assert settings.model_name == "offline"
    assert (settings.host, settings.port) == ("127.0.0.1", 8000)
    assert settings.database == Path("turnstream.db")


def test_the_limits_of_the_graph_are_the_settings() -> None:
    given = read_settings(
        ["--max-steps", "2", "--tool-timeout-seconds", "0.5", "--max-result-chars", "99"]
    ).limits
    assert (given.max_steps, given.tool_timeout_seconds, given.max_result_chars) == (2, 0.5, 99)
    assert read_settings([]).limits == Limits(), "the defaults are stated twice, and agree"


def test_an_option_beats_a_variable_and_a_variable_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TURNSTREAM_MAX_STEPS", "5")
    assert read_settings([]).max_steps == 5
    assert read_settings(["--max-steps", "6"]).max_steps == 6
    monkeypatch.setenv("TURNSTREAM_MAX_STEPS", "")
    assert read_settings([]).max_steps == 12, "empty is as good as missing"


@pytest.mark.parametrize("by", ["option", "variable"])
def test_lists_are_written_with_commas(monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    if by == "variable":
        monkeypatch.setenv("TURNSTREAM_ALLOWED_ORIGINS", "https://a.example, https://b.example")
        settings = read_settings([])
    else:
        settings = read_settings(["--allowed-origins", "https://a.example, https://b.example"])
    assert settings.allowed_origins == ("https://a.example", "https://b.example")


@pytest.mark.parametrize(
    ("variables", "model"),
    [
        ({}, "offline"),
        ({"OPENAI_API_KEY": "k"}, "gpt-4.1-mini"),
        ({"OPENAI_API_KEY": "k", "TURNSTREAM_MODEL": "gpt-x"}, "gpt-x"),
        ({"OPENAI_API_KEY": "k", "TURNSTREAM_MODEL": "offline"}, "offline"),
        ({"OPENAI_BASE_URL": "http://localhost:1", "TURNSTREAM_MODEL": "llama"}, "llama"),
    ],
)
def test_the_model_is_chosen_by_key_and_name(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], model: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert read_settings([]).model_name == model


def test_a_base_url_without_a_model_asks_for_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1")
    assert "TURNSTREAM_MODEL" in refused()


def test_a_model_without_key_or_address_asks_for_one() -> None:
    said = refused("--model", "gpt-x")
    assert "'gpt-x'" in said
    assert "OPENAI_API_KEY" in said


def test_the_system_prompt_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("Be a pirate.\n")
    settings = read_settings(["--system-prompt", f"@{tmp_path / 'prompt.txt'}"])
    assert settings.system_prompt == "Be a pirate."
    missing = refused("--system-prompt", "@missing.txt")
    assert "TURNSTREAM_SYSTEM_PROMPT" in missing
    assert "'missing.txt'" in missing


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("PORT", "99999", "65535"),
        ("PORT", "-1", "greater than or equal to 0"),
        ("PORT", "http", "integer"),
        ("MAX_STEPS", "0", "greater than 0"),
        ("MAX_RUN_SECONDS", "soon", "number"),
        ("TOOL_TIMEOUT_SECONDS", "-1", "greater than 0"),
        ("PING_SECONDS", "60", "15"),
        ("OFFLINE_WORD_SECONDS", "-0.1", "greater than or equal to 0"),
        ("MAX_BODY_BYTES", "1e6", "integer"),
        ("MAX_HISTORY_TOKENS", "none", "integer"),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, allowed: str
) -> None:
    monkeypatch.setenv(f"TURNSTREAM_{name}", value)
    said = refused()
    assert f"TURNSTREAM_{name} cannot be {value!r}" in said
    assert allowed in said


def test_all_bad_values_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNSTREAM_MAX_STEPS", "0")
    said = refused("--port", "x")
    assert "TURNSTREAM_MAX_STEPS" in said
    assert "TURNSTREAM_PORT" in said


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--auth", ","], "name a method"),
        (["--auth", "off,keys"], "'off' goes with no other"),
        (["--auth", "key"], "'key' is none of off, keys, jwt, header"),
        (["--auth", "jwt"], "TURNSTREAM_JWT_ISSUER and TURNSTREAM_JWT_AUDIENCE"),
        (["--auth", "jwt", "--jwt-issuer", "https://i.example"], "TURNSTREAM_JWT_AUDIENCE"),
        (["--auth", "header"], "needs TURNSTREAM_TRUSTED_PROXIES"),
        (["--auth", "header", "--trusted-proxies", ","], "needs TURNSTREAM_TRUSTED_PROXIES"),
        (["--trusted-proxies", "proxy.example"], "TURNSTREAM_TRUSTED_PROXIES: 'proxy.example'"),
        (["--host", "0.0.0.0"], "set TURNSTREAM_AUTH"),
        (["--host", "::"], "set TURNSTREAM_AUTH"),
    ],
)
def test_a_server_that_could_not_tell_who_calls_does_not_start(
    arguments: list[str], why: str
) -> None:
    assert why in refused(*arguments)


@pytest.mark.parametrize("auth", ["off", "keys"])
def test_a_server_for_everyone_says_so(auth: str) -> None:
    assert read_settings(["--host", "0.0.0.0", "--auth", auth]).auth == (auth,)


@pytest.mark.parametrize(
    ("given", "is_used"),
    [((), True), (("--auth", "keys"), False), (("--auth", "keys", "--app-context", "use"), True)],
)
def test_texts_of_apps_are_used_until_callers_are_recognised(
    given: tuple[str, ...], is_used: bool
) -> None:
    assert read_settings([*given]).takes_app_context is is_used
