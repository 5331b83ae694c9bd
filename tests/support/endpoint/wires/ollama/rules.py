"""What Ollama refuses of a body that has the right shape, and what it passes over in silence:
an answer without its call is lost on the model."""

from collections.abc import Callable, Iterator

from tests.support.endpoint.refusal import Refusal
from tests.support.endpoint.wires.asked import Asked, Models
from tests.support.endpoint.wires.ollama import body as shape
from tests.support.endpoint.wires.ollama.body import ChatBody, Message, ToolCall
from tests.support.endpoint.wires.shapes import shaped

Rule = Callable[[ChatBody], Iterator[Refusal]]


def refusal(asked: Asked) -> Refusal | None:
    """The first thing wrong with a request; None if it is taken."""
    body = shaped(ChatBody, asked.body, shape.sentence)
    if isinstance(body, Refusal):
        return body
    faults = (refused for rule in RULES for refused in rule(body))
    return next(models_can_what_is_asked(body, asked.models), None) or next(faults, None)


def unknown_model(name: str) -> Refusal:
    return Refusal(f"model '{name}' not found", "model", status=404)


def models_can_what_is_asked(body: ChatBody, models: Models) -> Iterator[Refusal]:
    if models.names is not None and body.model not in models.names:
        yield unknown_model(body.model)
    if body.think and "thinking" not in models.capabilities:
        yield Refusal(f'"{body.model}" does not support thinking')
    if body.tools and "tools" not in models.capabilities:
        yield Refusal(f"{body.model} does not support tools")


def calls_are_the_models(body: ChatBody) -> Iterator[Refusal]:
    for message in body.messages:
        if message.role != "assistant" and (message.tool_calls or message.thinking):
            yield Refusal(f"a message of the role {message.role} neither calls nor thinks")
        if message.role != "tool" and (message.tool_name or message.tool_call_id):
            yield Refusal(f"a message of the role {message.role} answers no call")


def results_answer_calls(body: ChatBody) -> Iterator[Refusal]:
    """Each of the calls before, once, by its id or its name where they are given."""
    pending: list[ToolCall] = []
    for message in body.messages:
        if message.role == "tool":
            call = next((call for call in pending if _is_answered(call, message)), None)
            if call is None:
                yield Refusal(f"a tool message answers no call: {_named(message)}")
                return
            pending.remove(call)
        elif pending:
            break
        else:
            pending = list(message.tool_calls)
    if pending:
        yield Refusal(f"tool calls have no answer: {pending[0].function.name}")


def _is_answered(call: ToolCall, message: Message) -> bool:
    is_id = message.tool_call_id is None or call.id in (None, message.tool_call_id)
    return is_id and message.tool_name in (None, call.function.name)


def _named(message: Message) -> str:
    return message.tool_call_id or message.tool_name or "without a name"


def tool_names_are_unique(body: ChatBody) -> Iterator[Refusal]:
    names = [tool.function.name for tool in body.tools]
    if len(set(names)) < len(names):
        yield Refusal("tool names must be unique")


RULES: tuple[Rule, ...] = (calls_are_the_models, results_answer_calls, tool_names_are_unique)
