"""The chat models by settings.

`provider:model` with one of PROVIDERS names a provider's model; anything else is the name of a
model of an OpenAI-compatible server (`qwen2.5:7b` too), or `offline`.
"""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel

from turnstream.graphs.images import told_of_images
from turnstream.graphs.model_options import ModelOptions
from turnstream.graphs.offline import OfflineChatModel

DEFAULT_MODEL = "gpt-4.1-mini"
OFFLINE = "offline"


@dataclass(frozen=True, slots=True)
class Provider:
    """`module` has `open_model(name, options)`; it needs `package`, which `extra` installs."""

    module: str
    package: str
    extra: str
    keys: tuple[str, ...] = ()
    """Variables of which one holds the key; without any, none is needed."""
    addresses: tuple[str, ...] = ()
    """Variables of which one may name a server of one's own, which needs no key."""
    host: str = ""
    """A variable whose address the package parses when it is imported; its scheme may be left
    out."""


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(
        "turnstream.graphs.openai_model",
        "langchain_openai",
        "",
        ("OPENAI_API_KEY",),
        ("OPENAI_BASE_URL",),
    ),
    "anthropic": Provider(
        "turnstream.graphs.providers.anthropic",
        "langchain_anthropic",
        "anthropic",
        ("ANTHROPIC_API_KEY",),
        ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL"),
    ),
    "google_genai": Provider(
        "turnstream.graphs.providers.google_genai",
        "langchain_google_genai",
        "google-genai",
        ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    ),
    "ollama": Provider(
        "turnstream.graphs.providers.ollama", "langchain_ollama", "ollama", host="OLLAMA_HOST"
    ),
}

_KINDS = {
    "openai-chat": "openai",
    "anthropic-chat": "anthropic",
    "chat-google-generative-ai": "google_genai",
    "chat-ollama": "ollama",
}
"""The names that LangChain's classes give themselves."""


class ModelUnavailable(Exception):
    """The model's stream broke off before its message was whole."""


@dataclass(frozen=True, slots=True)
class ModelName:
    provider: str
    name: str
    """As the provider knows the model."""

    @classmethod
    def parse(cls, text: str) -> "ModelName":
        prefix, _, name = text.partition(":")
        if text == OFFLINE:
            return cls(OFFLINE, OFFLINE)
        return cls(prefix, name) if prefix in PROVIDERS and name else cls("openai", text)

    def fault(self, given: Mapping[str, str | None]) -> str | None:
        """Return what keeps the model from being opened, and the way out; `given` are settings that
        stand for variables of the environment."""
        provider = PROVIDERS.get(self.provider)
        if provider is None:
            return None
        if find_spec(provider.package) is None:
            extra = f"'/path/to/turnstream[{provider.extra}]'"
            return f"{self.name!r} needs a package: pip install {extra}"
        if not _is_address(os.environ.get(provider.host, "")):
            return f"{provider.host} is not a valid address: write it as http://localhost:11434"
        if not provider.keys or any(_is_set(n, given) for n in provider.keys + provider.addresses):
            return None
        needed = " or ".join(provider.keys)
        if provider.addresses:
            needed += f", or {provider.addresses[0]} for a server of your own"
        return f"{self.name!r} needs {needed}; 'offline' needs neither"


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text if "://" in text else f"//{text}")
        return parts.port != 0
    except ValueError:
        return False


def _is_set(name: str, given: Mapping[str, str | None]) -> bool:
    return bool(given[name] if name in given else os.environ.get(name))


def provider_of(model: BaseChatModel) -> str | None:
    """Return the wire format that a model speaks, as `turnstream.graphs.replay` names it; None:
    that of a class which is not one of the four."""
    return getattr(model, "provider", None) or _KINDS.get(model._llm_type)


@asynccontextmanager
async def open_models(
    names: Sequence[str], options: ModelOptions
) -> AsyncIterator[Mapping[str, BaseChatModel]]:
    """The models by their names in the settings, in that order. Raises ModelSetupError."""
    async with AsyncExitStack() as stack:
        opened = {
            name: await stack.enter_async_context(_open(ModelName.parse(name), options))
            for name in names
        }
        for name, model in opened.items():
            told_of_images(model, name, options.image_models)
        yield opened


@asynccontextmanager
async def _open(model: ModelName, options: ModelOptions) -> AsyncIterator[BaseChatModel]:
    if model.provider == OFFLINE:
        yield OfflineChatModel(word_seconds=options.word_seconds)
        return
    # Here, since a provider's library takes longer to import than all the rest together.
    module = import_module(PROVIDERS[model.provider].module)
    async with module.open_model(model.name, options) as opened:
        yield opened
