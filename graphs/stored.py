"""The data stored with a message, in its `response_metadata`: every key and its shape. Format 2.

Format 2. Format 1 (before the key `format` existed) lacks `format` and `dispositions`; all else is
the same. Keys of other packages in the same place stay as they are.

    AI message   format         2
                 run_id         the run that made it
                 dispositions   of its tool calls, in their order
                 finish_reason, model_name, model_provider    as LangChain's package says them
                 model          its name in the settings, where several are served
                 timing         {"first_token_ms", "duration_ms"} of the model call
                 layout         its parts as [kind, characters] where they are not text, then calls
                 args_text      by call id, argument text that the parsed arguments do not give back
                 approvals      by call id, of calls that need one: an `AskedApproval`
                 ended          {"reason", "limit"?, "value"?}: the run ended here
                 error          {"code", "message", "id"}: the run failed here
    tool message end            how the call ended; missing for a result
                 duration_ms    how long the tool took
                 recovered      a result without data, of which the model has been told
    human message format        2: the user wrote it; missing in format 1
                 checkpoint_id the checkpoint before it; missing for the first
                 version       the version of its turn that it began; missing where it is the first
                 alts          of its images, in their order: what each shows, or None
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, cast

from langchain_core.messages import AIMessage, ToolMessage

from turnstream.graphs.stored_approvals import AskedApproval, Decision
from turnstream.tools.contract import Disposition

FORMAT = 2

End = Literal["result", "error", "timeout", "cancelled", "declined", "shown"]

PROVIDER = "model_provider"
"""LangChain's key: whose blocks the content of a message is made of."""

_FINISH_KEYS = ("finish_reason", "stop_reason", "done_reason", "status")
"""Keys in which the providers' LangChain packages say why the model stopped."""


class Ended(TypedDict, total=False):
    """Why a run was ended: `reason` is always there, the others if it was a limit."""

    reason: Literal["stopped", "shutdown", "limit"]
    limit: str
    value: float


class StoredTiming(TypedDict):
    first_token_ms: int
    duration_ms: int


class StoredError(TypedDict):
    code: str
    message: str
    id: str | None


Layout = Sequence[tuple[str, int]]


def ai_metadata(
    *,
    run_id: str | None,
    dispositions: Sequence[Disposition] = (),
    finish_reason: str | None = None,
    model_name: str | None = None,
    provider: str | None = None,
    model: str | None = None,
    timing: StoredTiming | None = None,
    layout: Layout | None = None,
    args_text: Mapping[str, str] | None = None,
    approvals: Mapping[str, AskedApproval] | None = None,
    ended: Ended | None = None,
    error: StoredError | None = None,
) -> dict[str, Any]:
    """The metadata of an AI message that turnstream made; what is empty is left out."""
    values = {
        "format": FORMAT,
        "run_id": run_id,
        "dispositions": list(dispositions),
        "finish_reason": finish_reason,
        "model_name": model_name,
        PROVIDER: provider,
        "model": model,
        "timing": timing,
        "layout": [list(part) for part in layout or ()],
        "args_text": args_text,
        "approvals": approvals,
        "ended": ended,
        "error": error,
    }
    return {key: value for key, value in values.items() if value}


def end_message(run_id: str) -> AIMessage:
    """A message that is there for the end of its run alone, which has said nothing. It has a text
    since a model's server may refuse an empty message."""
    metadata = ai_metadata(run_id=run_id)
    return AIMessage("(no answer)", id=f"end-{run_id}", response_metadata=metadata)


def only_ends_its_run(message: AIMessage) -> bool:
    """Check that the message is there for the end of its run alone."""
    return message.id == f"end-{run_id(message) or ''}"


def with_end(message: AIMessage, *, ended: Ended | None, error: StoredError | None) -> AIMessage:
    """The message with how its run ended, of which one is given."""
    end = {key: value for key, value in (("ended", ended), ("error", error)) if value}
    return message.model_copy(update={"response_metadata": {**message.response_metadata, **end}})


