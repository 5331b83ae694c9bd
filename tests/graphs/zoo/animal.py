"""What a test knows of a graph."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.language_models import BaseChatModel

from tests.graphs.zoo.model import Replies, ReplyingModel


@dataclass(frozen=True)
class Question:
    """An interrupt, and the value that resumes it."""

    asked: Any
    """The interrupts' values in order, those of parallel tasks together; None at a breakpoint."""
    answer: Any
    """The bare value, or a list with one for each interrupt."""


@dataclass(frozen=True)
class Animal:
    name: str
    graph: Callable[[BaseChatModel], Any]
    """Builds the graph on a model: compiled, or a StateGraph."""
    replies: Replies
    prompt: str
    thread: tuple[str, ...]
    """The messages that the thread ends with, as `shown` writes them."""
    questions: tuple[Question, ...] = ()
    beside: tuple[str, ...] = ()
    """Words of the model that the thread does not get, in order of their letters."""
    under: tuple[str, ...] = ()
    """The words of `beside` that are said under a tool call."""
    custom: tuple[Any, ...] = ()
    """What nodes and tools write to the stream."""
    context: Mapping[str, Any] = field(default_factory=dict)
    input: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of the graph's input."""
    client_state: tuple[str, ...] = ()
    """Keys of its state that clients see."""
    parallel: bool = False
    """Whether several model calls speak at once, so that their words interleave."""

    def model(self) -> ReplyingModel:
        return ReplyingModel(replies=self.replies)
