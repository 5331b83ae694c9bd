"""What any body may say of the graph, and of its thread.

graph          the name of one
model          the name of one, as GET /models lists them
context, configurable, input    what it gets beside a message, each a JSON object
resume         answers to what it has stopped to ask: {interrupt id: value}, or the bare value
               if one interrupt is open
allowed_tools  names of the tools that the run may use, among those that its caller may use
on_interrupt   "discard" (the default) or "reject": what a new message does to an open interrupt
must_exist     true: refuse the request if there is no such thread, rather than begin it
based_on       the id of the thread's last run: refuse the request if there has been another since
version        the id of a version of a message: go on from the branch of the thread that has it
"""

from collections.abc import Mapping
from typing import Any

from turnstream.server.protocols.fields import (
    BodyLimits,
    mapping,
    plain_json,
    sequence,
    shown,
    string,
)
from turnstream.server.turns.requests import GraphValues, InvalidRequest, OnInterrupt, Resume
from turnstream.tools import strict_json

VALUES = ("context", "configurable", "input")
OF_THREAD = ("must_exist", "based_on", "version")
KEYS = ("graph", "model", *VALUES, "allowed_tools", "resume", "on_interrupt", *OF_THREAD)
MAX_TOOL_NAMES, MAX_TOOL_NAME_CHARS = 1000, 256
"""Limits of `allowed_tools`."""
_ON_INTERRUPT: tuple[OnInterrupt, ...] = ("discard", "reject")


def graph_name(body: Mapping[str, Any]) -> str | None:
    """Raises InvalidRequest."""
    return None if body.get("graph") is None else string(body["graph"], "graph")


def model_name(body: Mapping[str, Any]) -> str | None:
    """Raises InvalidRequest."""
    return None if body.get("model") is None else string(body["model"], "model")


def allowed_tools(body: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Raises InvalidRequest."""
    given = body.get("allowed_tools")
    if given is None:
        return None
    names = sequence(given, "allowed_tools")
    if len(names) > MAX_TOOL_NAMES:
        raise InvalidRequest(
            "invalid_body",
            f"allowed_tools has {len(names)} names: send at most {MAX_TOOL_NAMES}.",
        )
    return tuple(dict.fromkeys(_tool_name(name, n) for n, name in enumerate(names)))


def _tool_name(value: Any, position: int) -> str:
    name = string(value, f"allowed_tools[{position}]")
    if len(name) > MAX_TOOL_NAME_CHARS:
        raise InvalidRequest(
            "invalid_body",
            f"allowed_tools[{position}] has {len(name)} characters: "
            f"send at most {MAX_TOOL_NAME_CHARS}.",
        )
    return name


def resume(body: Mapping[str, Any], limits: BodyLimits) -> Resume | None:
    """Raises InvalidRequest."""
    given = body.get("resume")
    if given is None:
        return None
    return Resume(_storable(plain_json(given, "resume", limits), "resume"))


def on_interrupt(body: Mapping[str, Any]) -> OnInterrupt:
    """Raises InvalidRequest."""
    given = body.get("on_interrupt")
    for known in _ON_INTERRUPT:
        if given in (None, known):
            return known
    raise InvalidRequest(
        "invalid_on_interrupt",
        f"on_interrupt is {shown(given)}: send {' or '.join(_ON_INTERRUPT)}.",
    )


def must_exist(body: Mapping[str, Any]) -> bool:
    """Raises InvalidRequest."""
    given = body.get("must_exist")
    if given is None or isinstance(given, bool):
        return bool(given)
    raise InvalidRequest("invalid_body", f"must_exist is {shown(given)}: send true or false.")


def based_on(body: Mapping[str, Any]) -> str | None:
    """Raises InvalidRequest."""
    return None if body.get("based_on") is None else string(body["based_on"], "based_on")


def version(body: Mapping[str, Any]) -> str | None:
    """Raises InvalidRequest."""
    return None if body.get("version") is None else string(body["version"], "version")


def graph_values(body: Mapping[str, Any], limits: BodyLimits) -> GraphValues:
    """Raises InvalidRequest."""
    given = {
        name: mapping(plain_json(body[name], name, limits), name)
        for name in VALUES
        if body.get(name) is not None
    }
    if "input" in given:
        given["input"] = _storable(given["input"], "input")
    return GraphValues(**given)


def _storable(value: Any, key: str) -> Any:
    """The value as a thread keeps it. Raises InvalidRequest if it cannot."""
    try:
        return strict_json.read_storable(strict_json.write(value))
    except ValueError as error:
        raise InvalidRequest(
            "invalid_json_value", f"{key} cannot be kept in the thread: {error}."
        ) from None
