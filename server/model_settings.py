"""The settings of the models: a part of `turnstream.server.settings`."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AliasChoices, Field, model_validator
from pydantic_settings import BaseSettings, NoDecode

from turnstream.graphs.model_options import Omittable, Reasoning, ThinkTags
from turnstream.graphs.models import DEFAULT_MODEL, OFFLINE, ModelName


class ModelSettings(BaseSettings):
    model: str = Field(
        "auto",
        min_length=1,
        description="a model: 'anthropic:', 'google_genai:', 'ollama:' or 'openai:' and its name; "
        "a bare name is OpenAI's or of a compatible server; 'offline' needs nothing; 'auto': "
        f"{DEFAULT_MODEL} when OPENAI_API_KEY is set, else offline",
    )
    models: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="further models that a request may name, comma-separated"
    )
    reasoning: Reasoning = Field(
        "off",
        description="how much models are asked to reason: 'off', 'on', 'low', 'medium', 'high'; "
        "the reasoning is shown",
    )
    image_models: Annotated[tuple[str, ...], NoDecode] = Field(
        ("auto",),
        description="models that take images, comma-separated, '*' for any letters, or 'none'; "
        "'auto': all but those that LangChain or the Ollama server knows not to take them",
    )
    openai_api_key: str | None = Field(
        None,
        validation_alias=AliasChoices("openai_api_key", "OPENAI_API_KEY"),
        repr=False,
        description="key of the model's server",
    )
    openai_base_url: str | None = Field(
        None,
        validation_alias=AliasChoices("openai_base_url", "OPENAI_BASE_URL"),
        description="any OpenAI-compatible server; then the model "
        "must be named, and a key is not needed",
    )

    think_tags: ThinkTags = Field(
        "reasoning",
        description="how text between <think> and </think> ahead of an answer is read: "
        "'reasoning', or 'text' for a model that writes the tags as text",
    )
    omitted_options: Annotated[tuple[Omittable, ...], NoDecode] = Field(
        (),
        description="options that the server at OPENAI_BASE_URL refuses, comma-separated: "
        "'stream_options', 'reasoning_effort'; they are left out of requests. "
        "Unset: the server learns it from the first refusal",
    )

    @property
    def model_name(self) -> str:
        """The model in use: `auto` resolved."""
        if self.model != "auto":
            return self.model
        is_openai = self.openai_api_key and not self.openai_base_url
        return DEFAULT_MODEL if is_openai else OFFLINE

    @property
    def access(self) -> Mapping[str, str | None]:
        """The variables that a model's name may need."""
        return {"OPENAI_API_KEY": self.openai_api_key, "OPENAI_BASE_URL": self.openai_base_url}

    @property
    def image_patterns(self) -> tuple[str, ...] | None:
        """Globs of the names of the models that take images; None: as it is known of each."""
        return None if self.image_models == ("auto",) else self.image_models

    @property
    def model_names(self) -> tuple[str, ...]:
        """Every model that is served, the default first."""
        return tuple(dict.fromkeys((self.model_name, *self.models)))

    @model_validator(mode="after")
    def _check_models(self) -> "ModelSettings":
        for setting, names in (("MODEL", (self.model_name,)), ("MODELS", self.models)):
            for name in names:
                fault = ModelName.parse(name).fault(self.access)
                if fault:
                    raise ValueError(f"TURNSTREAM_{setting}: {fault}")
        return self
