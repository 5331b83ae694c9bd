"""An agent with a tool that runs on the server, and a question that the browser answers.

Try "Roll 3 dice with 6 sides" and "Let me choose between tea and coffee". Without a key a model
that needs none answers, by simple rules; with OPENAI_API_KEY, OpenAI's does.
"""

import random
from typing import Any

from langchain_core.messages import AIMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Send

PROMPT = "You are a friendly assistant. Roll dice with roll_dice, and let the user choose."
CLIENT_FIELDS = {"roll_dice": ["rolls", "total"]}
"""What browsers see of the results of each tool; the model sees all of them."""


@tool
def roll_dice(count: int, sides: int = 6) -> dict[str, Any]:
    """Roll dice, 100 at most, and add them up."""
    rolls = [random.randint(1, sides) for _ in range(min(count, 100))]
    return {"rolls": rolls, "total": sum(rolls)}


def build(model: Any, catalogue: Any, *, checkpointer: Any, limits: Any, system_prompt: str) -> Any:
    """Make the graph of what the server gives: its model, and the tools of browsers."""
    asking = [one.function for one in catalogue.ui if one.name == "request_user_selection"]
    agent = model.bind_tools([roll_dice, *asking])

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await agent.ainvoke([SystemMessage(PROMPT), *state["messages"]])]}

    def after_thinking(state: MessagesState) -> Any:
        return [Send("tools", [call]) for call in calls(state, roll_dice.name)] or END

    def after_tools(state: MessagesState) -> str:
        """A question to the user ends the turn, beside other calls too."""
        return END if calls(state, "request_user_selection") else "think"

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("tools", ToolNode([roll_dice]))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", after_thinking, ["tools", END])
    graph.add_conditional_edges("tools", after_tools, ["think", END])
    return graph.compile(checkpointer=checkpointer)


def calls(state: MessagesState, name: str) -> list[Any]:
    """The calls of a tool in the model's last message."""
    last = next(one for one in reversed(state["messages"]) if isinstance(one, AIMessage))
    return [call for call in last.tool_calls if call["name"] == name]
