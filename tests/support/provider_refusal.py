"""What a strict endpoint would say of a prompt."""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from tests.support.endpoint import Refusal, refusal

_MODEL = ChatOpenAI(model="any", api_key=SecretStr("none"))


def provider_refusal(prompt: Sequence[BaseMessage]) -> Refusal | None:
    """None: it takes the history as it would be sent."""
    return refusal(_MODEL._get_request_payload(list(prompt)))
