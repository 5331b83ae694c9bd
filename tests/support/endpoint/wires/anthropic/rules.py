"""What the Messages API refuses of a body that has the right shape, in its words."""

from collections.abc import Callable, Iterator

from tests.support.endpoint.refusal import Refusal
from tests.support.endpoint.wires.anthropic import body as shape
from tests.support.endpoint.wires.anthropic.body import (
    AssistantMessage,
    Budget,
    Message,
    MessagesBody,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from tests.support.endpoint.wires.asked import Asked
from tests.support.endpoint.wires.seals import Seals
from tests.support.endpoint.wires.shapes import shaped
from tests.support.endpoint.wires.wire import is_blank

Rule = Callable[[MessagesBody], Iterator[Refusal]]


def refusal(asked: Asked) -> Refusal | None:
    """The first thing wrong with a request; None if Anthropic would take it."""
    body = shaped(MessagesBody, asked.body, shape.sentence)
    if isinstance(body, Refusal):
        return body
    faults = (refused for rule in RULES for refused in rule(body))
    return next(faults, None) or next(signatures_are_of_this_endpoint(body, asked.seals), None)


def messages_have_content(body: MessagesBody) -> Iterator[Refusal]:
    for place, message in enumerate(body.messages):
        if not message.content:
            yield Refusal(f"messages.{place}: all messages must have non-empty content")


def the_user_begins_and_is_last(body: MessagesBody) -> Iterator[Refusal]:
    """Later models take no first words of their answer; here none does."""
    if body.messages[0].role != "user":
        yield Refusal('messages: first message must use the "user" role')
    if body.messages[-1].role != "user":
        yield Refusal(
            "This model does not support assistant message prefill. The conversation must end "
            "with a user message."
        )


def texts_are_not_blank(body: MessagesBody) -> Iterator[Refusal]:
    if body.system == [] or any(is_blank(block.text) for block in body.system or ()):
        yield Refusal("system: text content blocks must be non-empty")
    for message in body.messages:
        if any(is_blank(text.text) for text in _texts(message)):
            yield Refusal("messages: text content blocks must be non-empty")


def _texts(message: Message) -> Iterator[Text]:
    for block in message.content:
        nested = block.content if isinstance(block, ToolResult) else [block]
        yield from (text for text in nested if isinstance(text, Text))


def call_ids_are_unique(body: MessagesBody) -> Iterator[Refusal]:
    ids = [call.id for message in body.messages for call in _calls(message)]
    if len(set(ids)) < len(ids):
        yield Refusal("messages: `tool_use` ids must be unique")


def results_come_first(body: MessagesBody) -> Iterator[Refusal]:
    for place, message in enumerate(body.messages):
        is_result = [isinstance(block, ToolResult) for block in message.content]
        if is_result != sorted(is_result, reverse=True):
            yield Refusal(f"messages.{place}: `tool_result` blocks must come first in the content")


def results_are_of_the_calls_before(body: MessagesBody) -> Iterator[Refusal]:
    for place, message in enumerate(body.messages):
        called = {call.id for call in _calls(body.messages[place - 1])} if place else set()
        seen: set[str] = set()
        for result in _results(message):
            if result not in called:
                yield Refusal(
                    f"messages.{place}: unexpected `tool_use_id` found in `tool_result` blocks: "
                    f"{result}. Each `tool_result` block must have a corresponding `tool_use` "
                    "block in the previous message."
                )
            if result in seen:
                yield Refusal(
                    f"messages.{place}: each tool_use must have a single result. Found multiple "
                    f"`tool_result` blocks with id: {result}"
                )
            seen.add(result)


def calls_are_answered_at_once(body: MessagesBody) -> Iterator[Refusal]:
    for place, message in enumerate(body.messages):
        following = body.messages[place + 1 : place + 2]
        answered = {result for next_one in following for result in _results(next_one)}
        missing = [call.id for call in _calls(message) if call.id not in answered]
        if missing:
            yield Refusal(
                f"messages.{place}: `tool_use` ids were found without `tool_result` blocks "
                f"immediately after: {', '.join(missing)}. Each `tool_use` block must have a "
                "corresponding `tool_result` block in the next message."
            )


def _calls(message: Message) -> list[ToolUse]:
    return [block for block in message.content if isinstance(block, ToolUse)]


def _results(message: Message) -> list[str]:
    return [block.tool_use_id for block in message.content if isinstance(block, ToolResult)]


def budgets_leave_room(body: MessagesBody) -> Iterator[Refusal]:
    if isinstance(body.thinking, Budget) and body.thinking.budget_tokens >= body.max_tokens:
        yield Refusal("`max_tokens` must be greater than `thinking.budget_tokens`.")


def thinking_takes_no_temperature(body: MessagesBody) -> Iterator[Refusal]:
    if _thinks(body) and body.temperature not in (None, 1):
        yield Refusal("`temperature` may only be set to 1 when thinking is enabled.")


def thinking_forces_no_tool(body: MessagesBody) -> Iterator[Refusal]:
    if _thinks(body) and body.tool_choice and body.tool_choice.type in ("any", "tool"):
        yield Refusal("Thinking may not be enabled when tool_choice forces tool use.")


def _thinks(body: MessagesBody) -> bool:
    return body.thinking is not None and body.thinking.type != "disabled"


def calls_of_the_turn_follow_thinking(body: MessagesBody) -> Iterator[Refusal]:
    """With a budget, each step of the turn that goes on; adaptive thinking may leave it out."""
    if not isinstance(body.thinking, Budget):
        return
    for message in reversed(body.messages):
        if message.role == "user" and not _results(message):
            return
        first = message.content[0]
        if _calls(message) and not isinstance(first, Thinking | RedactedThinking):
            yield Refusal(
                "Expected `thinking` or `redacted_thinking`, but found "
                f"`{first.type}`. When `thinking` is enabled, a final `assistant` message must "
                "start with a thinking block."
            )


def thinking_ends_no_message(body: MessagesBody) -> Iterator[Refusal]:
    for place, message in enumerate(body.messages):
        last = message.content[-1] if message.content else None
        if message.role == "assistant" and isinstance(last, Thinking | RedactedThinking):
            yield Refusal(
                f"messages.{place}: The final block in an assistant message cannot be "
                f"`{last.type}`."
            )


def tool_names_are_unique(body: MessagesBody) -> Iterator[Refusal]:
    names = [tool.name for tool in body.tools]
    if len(set(names)) < len(names):
        yield Refusal("tools: Tool names must be unique.")


def choices_are_offered(body: MessagesBody) -> Iterator[Refusal]:
    choice = body.tool_choice
    if choice and not body.tools:
        yield Refusal("tool_choice: may only be specified while providing tools.")
    if choice and choice.type == "tool" and choice.name not in {tool.name for tool in body.tools}:
        yield Refusal(f"Tool '{choice.name}' not found in provided tools")


RULES: tuple[Rule, ...] = (
    messages_have_content,
    the_user_begins_and_is_last,
    texts_are_not_blank,
    call_ids_are_unique,
    results_come_first,
    results_are_of_the_calls_before,
    calls_are_answered_at_once,
    budgets_leave_room,
    thinking_takes_no_temperature,
    thinking_forces_no_tool,
    calls_of_the_turn_follow_thinking,
    thinking_ends_no_message,
    tool_names_are_unique,
    choices_are_offered,
)


def signatures_are_of_this_endpoint(body: MessagesBody, seals: Seals) -> Iterator[Refusal]:
    for place, message in enumerate(body.messages):
        for index, block in enumerate(_signed(message)):
            where = f"messages.{place}.content.{index}"
            if isinstance(block, Thinking) and not seals.holds(block.signature, block.thinking):
                yield Refusal(f"{where}: Invalid `signature` in `thinking` block")
            if isinstance(block, RedactedThinking) and seals.text_of(block.data) is None:
                yield Refusal(f"{where}: Invalid `data` in `redacted_thinking` block")


def _signed(message: Message) -> list[object]:
    return list(message.content) if isinstance(message, AssistantMessage) else []
