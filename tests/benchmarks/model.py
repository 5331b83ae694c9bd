"""The model's server for measuring: it calls a tool if one is offered, then it sends 40 words.

The words leave in one write, or 80 a second if the user's message has the word SLOWLY.
"""

import asyncio

from tests.support.endpoint.__main__ import serve_alone
from tests.support.endpoint.paces import tool_then_words
from tests.support.endpoint.refusal import Body
from tests.support.endpoint.script import Turn

WORDS, WORD_SECONDS = 40, 0.0125
SLOWLY = "slowly"

_hot = tool_then_words(WORDS)
_paced = tool_then_words(WORDS, WORD_SECONDS)


def turn(body: Body) -> Turn:
    said = [message["content"] for message in body["messages"] if message["role"] == "user"]
    return _paced(body) if SLOWLY in str(said[-1]) else _hot(body)


if __name__ == "__main__":
    asyncio.run(serve_alone(turn))
