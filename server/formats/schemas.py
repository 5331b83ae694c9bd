"""The JSON Schemas of all formats, for the OpenAPI document; nothing else imports them."""

from turnstream.server.formats import Formats
from turnstream.server.formats.body_schemas import Schema, Served, components, ref


def body_components(formats: Formats, served: Served) -> dict[str, Schema]:
    """Return the schemas of all bodies and of what they are made of, by name. `ChatBody` is any
    body of `POST /chat`."""
    schemas = [(format.body, format.schemas()) for format in formats.all]
    found = components(served, [model for _, one in schemas for model in one.MODELS])
    of_chat: dict[str, Schema] = {}
    others: dict[str, Schema] = {}
    for body, one in schemas:
        (of_chat if body and body.recognises else others).update(one.bodies(found))
    chat = {"anyOf": [ref(name) for name in of_chat]}
    return {**of_chat, "ChatBody": chat, **others, **found}


def message_components(formats: Formats) -> dict[str, Schema]:
    """Return the schemas of what formats answer; `Message` is that of any wire format."""
    of_all = {"anyOf": [ref(f"Message.{name}") for name in formats.wire_formats]}
    answers = {
        name: one for format in formats.all for name, one in format.schemas().components().items()
    }
    return {**answers, "Message": of_all}
