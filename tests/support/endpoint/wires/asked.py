"""A request as the rules of a wire judge it: its body, and what the endpoint knows beside it."""

from dataclasses import dataclass, field

from tests.support.endpoint.refusal import Body
from tests.support.endpoint.wires.seals import Seals


@dataclass(frozen=True, slots=True)
class Models:
    """The models that an Ollama server has."""

    names: tuple[str, ...] | None = None
    """None: any."""
    capabilities: tuple[str, ...] = ("completion", "tools", "thinking")
    """Of every model."""


@dataclass(frozen=True, slots=True)
class Asked:
    body: Body
    seals: Seals = field(default_factory=Seals)
    model: str = ""
    """Named by the address, as Gemini's clients do."""
    models: Models = Models()
