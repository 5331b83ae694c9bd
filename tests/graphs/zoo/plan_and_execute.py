"""LangGraph's tutorial of plan-and-execute: structured output plans, an agent carries out."""

import operator
from collections.abc import Sequence
from typing import Annotated, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import create_react_agent
from pydantic import BaseModel

from tests.graphs.zoo.animal import Animal
from tests.graphs.zoo.model import calls, question, results


class Plan(BaseModel):
    """Plan to follow."""

    steps: list[str]


class Response(BaseModel):
    """Response to the user."""

    response: str


class Act(BaseModel):
    """What to do next."""

    action: Response | Plan


class PlanExecute(MessagesState):
    plan: list[str]
    past_steps: Annotated[list[tuple[str, str]], operator.add]


def birthplace(person: str) -> str:
    """Where a person was born."""
    return f"{person} was born in Bonn."


def plan_and_execute(model: BaseChatModel) -> Any:
    agent_executor = create_react_agent(model, [birthplace], prompt="You are helpful.")

    async def plan_step(state: PlanExecute) -> dict[str, Any]:
        plan: Any = await model.with_structured_output(Plan).ainvoke(state["messages"])
        return {"plan": plan.steps}

    async def execute_step(state: PlanExecute) -> dict[str, Any]:
        task = state["plan"][0]
        done = await agent_executor.ainvoke({"messages": [("user", f"Execute: {task}")]})
        return {"past_steps": [(task, done["messages"][-1].text)]}

    async def replan_step(state: PlanExecute) -> dict[str, Any]:
        steps = "; ".join(result for _, result in state["past_steps"])
        output: Any = await model.with_structured_output(Act).ainvoke(f"So far: {steps}")
        if isinstance(output.action, Response):
            return {"messages": [AIMessage(output.action.response)], "plan": []}
        return {"plan": output.action.steps}

    def should_end(state: PlanExecute) -> str:
        return "agent" if state["plan"] else END

    workflow = StateGraph(PlanExecute)
    workflow.add_node("planner", plan_step)
    workflow.add_node("agent", execute_step)
    workflow.add_node("replan", replan_step)
    workflow.add_edge(START, "planner")
    workflow.add_edge("planner", "agent")
    workflow.add_edge("agent", "replan")
    workflow.add_conditional_edges("replan", should_end, ["agent", END])
    return workflow.compile()


def plan(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    asked = question(prompt)
    if "Plan" in tools:
        return calls(("Plan", {"steps": ["find Ludwig's birthplace"]}))
    if "Act" in tools:
        if "Rhine" in asked:
            return calls(("Act", {"action": {"response": "On the Rhine."}}))
        return calls(("Act", {"action": {"steps": ["find the river"]}}))
    if "river" in asked:
        return "It is the Rhine."
    if not results(prompt):
        return calls(("birthplace", {"person": "Ludwig"}))
    return "He was born in Bonn."


ANIMALS = (
    Animal(
        "plan and execute",
        plan_and_execute,
        plan,
        "On which river was Ludwig born?",
        beside=(
            "He was born in Bonn.",
            "It is the Rhine.",
            "[Act]",
            "[Act]",
            "[Plan]",
            "[birthplace]",
        ),
        thread=("human: On which river was Ludwig born?", "ai: On the Rhine."),
    ),
)
