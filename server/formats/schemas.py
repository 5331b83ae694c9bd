"""The JSON Schemas of all formats, for the OpenAPI document; nothing else imports them."""

from collections.abc import Mapping

from turnstream.server.formats.ag_ui import schemas as ag_ui
from turnstream.server.formats.ai_sdk import schemas as ai_sdk
from turnstream.server.formats.assistant_transport import schemas as assistant_transport
from turnstream.server.formats.body_schemas import Schema, Served, components, ref
from turnstream.server.formats.langgraph import event_schemas as langgraph_events
from turnstream.server.formats.langgraph import schemas as langgraph
from turnstream.server.formats.native import schemas as native

BODIES = (assistant_transport, ai_sdk, native)
"""Of `POST /chat`, in the order of `turnstream.server.formats.BODY_FORMATS`."""
AT_OWN_ADDRESSES = (ag_ui, langgraph)

MESSAGES: Mapping[str, Schema] = {
    "assistant-transport": assistant_transport.message(),
    "ui-message-stream": ai_sdk.message(),
    "ag-ui": ag_ui.message(),
    "langgraph": langgraph.message(),
}
"""A message of a loaded thread, by wire format."""


def body_components(served: Served) -> dict[str, Schema]:
    """Every body of `POST /chat`, those that have addresses of their own, and what they are made
    of, by name."""
    formats = (*BODIES, *AT_OWN_ADDRESSES)
    found = components(served, [model for format in formats for model in format.MODELS])
    of_chat = {name: one for format in BODIES for name, one in format.bodies(found).items()}
    others = {name: one for form in AT_OWN_ADDRESSES for name, one in form.bodies(found).items()}
    chat = {"anyOf": [ref(name) for name in of_chat]}
    return {**of_chat, "ChatBody": chat, **others, **found}


def message_components() -> dict[str, Schema]:
    """`Message` of any wire format, and what else formats answer."""
    named = {f"Message.{name}": schema for name, schema in MESSAGES.items()}
    of_all = {"anyOf": [ref(name) for name in named]}
    return {
        **named,
        "Message": of_all,
        **langgraph.components(),
        "LangGraph.Event": langgraph_events.event(),
    }
