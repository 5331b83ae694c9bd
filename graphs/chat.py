"""The chat graph at one glance:

    agent -> (real calls, one task each) tools -> agent ... -> end
    start -> (calls that a person has approved) tools -> agent ... -> end
    agent -> (the tools found no data) recover -> agent, or a question to the user -> end

UI calls end the turn, and so do calls that a person must approve; the other real calls beside them
run first.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from functools import cache, partial
from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.runnables import Runnable
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import Command, Send

from turnstream.graphs.agent import Agent
from turnstream.graphs.answers import failed
from turnstream.graphs.approval_rules import ApprovalRules
from turnstream.graphs.approvals import APPROVED_IN, is_approved, with_note
from turnstream.graphs.classify import Classifier
from turnstream.graphs.context import TurnContext
from turnstream.graphs.execution import INNER, execute, limits_of
from turnstream.graphs.images import takes_images
from turnstream.graphs.limits import Limits
from turnstream.graphs.models import provider_of
from turnstream.graphs.no_data import build_recovery, entry, marked_as
from turnstream.graphs.rights import NEEDS_APPROVAL, NOT_ALLOWED, Refusal, refusal_by_name
from turnstream.graphs.routing import (
    AGENT,
    RECOVER,
    TOOLS,
    after_agent,
    after_recovery,
    after_tools,
    at_start,
)
from turnstream.graphs.state import ChatState
from turnstream.tools.catalogue import Catalogue, as_function
from turnstream.tools.held_calls import answers_of_task, mark_of

BOUND_MODELS = 64
"""Sets of tools for which the bound model is kept."""

Model = Runnable[LanguageModelInput, AIMessage]
ChatGraph = CompiledStateGraph[ChatState, TurnContext, ChatState, ChatState]


def build(
    model: BaseChatModel,
    catalogue: Catalogue,
    *,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    limits: Limits | None = None,
    system_prompt: str = "",
) -> ChatGraph:
    """Compile the chat graph of a model and a catalogue of tools. A run whose context has a
    catalogue uses that one in its place."""
    limits = limits or Limits()
    built_with = catalogue
    bind = _binder()
    # Few threads need it, and it takes as long to compile as the rest of the graph.
    recovery = cache(partial(build_recovery, catalogue, limits))

    async def agent(state: ChatState, runtime: Runtime[TurnContext]) -> dict[str, Any]:
        context = runtime.context or TurnContext()
        catalogue = context.catalogue or built_with
        rules = Classifier(catalogue, context.client_tools, context.rights, context.user)
        chat = context.model.chat if context.model else model
        bound = bind(chat, catalogue, context)
        step = Agent(
            bound, rules, limits, system_prompt, provider_of(chat), takes_images(chat)
        ).step
        return {"messages": await step(state["messages"], context)}

    async def recover(state: ChatState, runtime: Runtime[TurnContext]) -> dict[str, Any]:
        context = runtime.context or TurnContext()
        found = await recovery().ainvoke(entry(state["messages"], context), context=context)
        return {"messages": marked_as(found["messages"], context)}

    async def run_one(
        request: ToolCallRequest,
        run: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage:
        call, context = request.tool_call, request.runtime.context or TurnContext()
        catalogue = context.catalogue or built_with
        tool = catalogue.real_by_name.get(call["name"])
        if tool is None:
            return failed(call, "unknown_tool", "There is no tool of this name any more.")
        begun = mark_of(answers_of_task(request.runtime.config), call["id"])
        refusal = await refusal_now(call, catalogue, context, is_begun=begun is not None)
        if refusal:
            return failed(call, refusal.code, refusal.message)
        # ToolNode knows the tools that the graph was built with.
        run_it = partial(run, request if request.tool is tool else replace(request, tool=tool))
        answered = await execute(call, run_it, limits_of(tool, limits), catalogue.drawable)
        return with_note(answered, call)

    # Async, since LangGraph runs plain functions in threads, which costs more than these do.
    async def from_agent(state: ChatState, runtime: Runtime[TurnContext]) -> list[Send] | str:
        return after_agent(state["messages"], _classifier(runtime, built_with))

    async def from_start(state: ChatState, runtime: Runtime[TurnContext]) -> list[Send] | str:
        return at_start(state["messages"], (runtime.context or TurnContext()).run_id)

    async def from_recovery(state: ChatState) -> str:
        return after_recovery(state["messages"])

    async def from_tools(state: ChatState, runtime: Runtime[TurnContext]) -> str:
        run_id = (runtime.context or TurnContext()).run_id
        return after_tools(state["messages"], _classifier(runtime, built_with), run_id)

    graph = StateGraph(ChatState, context_schema=TurnContext)
    graph.add_node(AGENT, agent)
    tools = ToolNode(catalogue.real, awrap_tool_call=run_one, handle_tool_errors=False)
    graph.add_node(TOOLS, tools.with_config(tags=[INNER]))
    graph.add_node(RECOVER, recover)
    graph.add_conditional_edges(START, from_start, [TOOLS, AGENT])
    graph.add_conditional_edges(AGENT, from_agent, [TOOLS, AGENT, RECOVER, END])
    graph.add_conditional_edges(RECOVER, from_recovery, [AGENT, END])
    graph.add_conditional_edges(TOOLS, from_tools, [AGENT, END])
    # Four supersteps a model call at the most; the budget of steps is ours to keep.
    return graph.compile(checkpointer=checkpointer).with_config(
        recursion_limit=4 * limits.max_steps + 10
    )


def _classifier(runtime: Runtime[TurnContext], built_with: Catalogue) -> Classifier:
    return Classifier((runtime.context and runtime.context.catalogue) or built_with)


async def refusal_now(
    call: ToolCall, catalogue: Catalogue, context: TurnContext, *, is_begun: bool = False
) -> Refusal | None:
    """Why a call is not to run after all: an earlier run has left it behind, and this one has other
    rights, or not the approval that it needs. A call that has begun, and asked the user, goes on
    with the approval that it had."""
    name, rights = call["name"], context.rights
    refusal = refusal_by_name(rights, name)
    if refusal:
        return refusal
    if is_begun or is_approved(call, context.run_id):
        return None if await rights.allows(name, call["args"]) else NOT_ALLOWED
    is_gated = APPROVED_IN in call or ApprovalRules(catalogue, rights).by_name(name) == "always"
    return NEEDS_APPROVAL if is_gated else None


def _binder() -> Callable[[BaseChatModel, Catalogue, TurnContext], Model]:
    """Binds to a model what a run's caller may use of the catalogue, and the tools that the run
    brings along. The catalogue alone is bound once for all callers of the same rights."""

    def offered(catalogue: Catalogue, allowed: Collection[str]) -> list[Any]:
        # The type of bind_tools takes sequences of one kind only.
        return [
            *(as_function(tool) for tool in catalogue.real if tool.name in allowed),
            *(tool.function for tool in catalogue.ui if tool.name in allowed),
        ]

    bound: OrderedDict[tuple[int, int, frozenset[str]], tuple[Model, Catalogue]] = OrderedDict()

    def bound_once(model: BaseChatModel, catalogue: Catalogue, allowed: frozenset[str]) -> Model:
        # By identity: models are compared field by field, and cannot be hashed. The catalogue is
        # kept with what was bound of it, or another might get its id.
        key = (id(model), id(catalogue), allowed)
        if key not in bound:
            # Servers refuse an empty list of tools.
            made = model.bind_tools(offered(catalogue, allowed)) if allowed else model
            bound[key] = (made, catalogue)
            if len(bound) > BOUND_MODELS:
                bound.popitem(last=False)
        return bound[key][0]

    def bind(model: BaseChatModel, catalogue: Catalogue, context: TurnContext) -> Model:
        names = [*catalogue.real_by_name, *catalogue.ui_by_name]
        allowed = frozenset(name for name in names if context.rights.decide(name) != "deny")
        added = [
            tool.function for tool in context.client_tools if tool.name not in catalogue.ui_by_name
        ]
        if added:
            return model.bind_tools([*offered(catalogue, allowed), *added])
        return bound_once(model, catalogue, allowed)

    return bind
