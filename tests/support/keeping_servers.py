"""Servers of OpenAI's wire that want back what they sent beside a message: their replies, and their
rules for a thread."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Protocol

from tests.support.endpoint import Break, Call, CloseClean, Cut, Pause, Raw, Refusal, Reply, Say
from tests.support.endpoint.message_rules import CALL_ID_LENGTH
from tests.support.endpoint.refusal import Body
from tests.support.endpoint.script import Scripted, Step
from tests.support.providers import of_this_loop

SECRET = "signature-of-a-thought"
ID_LENGTHS = (819, 3_019)
"""Characters of ids that were seen of LiteLLM."""


class KeepingServer(Protocol):
    """A server in the life of one thread."""

    def played(self, given: Scripted) -> Scripted:
        """Return the reply as this server gives it."""

    def refusal(self, body: Body) -> Refusal | None:
        """Return what is wrong with the messages of a request."""


class OpenRouter:
    """A server whose `reasoning_details` must come back unmodified and in their order.

    https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks

    Each reply has other details. Only the message of a reply that was cut ahead of its first word
    may lack them.
    """

    def __init__(self) -> None:
        self._sent: list[list[dict[str, Any]]] = []
        self._cut = 0

    def played(self, given: Scripted) -> Scripted:
        own = of_this_loop(given)
        if not isinstance(own, Reply):
            return own
        number = len(self._sent)
        text = {"type": "reasoning.text", "index": 0, "format": "anthropic-claude-v1"}
        hidden = {"type": "reasoning.encrypted", "index": 1, "data": f"{number}: AAAA=="}
        whole = {**text, "text": f"{number}: first, multiply.", "signature": f"{SECRET}-{number}"}
        self._sent.append([whole, hidden])
        first = next(iter(own.steps), None)
        self._cut += is_cut(own) and not isinstance(first, Say | Call)
        pieces = (
            {**text, "text": f"{number}: first, ", "signature": None},
            {**text, "text": "multiply."},
            {**text, "signature": f"{SECRET}-{number}"},
            hidden,
        )
        return Reply((*(Raw({"reasoning_details": [piece]}) for piece in pieces), *own.steps))

    def refusal(self, body: Body) -> Refusal | None:
        details = [each.get("reasoning_details") for each in of_model(body)]
        places = [self._sent.index(each) if each in self._sent else -1 for each in details if each]
        if -1 in places or places != sorted(set(places)):
            return Refusal("Reasoning blocks must be passed back unmodified.")
        if details.count(None) > self._cut:
            return Refusal("Reasoning blocks must be passed back.")
        return None


class LiteLLM:
    """A proxy that reads a signature from the id of a call: BerriAI/litellm, pull request 16895.

    Each call has another id, which must come back byte for byte. Only the calls of a reply that was
    cut may have short ids.
    """

    def __init__(self) -> None:
        self._sent: list[str] = []
        self._cut = 0

    def played(self, given: Scripted) -> Scripted:
        own = of_this_loop(given)
        if not isinstance(own, Reply):
            return own
        steps = tuple(map(self._signed, own.steps))
        self._cut += is_cut(own) * sum(isinstance(step, Call) for step in own.steps)
        return Reply(steps)

    def _signed(self, step: Step) -> Step:
        if not isinstance(step, Call):
            return step
        number = len(self._sent)
        id = f"call_{number}__thought__{SECRET}/+{'Ab1/+=' * 600}"
        self._sent.append(id[: ID_LENGTHS[number % 2]])
        return replace(step, id=self._sent[-1])

    def refusal(self, body: Body) -> Refusal | None:
        called = [call["id"] for each in of_model(body) for call in each.get("tool_calls") or ()]
        answered = [each["tool_call_id"] for each in body["messages"] if each["role"] == "tool"]
        other = [id for id in called if id not in self._sent]
        if len(other) > self._cut or any(len(id) > CALL_ID_LENGTH for id in other):
            return Refusal("The signature is missing.")
        if len(set(called)) < len(called) or sorted(called) != sorted(answered):
            return Refusal("A call has an id of another.")
        return None


def is_cut(reply: Reply) -> bool:
    """Check whether a reply ends before its end, or waits until it is stopped."""
    return any(isinstance(step, Break | Cut | CloseClean | Pause) for step in reply.steps)


def of_model(body: Body) -> Iterator[dict[str, Any]]:
    return (message for message in body["messages"] if message["role"] == "assistant")
