"""The agent node: one model call, its tool calls read strictly and classified."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import Runnable

from turnstream.graphs import app_context, stored
from turnstream.graphs.answers import client_view
from turnstream.graphs.budgets import last_step, limit_ended, same_call_again, tool_time_spent
from turnstream.graphs.calls import StreamedCall, call_ids
from turnstream.graphs.classify import ClassifiedCalls, Classifier, classify_all, refuse_all
from turnstream.graphs.context import TurnContext
from turnstream.graphs.history import close_pending, for_model
from turnstream.graphs.images import without_images
from turnstream.graphs.limits import Limits
from turnstream.graphs.model_output import ModelOutput, ask
from turnstream.graphs.no_data import fresh_misses
from turnstream.graphs.parts import kept_content, parts_metadata
from turnstream.graphs.replay import kept_extras
from turnstream.graphs.stored import Ended
from turnstream.tools.threads import beside_loop


@dataclass(frozen=True, slots=True)
class _Question:
    """The parts of a history that a model call needs; the history is closed with `closers`."""

    closers: Sequence[ToolMessage]
    prompt: Sequence[AnyMessage]
    call_ids: Collection[str]


@dataclass(frozen=True, slots=True)
class Agent:
    model: Runnable[LanguageModelInput, AIMessage]
    classifier: Classifier
    limits: Limits
    system_prompt: str
    provider: str | None = None
    """The wire format that the model speaks: see `turnstream.graphs.models.provider_of`."""
    sees_images: bool = True

    async def step(self, messages: Sequence[AnyMessage], context: TurnContext) -> list[AnyMessage]:
        """One model call on a closed history: the messages to add to it, answers that are due
        at once last. None at all while results wait to be recovered from: the edge sees them.

        Raises ModelFault of what the model raises, and ModelUnavailable for a stream that broke
        off.
        """
        if fresh_misses(messages):
            return []
        question = await beside_loop(len(messages), partial(self._question, messages, context))
        history, limits = [*messages, *question.closers], self.limits
        output = ModelOutput(question.call_ids, limits.max_message_bytes, self.provider)
        await ask(self.model, question.prompt, output)
        called = output.parts.calls
        ended: Ended | None
        if output.is_cut:
            ended = limit_ended("max_message_bytes", self.limits.max_message_bytes)
            calls = refuse_all(called, "limit_reached", _CUT_SENTENCE, end="cancelled")
        elif ended := self._spent(messages, called, context):
            calls = refuse_all(called, "limit_reached", _LIMIT_SENTENCE.format(**ended))
        else:
            results = TurnResults(history, {call.given_name for call in called})
            calls = await classify_all(called, self.classifier, results)
            ended = last_step(messages, context, self.limits) if calls.goes_on else None
        return [*question.closers, _stored(output, calls, context, ended), *calls.answers]

    def _question(self, messages: Sequence[AnyMessage], context: TurnContext) -> _Question:
        """All that is read of the whole history, at once."""
        sentence = "The call was left unanswered and is closed."
        closers = close_pending(messages, "not_answered", sentence)
        room = self.limits.max_history_tokens
        history = [*messages, *closers]
        seen = history if self.sees_images else without_images(history)
        said = context.app_context or app_context.of_turn(messages)
        system_prompt = app_context.behind(self.system_prompt, said)
        prompt = for_model(seen, system_prompt, room, self.provider)
        return _Question(closers, prompt, call_ids(messages))

    def _spent(
        self,
        messages: Sequence[AnyMessage],
        calls: Sequence[StreamedCall],
        context: TurnContext,
    ) -> Ended | None:
        """The budget that these calls would break."""
        return same_call_again(messages, calls, context, self.limits) or tool_time_spent(
            messages, calls, context, self.limits, self.classifier.catalogue.real_by_name
        )


_LIMIT_SENTENCE = "The run reached its limit, {limit} {value:g}; this call was not made."


_CUT_SENTENCE = "The message was too long and was cut off; this call was not made."


@dataclass(frozen=True, slots=True)
class TurnResults:
    """The results of the thread's tool calls so far, by call id or tool name, as the client may see
    them. A name means the last call that worked, in the last turn that calls the tool. See
    `turnstream.tools.contract.ResultLookup`."""

    history: Sequence[AnyMessage]
    pending: Collection[str] = ()
    """The names of the tools that are called now, and have no result yet."""

    def __call__(self, reference: str) -> Mapping[str, Any] | None:
        is_called, reaches_names = reference in self.pending, True
        for message in reversed(self.history):
            if isinstance(message, HumanMessage):
                reaches_names = not is_called
            elif isinstance(message, ToolMessage):
                is_named = reaches_names and message.name == reference
                if not is_named and message.tool_call_id != reference:
                    continue
                if stored.end_of(message) == "result":
                    view = client_view(message)
                    return view if isinstance(view, dict) else None
                is_called = True
        return None


def _stored(
    output: ModelOutput,
    calls: ClassifiedCalls,
    context: TurnContext,
    ended: Ended | None,
) -> AIMessage:
    """The message to store: what the model said, without what only its stream needed."""
    parts = output.parts.parts
    content = kept_content(output.content, parts, output.provider)
    extras = kept_extras(output.provider, output.extras, output.parts.given_ids)
    return AIMessage(
        content=content,
        id=output.id,
        tool_calls=calls.stored,
        additional_kwargs=extras,
        usage_metadata=output.usage,
        response_metadata=stored.ai_metadata(
            run_id=context.run_id,
            dispositions=calls.dispositions,
            approvals=calls.asked(time.time(), context.user),
            finish_reason=output.finish_reason,
            model_name=output.metadata.get("model_name"),
            provider=None if isinstance(content, str) and not extras else output.provider,
            model=context.model.name if context.model else None,
            timing=output.timing,
            ended=ended,
            **parts_metadata(parts),
        ),
    )