def tool_metadata(end: End, duration_ms: int | None = None) -> dict[str, Any]:
    shown = {} if end == "result" else {"end": end}
    return shown if duration_ms is None else {**shown, "duration_ms": duration_ms}


def run_id(message: AIMessage) -> str | None:
    return message.response_metadata.get("run_id")


def dispositions(message: AIMessage) -> Sequence[Disposition] | None:
    """Return the dispositions of the message's tool calls, in order; None if the message does not
    carry them."""
    if not _has_format(message):
        return None
    return cast(Sequence[Disposition], message.response_metadata.get("dispositions", ()))


def is_format_1(message: AIMessage) -> bool:
    """Check that turnstream stored the message before it stored dispositions."""
    return run_id(message) is not None and not _has_format(message)


def _is_ours(message: AIMessage) -> bool:
    return run_id(message) is not None or _has_format(message)


def _has_format(message: AIMessage) -> bool:
    """Other packages may have a `format` of their own."""
    return type(message.response_metadata.get("format")) is int


def finish_reason(message: AIMessage) -> str | None:
    """Why the model stopped, in its provider's words."""
    reasons = (message.response_metadata.get(key) for key in _FINISH_KEYS)
    return next((str(reason) for reason in reasons if reason), None)


def model_name(message: AIMessage) -> str | None:
    return message.response_metadata.get("model_name")


def model(message: AIMessage) -> str | None:
    """The model's name in the settings, if it was one of several."""
    return message.response_metadata.get("model") if _has_format(message) else None


def provider(message: AIMessage) -> str | None:
    return message.response_metadata.get(PROVIDER)


def timing(message: AIMessage) -> StoredTiming | None:
    """None of a message whose model was cut off."""
    return message.response_metadata.get("timing") if _is_ours(message) else None


def layout(message: AIMessage) -> Layout | None:
    return message.response_metadata.get("layout") if _is_ours(message) else None


def args_text(message: AIMessage) -> Mapping[str, str]:
    written = message.response_metadata.get("args_text", {}) if _is_ours(message) else {}
    return cast(Mapping[str, str], written)


def approvals(message: AIMessage) -> Mapping[str, AskedApproval]:
    """By call id, of the calls that need an approval."""
    asked = message.response_metadata.get("approvals")
    return cast(Mapping[str, AskedApproval], asked) if asked and _has_format(message) else {}


def with_decisions(message: AIMessage, decisions: Mapping[str, Decision]) -> AIMessage:
    """The message with a further decision on each of these calls, which need one."""
    asked = dict(approvals(message))
    for id, decision in decisions.items():
        asked[id] = {**asked[id], "decisions": [*asked[id]["decisions"], decision]}
    metadata = {**message.response_metadata, "approvals": asked}
    return message.model_copy(update={"response_metadata": metadata})


def ended(message: AIMessage) -> Ended | None:
    return cast(Ended | None, _of_shape(message.response_metadata.get("ended"), "reason"))


def error(message: AIMessage) -> StoredError | None:
    error = message.response_metadata.get("error")
    return cast(StoredError | None, _of_shape(error, "code", "message", "id"))


def _of_shape(value: Any, *keys: str) -> Any:
    """Other packages may keep something else under the same name. Nor has the message a `run_id`
    where the run of a graph that is not ours has ended."""
    return value if isinstance(value, dict) and value.keys() >= {*keys} else None


def end_of(message: ToolMessage) -> End:
    default = "error" if message.status == "error" else "result"
    return cast(End, message.response_metadata.get("end", default))


def duration_ms(message: ToolMessage) -> int | None:
    """None of a call that no tool of ours ran for."""
    return message.response_metadata.get("duration_ms")


def is_recovered(message: ToolMessage) -> bool:
    return "recovered" in message.response_metadata


def recovered(message: ToolMessage) -> dict[str, Any]:
    """The metadata of a tool message of whose missing data the model has been told."""
    return {**message.response_metadata, "recovered": True}
