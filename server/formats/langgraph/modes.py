"""LangGraph SDK: the modes of a stream, which a client asks for."""

from typing import Any

from turnstream.server.formats.fields import Fault, at, shown

MODES = ("messages-tuple", "messages", "values", "updates", "custom", "tools")
OTHER_MODES = ("events", "debug", "tasks", "checkpoints", "messages-partial", "lifecycle", "input")
"""LangGraph's own that bring nothing here; clients ask for them beside others."""
Modes = frozenset[str]
ALL_MODES: Modes = frozenset(MODES) - {"messages"}


def wanted_modes(asked: Any) -> Modes:
    """The modes, of which `messages` is streamed like `messages-tuple`. Raises Fault."""
    if asked in (None, []):
        return ALL_MODES
    names = [asked] if isinstance(asked, str) else asked
    if not isinstance(names, list):
        raise Fault("invalid_body", f"is {shown(asked)}: send a JSON array.")
    for name in names:
        if name not in MODES + OTHER_MODES:
            raise Fault("invalid_stream_mode", f"has {shown(name)}: ask for {', '.join(MODES)}.")
    wanted = {"messages-tuple" if name == "messages" else name for name in names}
    return frozenset(wanted) & ALL_MODES


def modes(asked: Any) -> Modes:
    """Raises InvalidRequest."""
    with at("stream_mode"):
        return wanted_modes(asked)
