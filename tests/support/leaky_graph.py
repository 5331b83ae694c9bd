"""The built-in graph with a tool that puts what it is given wherever a log may find it."""

import asyncio
import gc
import logging
import threading
import warnings
from typing import Any

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel

from turnstream.graphs.chat import build as built_in
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool


class Port(BaseModel):
    number: int


class Careless:
    def __init__(self, word: str) -> None:
        self._word = word

    def __del__(self) -> None:
        raise RuntimeError(self._word)


def fail(word: str) -> None:
    raise RuntimeError(word)


@real_tool(client_fields=[])
async def leak(word: str) -> dict[str, Any]:
    """Fail after a row of failures.

    Args:
        word: What all of them say.
    """
    library = logging.getLogger("some.library")
    library.warning(f"token {word}")
    library.warning("token %s", word)
    warnings.warn(word, UserWarning, stacklevel=1)
    thread = threading.Thread(target=fail, args=(word,), name=word)
    thread.start()
    thread.join()
    Careless(word)
    task = asyncio.create_task(asyncio.to_thread(fail, word), name=word)
    await asyncio.wait([task])
    del task
    gc.collect()
    try:
        Port.model_validate({"number": word, word: word})
    except ValueError as error:
        raise ExceptionGroup(word, [RuntimeError(word), error]) from KeyError(word)
    return {}


def build(model: BaseChatModel, catalogue: Catalogue, **settings: Any) -> Any:
    return built_in(model, Catalogue((*catalogue.real, leak), catalogue.ui), **settings)
