"""A scripted model that notes which tools it is offered, and agents on it."""

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from pydantic import PrivateAttr

from tests.support.scripted_model import ScriptedModel
from turnstream.graphs.client_tools import ClientTools
from turnstream.graphs.ui_tools import ui_tool
from turnstream.server.turns.requests import ClientTool

SCHEMA = {"type": "object", "properties": {"of": {"type": "string"}}, "required": ["of"]}
PICK = ClientTool("pick_colour", "The user picks.", SCHEMA)
HIGHLIGHT = ClientTool("highlight", "Marks a row.", {"type": "object"})


class OfferedTools(ScriptedModel):
    """`offered`: the names of the tools of each call of the model, those of the client first."""

    _offered: list[list[str]] = PrivateAttr(default_factory=list)

    @property
    def offered(self) -> list[list[str]]:
        return self._offered

    def bind_tools(
        self, tools: Sequence[Any], **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        del kwargs
        functions = [convert_to_openai_tool(one)["function"] for one in tools]
        assert all(function["description"] for function in functions)
        self._offered.append(sorted(function["name"] for function in functions))
        return self


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    return f"It is sunny in {city}."


def agent(model: Any, _tools: Any = None, *, checkpointer: Any = None, **_: Any) -> Any:
    """As an author writes it: `create_agent` with our middleware."""
    return create_agent(
        model, tools=[weather], middleware=[ClientTools()], checkpointer=checkpointer
    )


@ui_tool({"type": "string"})
def pick_colour(of: str) -> None:
    """Ask for a colour."""


def ui_agent(model: Any, _tools: Any = None, *, checkpointer: Any = None, **_: Any) -> Any:
    """An agent with a UI tool of its own."""
    return create_agent(
        model, tools=[weather, pick_colour], middleware=[ClientTools()], checkpointer=checkpointer
    )


class ToolsState(MessagesState, total=False):
    tools: list[Any]


class CopilotState(MessagesState, total=False):
    copilotkit: dict[str, Any]


def by_hand(state: Any, read: Any) -> Any:
    """Make a graph that offers the tools that `read` finds in its state, and ends at their
    calls."""

    def build(model: Any, _tools: Any = None, *, checkpointer: Any = None, **_: Any) -> Any:
        async def chat(given: Any) -> dict[str, Any]:
            thinker = model.bind_tools([weather, *read(given)])
            return {"messages": [await thinker.ainvoke(given["messages"])]}

        def after(given: Any) -> str:
            calls = given["messages"][-1].tool_calls
            return "tools" if any(call["name"] == "weather" for call in calls) else END

        graph: Any = StateGraph(state)
        graph.add_node("chat", chat)
        graph.add_node("tools", ToolNode([weather]))
        graph.add_edge(START, "chat")
        graph.add_conditional_edges("chat", after, ["tools", END])
        graph.add_edge("tools", "chat")
        return graph.compile(checkpointer=checkpointer)

    return build


bare = by_hand(MessagesState, lambda _: [])
"""A graph that has no place for tools of a client."""
