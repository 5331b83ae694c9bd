"""When a tool found no data: one more try with what there is, then the user is asked.

    look_up -> (first miss of the run)  retry: the model gets the windows that have data
            -> (missed again)           ask: the user chooses one of them

A tool says so by the `status` of its result: `no_data`, or `no_data_in_window` with the windows
that have some, `available: [{"start", "end"}]`. A tool made with `availability_tool="..."` names
the tool that knows what there is. Each miss is dealt with once, so a run cannot recover for ever.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from turnstream.graphs import stored
from turnstream.graphs.answers import client_view
from turnstream.graphs.approval_rules import ApprovalRules
from turnstream.graphs.context import TurnContext, run_messages
from turnstream.graphs.execution import execute
from turnstream.graphs.limits import Limits
from turnstream.graphs.rights import ToolRights, refusal_by_name
from turnstream.tools import strict_json
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import AVAILABILITY_TOOL

MISSES = ("no_data", "no_data_in_window")
ASK = "request_user_selection"
LOOK_UP, RETRY = "look_up", "retry"
MAX_WINDOWS = 12

RETRY_ADVICE = "Try once more with a window that has data, or tell the user what there is."
GIVE_UP_ADVICE = "There is nothing to try again with: tell the user that there is no data."
QUESTION = "There is no data for that. Which of these windows that have data shall I look at?"

Window = Mapping[str, str]


class Recovery(TypedDict):
    misses: Sequence[ToolMessage]
    tried: bool
    """True if the run has recovered before."""
    windows: Sequence[Window]
    """The windows that have data, for the model."""
    options: Sequence[Window]
    """Those of the windows that the client may see: the user can be asked to choose one."""
    availability: Mapping[str, Any]
    """The answer of the availability tool; empty if it was not asked, or failed."""
    messages: Sequence[AnyMessage]
    """The messages that recovery adds to the thread."""


RecoveryGraph = CompiledStateGraph[Recovery, TurnContext, Recovery, Recovery]


def fresh_misses(messages: Sequence[AnyMessage]) -> list[ToolMessage]:
    """The results at the end of the history that found no data and are not dealt with yet; only
    of tools that ran here: what a browser answers is no result of ours."""
    found: list[ToolMessage] = []
    for message in reversed(messages):
        if not isinstance(message, ToolMessage):
            break
        ours = stored.duration_ms(message) is not None and not stored.is_recovered(message)
        if ours and _read(message).get("status") in MISSES:
            found.insert(0, message)
    return found


def entry(messages: Sequence[AnyMessage], context: TurnContext) -> Recovery:
    """The subgraph's input for a history that ends in misses."""
    tried = any(
        isinstance(message, ToolMessage) and stored.is_recovered(message)
        for message in run_messages(messages, context)
    )
    return Recovery(
        misses=fresh_misses(messages),
        tried=tried,
        windows=(),
        options=(),
        availability={},
        messages=(),
    )


def build_recovery(catalogue: Catalogue, limits: Limits) -> RecoveryGraph:
    """The subgraph; it keeps its checkpoints with those of the graph that it runs in."""

    async def look_up(state: Recovery, runtime: Runtime[TurnContext]) -> dict[str, Any]:
        rights = (runtime.context or TurnContext()).rights
        answers = [await _availability(miss, catalogue, limits, rights) for miss in state["misses"]]
        found = [*state["misses"], *filter(None, answers)]
        return {
            "windows": _windows(map(_read, found)),
            "options": _windows(map(client_view, found)),
            "availability": next((_read(answer) for answer in answers if answer), {}),
        }

    def retry(state: Recovery) -> dict[str, Any]:
        hopeless = state["tried"] or not (state["windows"] or state["availability"])
        advice = GIVE_UP_ADVICE if hopeless else RETRY_ADVICE
        return {"messages": [_advised(miss, state, advice, limits) for miss in state["misses"]]}

    def ask(state: Recovery) -> dict[str, Any]:
        advised = [_advised(miss, state, QUESTION, limits) for miss in state["misses"]]
        return {"messages": [*advised, _question(state["options"])]}

    def next_step(state: Recovery, runtime: Runtime[TurnContext]) -> str:
        rights = (runtime.context or TurnContext()).rights
        may_ask = ASK in catalogue.ui_by_name and rights.decide(ASK) != "deny"
        can_ask = may_ask and bool(state["options"])
        return "ask" if state["tried"] and can_ask else RETRY

    graph = StateGraph(Recovery, context_schema=TurnContext)
    graph.add_node(LOOK_UP, look_up)
    graph.add_node(RETRY, retry)
    graph.add_node("ask", ask)
    graph.add_edge(START, LOOK_UP)
    graph.add_conditional_edges(LOOK_UP, next_step, [RETRY, "ask"])
    graph.add_edge(RETRY, END)
    graph.add_edge("ask", END)
    return graph.compile()


