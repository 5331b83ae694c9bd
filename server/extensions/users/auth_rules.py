"""The `@auth.on` handlers of LangGraph's `Auth`: rules on the threads, assistants and items of the
store that a caller reaches.

The most specific handler decides. It returns None or True (allowed), False (a 403), or a filter on
metadata; it may change the value that it is given, and raise `Auth.exceptions.HTTPException`. See
`langgraph_sdk.auth`.
"""

import logging
from collections.abc import Iterator, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

from langgraph_sdk import Auth

from turnstream.server.callers.principal import Principal
from turnstream.server.callers.reach import EVERYTHING, MetadataFilter, Resource
from turnstream.server.extensions.base import GUARD_SECONDS, Refusal
from turnstream.server.extensions.users.faults import AuthSetupError
from turnstream.tools.author_calls import AuthorCalls

logger = logging.getLogger(__name__)

_CRUD = frozenset(("create", "read", "update", "delete", "search"))
ACTIONS: Mapping[str, frozenset[str]] = {
    "threads": _CRUD | {"create_run"},
    "assistants": _CRUD,
    "store": frozenset(("put", "get", "search", "delete", "list_namespaces")),
    "crons": _CRUD,
}
"""The actions that LangGraph has, by resource."""
FORBIDDEN = "A rule of this server does not let you do this."
MAX_DETAIL_CHARS = 500


class AuthRules:
    """The handlers of an `Auth`; `source` names it in errors. Raises AuthSetupError for a handler
    that nothing would ever call."""

    def __init__(self, source: str, auth: Auth) -> None:
        self._source = source
        self._handlers = auth._handlers
        self._general = auth._global_handlers
        self._call = AuthorCalls()
        for resource, action in self._handlers:
            self._check(resource, action)
        named = {resource for resource, _ in self._handlers}
        if "crons" in named:
            text = "%(source)s: its @auth.on.crons handlers decide nothing: there are no crons here"
            logger.warning(text, {"source": source})
        all: tuple[Resource, ...] = ("threads", "assistants")
        ruled = [one for one in all if self._general or named & {one, "*"}]
        self.resources: frozenset[Resource] = frozenset((*ruled, *self._store(named)))
        """The resources that have rules. The store has only those that name it: a general handler
        does not know whose an item is."""

    @staticmethod
    def _store(named: set[str]) -> Iterator[Resource]:
        if "store" in named:
            yield "store"

    def _check(self, resource: str, action: str) -> None:
        # A handler for any resource is not asked about the store.
        known = ACTIONS.get("threads" if resource == "*" else resource, frozenset())
        if not known or action not in (*known, "*"):
            name = ".".join(one for one in (resource, action) if one != "*")
            raise AuthSetupError(
                f"{self._source} has a handler for {name}, which is never called: name a resource "
                f"of {', '.join(ACTIONS)} and an action of it"
            )

    async def filter(
        self, principal: Principal, resource: Resource, action: str, value: dict[str, Any]
    ) -> MetadataFilter:
        """Ask the handler about a deed. Raises Refusal, and what the handler raises otherwise."""
        handler = self._handler(resource, action)
        if handler is None:
            return EVERYTHING
        user: Any = CallerUser(principal)
        context = Auth.types.AuthContext(
            permissions=user.permissions,
            user=user,
            resource=resource,
            action=action,  # type: ignore[arg-type]
        )
        try:
            result = await self._call(partial(handler, ctx=context, value=value), GUARD_SECONDS)
        except AssertionError:
            raise Refusal("forbidden", FORBIDDEN) from None
        except Exception as error:
            refusal = _refusal(error)
            if refusal is None:
                raise
            raise refusal from None
        return _filter(result)

    def _handler(self, resource: Resource, action: str) -> Any:
        """Find the most specific handler. None: there is none. Raises Refusal for an action of the
        store that has none of its own."""
        general = () if resource == "store" else (("*", action),)
        for name in ((resource, action), (resource, "*"), *general):
            if name in self._handlers:
                return self._handlers[name][-1]
        if resource == "store":
            raise Refusal("no_store", "No rule of this server says whose items these are.", 404)
        return self._general[-1] if self._general else None


class CallerUser:
    """A caller as handlers see them: a `langgraph_sdk.auth.types.BaseUser`, with the further fields
    that the user's own function returned."""

    def __init__(self, principal: Principal) -> None:
        self.identity = principal.id
        self.display_name = principal.display_name or principal.id
        self.is_authenticated = True
        self.permissions = [*principal.roles]
        self._more = principal.user

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if not isinstance(self._more, Mapping):
            return getattr(self._more, name)
        if name not in self._more:
            raise AttributeError(name)
        return self._more[name]

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError:
            raise KeyError(name) from None

    def __contains__(self, name: str) -> bool:
        return hasattr(self, name)

    def __iter__(self) -> Iterator[str]:
        more = self._more if isinstance(self._more, Mapping) else ()
        own = ("identity", "display_name", "is_authenticated", "permissions")
        return iter(dict.fromkeys((*own, *more)))


def _refusal(error: Exception) -> Refusal | None:
    """Return the refusal that an exception of LangGraph's SDK, Starlette or FastAPI stands for."""
    status, detail = getattr(error, "status_code", None), getattr(error, "detail", None)
    if status not in [one.value for one in HTTPStatus if one >= HTTPStatus.BAD_REQUEST]:
        return None
    codes = {401: "unauthenticated", 403: "forbidden", 404: "not_found"}
    sentence = detail[:MAX_DETAIL_CHARS] if isinstance(detail, str) and detail else FORBIDDEN
    return Refusal(codes.get(status, "http_error"), sentence, status)


def _filter(result: Any) -> MetadataFilter:
    """Return the filter that a handler's result stands for. Raises Refusal, TypeError."""
    if result is None or result is True:
        return EVERYTHING
    if result is False:
        raise Refusal("forbidden", FORBIDDEN)
    if not isinstance(result, Mapping):
        raise TypeError(f"a handler returned {type(result).__name__}: not None, a bool or a filter")
    equal, contained = dict[str, Any](), dict[str, list[Any]]()
    for name, wanted in result.items():
        if not isinstance(wanted, Mapping):
            equal[name] = wanted
            continue
        if len(wanted) != 1 or not wanted.keys() <= {"$eq", "$contains"}:
            raise TypeError(f"the filter of {name!r} has {', '.join(wanted)}: $eq or $contains")
        if "$eq" in wanted:
            equal[name] = wanted["$eq"]
        else:
            some = wanted["$contains"]
            contained[name] = [*some] if isinstance(some, list | tuple | set) else [some]
    return MetadataFilter(equal, contained)
