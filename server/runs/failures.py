"""The words of a failed run: a code and a fixed sentence; the cause goes to the log."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelPermissionDeniedError,
    ModelRateLimitError,
    ModelTimeoutError,
)
from langgraph.errors import GraphRecursionError, InvalidUpdateError
from pydantic import ValidationError

from turnstream.graphs.attached import AttachedGraph
from turnstream.graphs.chunk_shape import ModelFault
from turnstream.graphs.foreign_sentences import state_of
from turnstream.graphs.models import ModelUnavailable
from turnstream.graphs.stored import StoredError
from turnstream.server.storage.interfaces import STORAGE_FAULTS, StorageUnavailable

SENTENCES: Mapping[str, str] = {
    "model_rate_limited": "The model's provider is limiting requests. Try again in a moment.",
    "model_unauthorized": "The model's provider refused the server's key. Check its variable, "
    "such as OPENAI_API_KEY.",
    "model_not_found": "The model's provider has no such model. Check TURNSTREAM_MODEL.",
    "model_unavailable": "The model could not be reached, or broke off. Try again.",
    "model_key_missing": "The model has no key. Set its variable, such as OPENAI_API_KEY, in the "
    "server's environment or in the env of langgraph.json.",
    "context_too_long": "The conversation is too long for the model. Start a new thread.",
    "content_filter": "The model's provider filtered this request. Put it another way.",
    "model_error": "The model's provider refused the request.",
    "invalid_update": "Nodes of the graph wrote one key of its state in the same step, or a node "
    "returned no update of it. Give the key a reducer; the server's log names the place.",
    "invalid_state": "The graph's state does not validate.",
    "recursion_limit": "The graph took as many steps as its recursion_limit allows.",
    "run_interrupted": "The server's process that ran this died. What was saved is in the thread; "
    "continue it, or send a message.",
    "internal_error": "Something went wrong on the server.",
    **STORAGE_FAULTS,
}

OWN_MODEL_NOT_FOUND = (
    "The model's provider has no such model. Check the name that the graph gives it, or "
    "TURNSTREAM_MODEL if it takes the server's."
)
_KINDS: tuple[tuple[type[BaseException], str], ...] = (
    (ContextOverflowError, "context_too_long"),
    (ModelRateLimitError, "model_rate_limited"),
    (ModelAuthenticationError, "model_unauthorized"),
    (ModelPermissionDeniedError, "model_unauthorized"),
    (ModelNotFoundError, "model_not_found"),
    (ModelConnectionError, "model_unavailable"),
    (ModelTimeoutError, "model_unavailable"),
    (ModelAPIError, "model_unavailable"),
    (ModelUnavailable, "model_unavailable"),
    (GraphRecursionError, "recursion_limit"),
    (InvalidUpdateError, "invalid_update"),
)

_CODES = {
    # OpenAI's
    "content_filter": "content_filter",
    "content_policy_violation": "content_filter",
    "context_length_exceeded": "context_too_long",
    "rate_limit_exceeded": "model_rate_limited",
    "insufficient_quota": "model_rate_limited",
    "server_error": "model_unavailable",
    # Anthropic's
    "authentication_error": "model_unauthorized",
    "permission_error": "model_unauthorized",
    "not_found_error": "model_not_found",
    "rate_limit_error": "model_rate_limited",
    "overloaded_error": "model_unavailable",
    "api_error": "model_unavailable",
    "timeout_error": "model_unavailable",
    # Google's
    "API_KEY_INVALID": "model_unauthorized",
}
"""By what a provider calls an error."""

_STATUSES = {
    401: "model_unauthorized",
    403: "model_unauthorized",
    404: "model_not_found",
    429: "model_rate_limited",
}

_TRANSPORTS = ("httpx", "httpcore", "httpx2", "httpcore2", "openai", "anthropic")
"""Clients of models: an error of theirs without a status is a connection that failed."""


@dataclass(frozen=True, slots=True)
class Failure:
    code: str
    message: str
    error_id: str | None
    told: str | None = None
    """The message of the stream, if it is not the one that the thread keeps."""

    @property
    def shown(self) -> str:
        return self.told or self.message

    @property
    def stored(self) -> StoredError:
        """As it is stored with the thread's last message."""
        return StoredError(code=self.code, message=self.message, id=self.error_id)


def failure_code(cause: BaseException) -> str:
    """The code of what a run raised. What a model call raised is never our own fault."""
    if isinstance(cause, StorageUnavailable):
        return cause.code
    if isinstance(cause, ModelFault):
        return _fault_code(cause)
    return _named_code(cause) or state_of(cause) or _code_of_kind(cause)


def _fault_code(fault: ModelFault) -> str:
    cause = fault.__cause__
    code = failure_code(cause) if cause else "model_error"
    if code == "internal_error":
        return "model_unavailable" if isinstance(cause, ConnectionError) else "model_error"
    return code


def _named_code(cause: BaseException) -> str | None:
    """By what the provider calls the error."""
    return next(filter(None, map(_CODES.get, _names(cause))), None)


def _code_of_kind(cause: BaseException) -> str:
    for kind, code in _KINDS:
        if isinstance(cause, kind):
            return code
    status = getattr(cause, "status_code", None)
    if isinstance(status, int):
        if status < 300:  # the error came in the place of an event
            return "model_unavailable"
        return _STATUSES.get(status, "model_unavailable" if status >= 500 else "model_error")
    if type(cause).__module__.split(".")[0] in _TRANSPORTS:
        return "model_unavailable"
    return "model_error" if isinstance(cause, ModelError) else "internal_error"


def _names(cause: BaseException) -> Iterator[str]:
    """Yield the names that a provider gives an error: OpenAI in `code`, Anthropic in the body's
    `error.type`, Google in the body's `error.details`."""
    if cause.__cause__:  # the client's own error, which LangChain has made another of
        yield from _names(cause.__cause__)
    yield str(getattr(cause, "code", ""))
    body = getattr(cause, "body", None) or getattr(cause, "details", None)
    error = body.get("error", body) if isinstance(body, dict) else None
    if isinstance(error, dict):
        yield str(error.get("type", ""))
        yield from (str(d.get("reason")) for d in error.get("details", ()) if isinstance(d, dict))


def failure(cause: BaseException, error_id: str, graph: AttachedGraph | None = None) -> Failure:
    """`graph` is the one that failed."""
    code = failure_code(cause)
    fields = _invalid_fields(cause, graph) if graph and code == "internal_error" else None
    if fields is not None:
        named = f" Look at {', '.join(fields)}." if fields else ""
        return Failure("invalid_state", SENTENCES["invalid_state"] + named, error_id)
    if code == "model_not_found" and graph and not graph.is_built_in:
        return Failure(code, OWN_MODEL_NOT_FOUND, error_id)
    return Failure(code, SENTENCES[code], error_id)


def _invalid_fields(cause: BaseException, graph: AttachedGraph) -> list[str] | None:
    """The fields of the graph's state that do not validate, by the names that its author gave
    them. None: it was not the state."""
    if not isinstance(cause, ValidationError):
        return None
    schema = next((one for one in graph.state_schemas if one.__name__ == cause.title), None)
    if schema is None:
        return None
    declared = getattr(schema, "model_fields", {})
    faults = cause.errors(include_input=False, include_url=False, include_context=False)
    return [
        *dict.fromkeys(
            str(one["loc"][0]) for one in faults if one["loc"][:1] and one["loc"][0] in declared
        )
    ]
