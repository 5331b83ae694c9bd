"""Run with pytest. The model is the one that needs no key."""

import asyncio

from agent import build, roll_dice
from langgraph.checkpoint.memory import InMemorySaver

from turnstream.graphs.limits import Limits
from turnstream.graphs.offline.model import OfflineChatModel
from turnstream.tools.builtin import CATALOGUE


def test_dice_have_as_many_sides_as_are_asked_for() -> None:
    rolled = roll_dice.invoke({"count": 50, "sides": 4})
    assert set(rolled["rolls"]) <= {1, 2, 3, 4}
    assert rolled["total"] == sum(rolled["rolls"])


def test_the_agent_rolls_dice_when_it_is_asked_to() -> None:
    graph = build(
        OfflineChatModel(word_seconds=0),
        CATALOGUE,
        checkpointer=InMemorySaver(),
        limits=Limits(),
        system_prompt="",
    )
    asked = {"messages": [("user", "Roll 3 dice with 6 sides")]}
    result = asyncio.run(graph.ainvoke(asked, {"configurable": {"thread_id": "t"}}))
    assert [one.name for one in result["messages"] if one.type == "tool"] == ["roll_dice"]
