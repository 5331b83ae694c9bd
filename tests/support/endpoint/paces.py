"""Turns for measuring: so many words, so fast, with or without a tool call before them."""

import json
from collections.abc import Callable
from itertools import chain, cycle, islice

from tests.support.endpoint.refusal import Body
from tests.support.endpoint.sample_args import sample
from tests.support.endpoint.script import Delay, Reply, Say, Turn, call_reply

WORDS = ("solar ", "panels ", "turn ", "light ", "into ", "current ")
FAVOURITE = "calculator"


def words(count: int, delay: float = 0) -> Reply:
    """`count` deltas of one word; with a delay (seconds) each but the first waits for so long."""
    first, *others = (Say(word) for word in islice(cycle(WORDS), count))
    paced = chain.from_iterable((Delay(delay), word) for word in others)
    return Reply((first, *(paced if delay else others)))


def tool_then_words(count: int, delay: float = 0) -> Callable[[Body], Turn]:
    """A call of one of the offered tools first, the words when its result has come."""
    spoken = words(count, delay)

    def turn(body: Body) -> Turn:
        offered = [tool["function"] for tool in body.get("tools", ())]
        if not offered or body["messages"][-1]["role"] == "tool":
            return spoken
        function = next((f for f in offered if f["name"] == FAVOURITE), offered[0])
        args = json.dumps(sample(function.get("parameters", {"type": "object"})))
        return call_reply((function["name"], args), ids=(f"call_{len(body['messages'])}",))

    return turn
