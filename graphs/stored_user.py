"""The data stored with a user's message beside its content; `stored` has the format."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage

from turnstream.graphs.stored import FORMAT


def human_metadata(
    checkpoint_id: str | None,
    sent_at: float | None = None,
    alts: Sequence[str | None] = (),
    *,
    shows_results: bool = False,
    app_context: str = "",
) -> dict[str, Any]:
    """`sent_at` is a Unix time; with `shows_results` clients see the turn's undeclared results.
    `app_context` is what the app said to the model of the turn (`graphs.app_context`)."""
    results = {"results": "shown"} if shows_results else {}
    before = {"checkpoint_id": checkpoint_id} if checkpoint_id else {}
    moment = {} if sent_at is None else {"sent_at": sent_at}
    shown = {"alts": list(alts)} if any(alts) else {}
    said = {"app_context": app_context} if app_context else {}
    return {"format": FORMAT, **moment, **before, **shown, **results, **said}


def is_users(message: HumanMessage) -> bool:
    """Check that the message is marked as the user's; the first one of a thread of format 1 is
    not."""
    return "format" in message.response_metadata or checkpoint_before(message) is not None


def checkpoint_before(message: HumanMessage) -> str | None:
    return message.response_metadata.get("checkpoint_id")


def sent_at(message: HumanMessage) -> float | None:
    """When a user's message was sent; None: a version stored it that kept no time."""
    moment = message.response_metadata.get("sent_at")
    return moment if isinstance(moment, float) else None


def shows_results(message: HumanMessage | None) -> bool:
    """Whether the turn of the message began where undeclared results were shown."""
    return message is not None and message.response_metadata.get("results") == "shown"


def app_context(message: HumanMessage) -> str:
    said = message.response_metadata.get("app_context")
    return said if isinstance(said, str) else ""


def named(messages: Iterable[AnyMessage], id: str) -> HumanMessage | None:
    """The user's message of this id."""
    users = (one for one in messages if isinstance(one, HumanMessage) and one.id == id)
    return next(users, None)


def alts(message: BaseMessage) -> Iterator[str | None]:
    """Yield the user's description of each image of the message, in their order; then None for
    ever."""
    said = message.response_metadata.get("alts")
    is_theirs = isinstance(message, HumanMessage) and is_users(message)
    known = said if isinstance(said, list) and is_theirs else []
    yield from (alt if isinstance(alt, str) else None for alt in known)
    yield from repeat(None)


def version(message: HumanMessage) -> str | None:
    """The version of its turn that it began. None: there was no other."""
    named = message.response_metadata.get("version")
    return named if isinstance(named, str) else None


def with_version(message: HumanMessage, version: str) -> HumanMessage:
    """The message as it begins a version of its turn."""
    metadata = {**message.response_metadata, "version": version}
    return message.model_copy(update={"response_metadata": metadata})
