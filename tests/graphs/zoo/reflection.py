"""LangGraph's tutorial of reflection: a critic speaks to the writer in the user's place."""

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.graphs.zoo.animal import Animal

TURNED = {"ai": HumanMessage, "human": AIMessage}
ROUNDS = 2


def reflection(model: BaseChatModel) -> Any:
    placeholder = MessagesPlaceholder(variable_name="messages")
    write = ChatPromptTemplate.from_messages([("system", "Write an essay."), placeholder]) | model
    grade = ChatPromptTemplate.from_messages([("system", "Grade the essay."), placeholder]) | model

    async def generate(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await write.ainvoke({"messages": state["messages"]})]}

    async def reflect(state: MessagesState) -> dict[str, Any]:
        first, *rest = state["messages"]
        translated = [first, *(TURNED[message.type](message.text) for message in rest)]
        critique = await grade.ainvoke({"messages": translated})
        return {"messages": [HumanMessage(critique.text)]}

    def should_continue(state: MessagesState) -> str:
        drafts = [message for message in state["messages"] if message.type == "ai"]
        return END if len(drafts) % ROUNDS == 0 else "reflect"

    builder = StateGraph(MessagesState)
    builder.add_node(generate)
    builder.add_node(reflect)
    builder.add_edge(START, "generate")
    builder.add_conditional_edges("generate", should_continue, ["reflect", END])
    builder.add_edge("reflect", "generate")
    return builder.compile()


def drafts(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    if prompt[0].text.startswith("Grade"):
        return "Make it shorter."
    return "Short." if "shorter" in prompt[-1].text else "A long and winding essay."


ANIMALS = (
    Animal(
        "reflection",
        reflection,
        drafts,
        "An essay, please.",
        beside=("Make it shorter.",),
        thread=(
            "human: An essay, please.",
            "ai: A long and winding essay.",
            "human: Make it shorter.",
            "ai: Short.",
        ),
    ),
)
