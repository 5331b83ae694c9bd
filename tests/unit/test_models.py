"""Names of models, what keeps one from being opened, and what each provider gets of a thread."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage

from turnstream.graphs.history import for_model
from turnstream.graphs.models import ModelName
from turnstream.graphs.providers import anthropic, google_genai, ollama
from turnstream.graphs.replay import SIGNATURES, kept_extras

NOTHING: dict[str, str | None] = {}


@pytest.mark.parametrize(
    ("text", "provider", "name"),
    [
        ("gpt-4.1-mini", "openai", "gpt-4.1-mini"),
        ("openai:gpt-5", "openai", "gpt-5"),
        ("anthropic:claude-sonnet-5", "anthropic", "claude-sonnet-5"),
        ("google_genai:gemini-3.5-flash", "google_genai", "gemini-3.5-flash"),
        ("ollama:qwen2.5:7b", "ollama", "qwen2.5:7b"),
        ("qwen2.5:7b", "openai", "qwen2.5:7b"),
        ("mistral:7b", "openai", "mistral:7b"),
        ("ollama:", "openai", "ollama:"),
        ("offline", "offline", "offline"),
    ],
)
def test_a_name_has_a_provider_if_it_begins_with_a_known_one(
    text: str, provider: str, name: str
) -> None:
    assert ModelName.parse(text) == ModelName(provider, name)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC", "GOOGLE", "GEMINI"):
        monkeypatch.delenv(f"{name}_API_KEY", raising=False)
        monkeypatch.delenv(f"{name}_BASE_URL", raising=False)


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("gpt-5", "OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own"),
        ("anthropic:claude-sonnet-5", "ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL"),
        ("google_genai:gemini-3.5-flash", "GOOGLE_API_KEY or GEMINI_API_KEY"),
    ],
)
def test_a_missing_key_is_named(text: str, needed: str) -> None:
    fault = ModelName.parse(text).fault(NOTHING)
    assert fault is not None
    assert needed in fault


@pytest.mark.usefixtures("bare")
def test_a_key_of_the_settings_is_as_good_as_one_of_the_environment() -> None:
    assert ModelName.parse("gpt-5").fault({"OPENAI_API_KEY": "k"}) is None
    assert ModelName.parse("ollama:qwen3").fault(NOTHING) is None
    assert ModelName.parse("offline").fault(NOTHING) is None


def test_a_missing_package_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("turnstream.graphs.models.find_spec", lambda _name: None)
    fault = ModelName.parse("google_genai:gemini-3.5-flash").fault(NOTHING)
    assert fault is not None
    assert fault.endswith("pip install '/path/to/turnstream[google-genai]'")


def test_reasoning_is_asked_for_in_each_packages_own_words() -> None:
    budget = {"thinking": {"type": "enabled", "budget_tokens": 8192}}
    assert anthropic.reasoning("claude-haiku-4-5", "medium", 64_000) == budget
    assert (
        anthropic.reasoning("claude-haiku-4-5", "high", 4096)["thinking"]["budget_tokens"] == 2048
    )
    adaptive = {"type": "adaptive", "display": "summarized"}
    assert anthropic.reasoning("claude-opus-5", "on", None) == {"thinking": adaptive}
    assert anthropic.reasoning("claude-opus-5", "low", None)["reasoning_effort"] == "low"
    assert google_genai.reasoning("gemini-2.5-pro", "low")["thinking_budget"] == 1024
    assert google_genai.reasoning("gemini-3.5-flash", "low")["reasoning_effort"] == "low"
    assert [ollama.reasoning(wanted) for wanted in ("off", "on", "high")] == [False, True, "high"]
    for module in (
        anthropic.reasoning("claude-opus-5", "off", None),
        google_genai.reasoning("g", "off"),
    ):
        assert module == {}


CALL = ToolCall(type="tool_call", id="c1", name="clock", args={})


def said(content: Any, provider: str, **fields: Any) -> list[AnyMessage]:
    """A turn in which a provider's model said this and called a tool."""
    message = AIMessage(
        content, tool_calls=[CALL], response_metadata={"model_provider": provider}, **fields
    )
    return [HumanMessage("Go"), message, ToolMessage("noon", tool_call_id="c1", name="clock")]


SIGNED = {"type": "thinking", "thinking": "Hm.", "signature": "S", "index": 0}
UNSIGNED = {"type": "thinking", "thinking": "Hm."}
TEXT = {"type": "text", "text": "Let me see.", "index": 1}
SEALED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E", "index": 0}


