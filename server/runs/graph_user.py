"""The caller, as LangGraph tells a graph: `configurable["langgraph_auth_user"]`; and what they may
not call of a graph that does not ask."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig

from turnstream.graphs.attached import AttachedGraph
from turnstream.graphs.denials import Denials
from turnstream.graphs.factories import AUTH_USER, RESERVED
from turnstream.server.callers.principal import Principal
from turnstream.server.callers.rights import Rights
from turnstream.server.runs.progress import DispatchedEvents
from turnstream.server.turns.requests import GraphValues


@dataclass(frozen=True, slots=True)
class GraphUser(Mapping[str, Any]):
    """A `langgraph_sdk.auth.types.BaseUser`: its fields are attributes and keys.

    An object, not a dict: `Runtime.server_info` takes no dict. What LangGraph keeps of the
    configurable values with each checkpoint are texts and numbers; so it is not stored.
    """

    identity: str
    """The owner of the thread."""
    display_name: str
    is_authenticated: bool = False
    permissions: tuple[str, ...] = ()
    """The caller's roles."""
    token: str | None = field(default=None, repr=False)
    """See `Principal`. It is found by its name, but not listed: who lists the rest may log it."""

    @classmethod
    def of(cls, principal: Principal) -> "GraphUser":
        return cls(
            identity=principal.owner,
            display_name=principal.display_name or principal.id,
            is_authenticated=principal.method != "off",
            permissions=principal.roles,
            token=principal.token,
        )

    def __getitem__(self, key: str) -> Any:
        if key not in (*_LISTED, "token"):
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(_LISTED)

    def __len__(self) -> int:
        return len(_LISTED)


_LISTED = ("identity", "display_name", "is_authenticated", "permissions")


def _passed(principal: Principal) -> Mapping[str, str]:
    """Headers of a client are no names of LangGraph's."""
    headers = principal.headers.items()
    return {name: value for name, value in headers if not name.startswith(RESERVED)}


def as_caller(
    config: RunnableConfig,
    values: GraphValues,
    rights: Rights,
    graph: AttachedGraph,
    callbacks: Sequence[BaseCallbackHandler],
) -> RunnableConfig:
    """The config of a run, with the configurable values that its caller gives and who they are. A
    graph that is not ours is kept to the rights by a callback, and may dispatch events."""
    user = GraphUser.of(rights.principal)
    denials = (
        [Denials(rights.refusal_now)] if rights.restricts_tools and not graph.is_built_in else []
    )
    events = [] if graph.is_built_in else [DispatchedEvents()]
    settings = graph.configurable.items()
    return {
        "configurable": {
            **{name: value for name, value in settings if name not in values.context},
            **_passed(rights.principal),
            **values.configurable,
            AUTH_USER: user,
            **config["configurable"],
        },
        "callbacks": [*denials, *events, *callbacks],
    }
