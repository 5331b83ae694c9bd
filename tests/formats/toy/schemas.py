"""The JSON Schemas of the toy format."""

from collections.abc import MutableMapping

from tests.formats.toy import ToyBody
from turnstream.server.formats.body_schemas import Schema, choice, closed_object

MODELS = (ToyBody,)


def bodies(found: MutableMapping[str, Schema]) -> dict[str, Schema]:
    return {"Toy.Body": found.pop("ToyBody")}


def components() -> dict[str, Schema]:
    text: Schema = {"type": "string"}
    message = closed_object(["by", "text"], by=choice("user", "assistant"), text=text)
    return {"Message.toy": message}
