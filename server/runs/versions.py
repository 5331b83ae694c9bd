"""The versions of messages, as an extension keeps them, on their way into a thread's turns."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

from langchain_core.messages import AnyMessage

from turnstream.server.extensions.base import ThreadVersions
from turnstream.server.runs.transcript import assistant_id
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.messages import AssistantTurn, Turn, UserTurn
from turnstream.server.turns.versions import Versions, unknown_version

ShownVersions = Mapping[str, Versions]
"""By the id of the turn."""
NO_OTHERS: ShownVersions = {}
VersionsOf = Callable[[ThreadKey], Awaitable[ThreadVersions]]
"""Returns the versions of a thread's messages."""


class NoVersions:
    """Implements `ThreadVersions` where nothing keeps any."""

    def shown(
        self,
        messages: Sequence[AnyMessage],  # noqa: ARG002
        thread: Sequence[AnyMessage],  # noqa: ARG002
    ) -> ShownVersions:
        return NO_OTHERS

    def head(self, version: str, thread: Sequence[AnyMessage]) -> NoReturn:  # noqa: ARG002
        raise unknown_version(version)


NO_VERSIONS = NoVersions()


async def no_versions(_key: ThreadKey) -> ThreadVersions:
    return NO_VERSIONS


def with_versions(turns: tuple[Turn, ...], versions: ShownVersions) -> tuple[Turn, ...]:
    if not versions:
        return turns
    return tuple(
        replace(turn, versions=versions[turn.id]) if turn.id in versions else turn for turn in turns
    )


def with_empty_answer(turns: tuple[Turn, ...], versions: ShownVersions) -> tuple[Turn, ...]:
    """The last turns of a thread. An answer made anew of which a crash has left nothing stands
    there empty: its message is where the other versions are found."""
    if not turns or not isinstance(turns[-1], UserTurn):
        return turns
    id = assistant_id(turns[-1].id)
    return (*turns, AssistantTurn(id, ())) if id in versions else turns
