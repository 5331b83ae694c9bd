"""Models of an Ollama server, by langchain-ollama. Read in its version 1.1.0 and in ollama 0.6."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import ClassVar

import httpx
import ollama
from langchain_ollama import ChatOllama

from turnstream.graphs.answer_bounds import PLAIN, bounding_hook
from turnstream.graphs.images import set_takes_images
from turnstream.graphs.model_options import ModelOptions, ModelSetupError, Reasoning, cannot_reason
from turnstream.graphs.providers.bounded import BoundedChat

ASK_SECONDS = 5.0
"""Seconds that the server may take to say that it has a model."""


logger = logging.getLogger(__name__)


class BoundedChatOllama(BoundedChat, ChatOllama):
    provider: ClassVar[str] = "ollama"


@asynccontextmanager
async def open_model(name: str, options: ModelOptions) -> AsyncIterator[BoundedChatOllama]:
    """Raises ModelSetupError if the server has no such model."""
    able = await _capabilities(name)
    wanted = options.reasoning
    if wanted != "off" and "thinking" not in (able or ["thinking"]):
        cannot_reason(name, wanted)
        wanted = "off"
    hook = bounding_hook(httpx.AsyncByteStream, options.max_message_bytes)
    model = BoundedChatOllama(
        model=name,
        max_message_bytes=options.max_message_bytes,
        reads_think_tags=options.think_tags == "reasoning",
        shows_reasoning=wanted != "off",
        reasoning=reasoning(wanted),
        client_kwargs={"follow_redirects": False, "headers": PLAIN},
        async_client_kwargs={"event_hooks": {"response": [hook]}},
    )
    if able:
        set_takes_images(model, takes="vision" in able)
    try:
        yield model
    finally:
        model._client._client.close()
        await model._async_client._client.aclose()


def reasoning(wanted: Reasoning) -> bool | str:
    """Return the setting as ChatOllama takes it. Models without levels take each for a yes."""
    return wanted if wanted in ("low", "medium", "high") else wanted == "on"


async def _capabilities(name: str) -> Sequence[str]:
    """Return what the server says that the model can do; empty if it says nothing. A server that is
    down now may be up when it is needed."""
    client = ollama.AsyncClient()
    try:
        async with asyncio.timeout(ASK_SECONDS):
            shown = await client.show(name)
    except ollama.ResponseError as error:
        if error.status_code == 404:
            raise ModelSetupError(
                f"TURNSTREAM_MODEL: the Ollama server has no model {name!r}: ollama pull {name}"
            ) from None
        return ()
    except (ConnectionError, TimeoutError, httpx.HTTPError, ValueError):
        logger.warning("the Ollama server does not answer yet; start it with: ollama serve")
        return ()
    finally:
        await client._client.aclose()
    return shown.capabilities or ()
