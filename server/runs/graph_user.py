"""Who calls, as LangGraph tells a graph: `configurable["langgraph_auth_user"]`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

AUTH_USER = "langgraph_auth_user"


@dataclass(frozen=True, slots=True)
class GraphUser(Mapping[str, Any]):
    """A `langgraph_sdk.auth.types.BaseUser`: its fields are attributes and keys.

    An object, not a dict: `Runtime.server_info` takes no dict. What LangGraph keeps of the
    configurable values with each checkpoint are texts and numbers; so it is not stored.
    """

    identity: str
    """The owner of the thread."""
    is_authenticated: bool = False
    permissions: tuple[str, ...] = ()

    @property
    def display_name(self) -> str:
        return self.identity

    def __getitem__(self, key: str) -> Any:
        if key not in _KEYS:
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(_KEYS)

    def __len__(self) -> int:
        return len(_KEYS)


_KEYS = (*(field.name for field in fields(GraphUser)), "display_name")