def only(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    return [{k: v for k, v in block.items() if k != "index"} for block in blocks]


@pytest.mark.parametrize(
    ("content", "of", "to", "replayed"),
    [
        ([SIGNED, TEXT], "anthropic", "anthropic", only(SIGNED, TEXT)),
        ([UNSIGNED, TEXT], "anthropic", "anthropic", only(TEXT)),
        ([SIGNED, TEXT], "anthropic", "google_genai", "Let me see."),
        ([SIGNED, TEXT], "anthropic", "openai", "Let me see."),
        ([SIGNED, "Let me see."], "google_genai", "google_genai", only(SIGNED, TEXT)),
        ([SIGNED, "Let me see."], "google_genai", "anthropic", "Let me see."),
        ([SEALED, TEXT], "openai", "openai_responses", only(SEALED, TEXT)),
        ([SEALED, TEXT], "openai", "openai", "Let me see."),
        ([{"type": "reasoning", "reasoning": "Hm."}, TEXT], "ollama", "ollama", "Let me see."),
        ([{"type": "reasoning", "reasoning": "Hm."}, TEXT], "openai", None, "Let me see."),
    ],
)
def test_a_provider_gets_its_own_words_whole_and_of_others_the_text(
    content: Any, of: str, to: str | None, replayed: Any
) -> None:
    _, message, _ = for_model(said(content, of), "", 1000, to)
    assert message.content == replayed
    assert isinstance(message, AIMessage)
    assert message.tool_calls == [CALL]


def test_ollama_gets_its_reasoning_beside_the_text() -> None:
    thought = [{"type": "reasoning", "reasoning": "Hm."}, TEXT]
    for provider, beside in (("ollama", {"reasoning_content": "Hm."}), ("anthropic", {})):
        _, message, _ = for_model(said(thought, provider), "", 1000, "ollama")
        assert message.additional_kwargs == beside


@pytest.mark.parametrize("calls", [0, 1])
def test_a_message_that_was_stopped_behind_a_thought_is_replayed_to_anthropic_without_it(
    calls: int,
) -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "S"}
    secret = {"type": "redacted_thinking", "data": "D"}
    text = {"type": "text", "text": "Well,"}
    content: list[str | dict[str, Any]] = [thought, text, thought, secret]
    call = ToolCall(type="tool_call", id="c1", name="clock", args={})
    stopped = AIMessage(
        content, tool_calls=[call] * calls, response_metadata={"model_provider": "anthropic"}
    )
    history = for_model([HumanMessage("Go"), stopped], "", 1000, "anthropic")
    assert history[1].content == (content if calls else [thought, text])


def test_the_signature_of_a_call_follows_its_id() -> None:
    extras = {SIGNATURES: {"given": "S"}, "function_call": {"name": "clock"}}
    assert kept_extras("google_genai", extras, {"given": "kept"}) == {SIGNATURES: {"kept": "S"}}
    assert kept_extras("anthropic", extras, {}) == {}
    kept = {SIGNATURES: {"c1": "S"}}
    twice = said("", "google_genai", additional_kwargs=kept)
    history = for_model([*twice, *twice], "", 1000, "google_genai")
    for message in (m for m in history if isinstance(m, AIMessage)):
        (call,) = message.tool_calls
        assert message.additional_kwargs == {SIGNATURES: {call["id"]: "S"}}


@pytest.mark.parametrize("provider", ["anthropic", "google_genai"])
def test_the_last_word_is_the_users_where_the_model_continues_none_of_its_own(
    provider: str,
) -> None:
    history: list[AnyMessage] = [HumanMessage("Go"), AIMessage("Well,")]
    assert for_model(history, "", 1000, provider)[-1] == HumanMessage("Go on.")
    assert for_model(history, "", 1000, "openai")[-1].content == "Well,"


def test_a_name_that_gemini_does_not_take_is_changed_in_the_call_and_its_answer() -> None:
    call = ToolCall(type="tool_call", id="c1", name="0clock", args={})
    history: list[AnyMessage] = [
        HumanMessage("Go"),
        AIMessage("", tool_calls=[call]),
        ToolMessage("noon", tool_call_id="c1", name="0clock"),
    ]
    _, message, answer = for_model(history, "", 1000, "google_genai")
    assert isinstance(message, AIMessage)
    assert (message.tool_calls[0]["name"], answer.name) == ("_0clock", "_0clock")


@pytest.mark.parametrize("address", ["foo:bar", "http://[::1", "host:99999"])
def test_an_address_of_ollama_that_is_not_valid_is_named_with_the_way_out(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", address)
    fault = ModelName.parse("ollama:qwen3").fault(NOTHING)
    assert fault == "OLLAMA_HOST is not a valid address: write it as http://localhost:11434"


@pytest.mark.parametrize(
    "address", ["", "localhost", "0.0.0.0:1234", ":1234", "https://a.example/x"]
)
def test_an_address_of_ollama_may_be_in_any_form_that_its_package_takes(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", address)
    assert ModelName.parse("ollama:qwen3").fault(NOTHING) is None


def image(url: str) -> HumanMessage:
    return HumanMessage([{"type": "image_url", "image_url": {"url": url}}])


@pytest.mark.parametrize("provider", ["google_genai", "ollama"])
def test_an_address_of_an_image_is_only_mentioned_to_who_cannot_open_it(provider: str) -> None:
    there, inline = image("https://example.org/a.png"), image("data:image/png;base64,AAAA")
    mentioned, kept = for_model([there, inline], "", 10_000, provider)
    assert "https://example.org/a.png" in mentioned.text
    assert kept == inline
    assert for_model([there], "", 10_000, "anthropic") == [there]
