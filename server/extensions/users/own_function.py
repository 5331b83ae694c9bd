"""A function of the user's own that recognises callers, as LangGraph's `@auth.authenticate` has it.

It takes, by name, any of `request`, `path`, `method`, `path_params`, `query_params`, `headers`
(bytes to bytes), `authorization`; it returns the caller's id, or a mapping or an object with
`identity` and, if it likes, `display_name`, `permissions`, `is_authenticated`; it raises
`Auth.exceptions.HTTPException` for whom it does not know. Permissions become roles. See
https://docs.langchain.com/langgraph-platform/auth (`langgraph_sdk.auth.types.Authenticator`).
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from langgraph_sdk import Auth
from langgraph_sdk.auth.exceptions import HTTPException

from turnstream.server.callers.principal import Principal
from turnstream.server.extensions.users.auth_rules import AuthRules
from turnstream.server.extensions.users.faults import (
    AuthenticationUnavailable,
    AuthSetupError,
    Unauthenticated,
)
from turnstream.tools.author_calls import AuthorCalls

PARAMETERS = (
    "request",
    "path",
    "method",
    "path_params",
    "query_params",
    "headers",
    "authorization",
)
TIMEOUT_SECONDS = 10


class OwnFunction:
    """A function that recognises callers; `name` and `source`, which names it, are for errors.

    Raises AuthSetupError.
    """

    def __init__(self, name: str, target: object, source: str = "TURNSTREAM_AUTH") -> None:
        self._name = name
        self._source = source
        self.rules: AuthRules | None = None
        """The `@auth.on` handlers of an `Auth`; None: it has none."""
        if isinstance(target, Auth):
            if target._handlers or target._global_handlers:
                self.rules = AuthRules(f"{source}: {name}", target)
            target = target._authenticate_handler
            if target is None:
                raise AuthSetupError(f"{source}: {name} has no @auth.authenticate function")
        if not callable(target):
            raise AuthSetupError(
                f"{source}: {name} is {type(target).__name__}, not a function or an Auth"
            )
        self._function: Callable[..., Any] = target
        self._call = AuthorCalls()
        self._parameters = self._accepted(inspect.signature(target))

    def _accepted(self, signature: inspect.Signature) -> frozenset[str]:
        parameters = signature.parameters.values()
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            return frozenset(PARAMETERS)
        for parameter in parameters:
            if parameter.name not in PARAMETERS and parameter.default is parameter.empty:
                raise AuthSetupError(
                    f"{self._source}: {self._name} asks for {parameter.name!r}; it may take "
                    f"{', '.join(PARAMETERS)}"
                )
        return frozenset(parameter.name for parameter in parameters) & set(PARAMETERS)

    async def authenticate(self, values: Mapping[str, Any]) -> Principal:
        """`values` has what the function may take. Raises Unauthenticated, and
        AuthenticationUnavailable if the function fails or takes too long."""
        given = {name: values[name] for name in self._parameters}
        try:
            user = await self._call(partial(self._function, **given), TIMEOUT_SECONDS)
        except HTTPException as refusal:
            raise Unauthenticated(f"{self._name} refused with {refusal.status_code}") from None
        except TimeoutError:
            raise AuthenticationUnavailable(f"{self._name} takes too long") from None
        except Exception as error:
            # Starlette's and FastAPI's HTTPException, and others.
            if getattr(error, "status_code", None) in (401, 403):
                raise Unauthenticated(f"{self._name} refused") from None
            raise AuthenticationUnavailable(
                f"{self._name} failed: {type(error).__name__}"
            ) from error
        return self._principal(user)

    def _principal(self, answer: Any) -> Principal:
        user = {"identity": answer} if isinstance(answer, str) else answer
        read = user.get if isinstance(user, Mapping) else _attributes(user)
        try:
            identity = read("identity", None)
            if identity is None or not read("is_authenticated", True):
                raise Unauthenticated(f"{self._name} names nobody")
            if not isinstance(identity, str):
                raise TypeError(f"identity is {type(identity).__name__}, not a string")
            roles = _roles(read("permissions", None))
            name, token = read("display_name", None) or identity, read("token", None)
            token = token if isinstance(token, str) else None
            return Principal(identity, roles, str(name), "function", token=token, user=user)
        except Unauthenticated:
            raise
        except ValueError as error:
            raise Unauthenticated(str(error)) from None
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            raise AuthenticationUnavailable(
                f"{self._name} gave what cannot be read: {error}"
            ) from error


def _roles(permissions: Any) -> tuple[str, ...]:
    """One string is one role, not its letters. Raises TypeError."""
    if isinstance(permissions, str):
        return (permissions,)
    return tuple(str(role) for role in permissions or ())


def _attributes(user: object) -> Callable[[str, Any], Any]:
    return lambda name, default: getattr(user, name, default)