def marked_as(messages: Sequence[AnyMessage], context: TurnContext) -> list[AnyMessage]:
    """Messages of the subgraph, as the run's own."""
    for message in messages:
        if isinstance(message, AIMessage):
            message.response_metadata |= stored.ai_metadata(run_id=context.run_id)
    return list(messages)


async def _availability(
    miss: ToolMessage, catalogue: Catalogue, limits: Limits, rights: ToolRights
) -> ToolMessage | None:
    """Ask the tool that knows what data there is, if the one that missed names it and the caller
    may use it."""
    missed = catalogue.real_by_name.get(miss.name or "")
    name = ((missed and missed.metadata) or {}).get(AVAILABILITY_TOOL) or ""
    tool = catalogue.real_by_name.get(name)
    if tool is None or refusal_by_name(rights, name) or await rights.refusal(name, {}):
        return None
    if ApprovalRules(catalogue, rights).by_name(name) != "never":
        return None
    call = ToolCall(type="tool_call", id=f"availability-{uuid4()}", name=tool.name, args={})

    async def run() -> Any:
        return await tool.ainvoke(call)

    answer = await execute(call, run, limits, catalogue.drawable)
    return answer if stored.end_of(answer) == "result" else None


def _advised(miss: ToolMessage, state: Recovery, advice: str, limits: Limits) -> ToolMessage:
    """The result again, for the model with what is known of the data; the client's view stays."""
    return miss.model_copy(
        update={
            "content": _with_hint(miss, state, advice, limits.max_result_chars),
            "artifact": client_view(miss),
            "response_metadata": stored.recovered(miss),
        }
    )


def _with_hint(miss: ToolMessage, state: Recovery, advice: str, max_chars: int) -> str:
    """As much of the hint as the model may get of one result; the advice in any case."""
    hint = {
        "advice": advice,
        "available": list(state["windows"]),
        "availability": state["availability"],
    }
    given = {key: value for key, value in hint.items() if value}
    while True:
        text = strict_json.write({**_read(miss), "recovery": given})
        if len(text) <= max_chars or len(given) == 1:
            return text
        given.popitem()


def _question(windows: Sequence[Window]) -> AIMessage:
    options = [
        {"value": f"{w['start']}/{w['end']}", "label": f"{w['start']} to {w['end']}"}
        for w in windows
    ]
    args = {"kind": "single", "prompt": QUESTION, "options": options}
    call = ToolCall(type="tool_call", id=f"call_{uuid4().hex[:24]}", name=ASK, args=args)
    metadata = stored.ai_metadata(run_id=None, dispositions=["client"], finish_reason="stop")
    return AIMessage("", id=f"ask-{uuid4()}", tool_calls=[call], response_metadata=metadata)


def _read(message: ToolMessage) -> dict[str, Any]:
    return strict_json.read_object(message.text) or {}


def _windows(answers: Iterable[Any]) -> Sequence[Window]:
    """The windows that the answers offer, each once, MAX_WINDOWS at the most."""
    offers = [answer.get("available") for answer in answers if isinstance(answer, dict)]
    offered = [window for offer in offers if isinstance(offer, list) for window in offer]
    sides = [
        (window.get("start"), window.get("end")) for window in offered if isinstance(window, dict)
    ]
    texts = dict.fromkeys(pair for pair in sides if all(isinstance(side, str) for side in pair))
    return [{"start": str(start), "end": str(end)} for start, end in texts][:MAX_WINDOWS]
