"""LangGraph's tutorial of agentic RAG: retrieve, grade, rewrite the question or answer."""

from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import BaseModel, Field

from tests.graphs.zoo.animal import Animal
from tests.graphs.zoo.model import calls, question, results


class GradeDocuments(BaseModel):
    """Grade documents with a binary score."""

    binary_score: str = Field(description="'yes' or 'no'")


@tool
def retrieve_blog_posts(query: str) -> str:
    """Search the blog."""
    return "Reward hacking has two types." if "reward" in query else "Nothing of use."


def agentic_rag(model: BaseChatModel) -> Any:
    def generate_query_or_respond(state: MessagesState) -> dict[str, Any]:
        response = model.bind_tools([retrieve_blog_posts]).invoke(state["messages"])
        return {"messages": [response]}

    def grade_documents(state: MessagesState) -> Literal["generate_answer", "rewrite_question"]:
        context = state["messages"][-1].text
        graded: Any = model.with_structured_output(GradeDocuments).invoke(
            [{"role": "user", "content": f"Is this relevant? {context}"}]
        )
        return "generate_answer" if graded.binary_score == "yes" else "rewrite_question"

    def rewrite_question(state: MessagesState) -> dict[str, Any]:
        asked = state["messages"][0].text
        response = model.invoke([{"role": "user", "content": f"Rewrite: {asked}"}])
        return {"messages": [{"role": "user", "content": response.content}]}

    def generate_answer(state: MessagesState) -> dict[str, Any]:
        context = state["messages"][-1].text
        response = model.invoke([{"role": "user", "content": f"Answer from: {context}"}])
        return {"messages": [response]}

    workflow = StateGraph(MessagesState)
    workflow.add_node(generate_query_or_respond)
    workflow.add_node("retrieve", ToolNode([retrieve_blog_posts]))
    workflow.add_node(rewrite_question)
    workflow.add_node(generate_answer)
    workflow.add_edge(START, "generate_query_or_respond")
    workflow.add_conditional_edges(
        "generate_query_or_respond", tools_condition, {"tools": "retrieve", END: END}
    )
    workflow.add_conditional_edges("retrieve", grade_documents)
    workflow.add_edge("generate_answer", END)
    workflow.add_edge("rewrite_question", "generate_query_or_respond")
    return workflow.compile()


def search(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    asked = question(prompt)
    if "GradeDocuments" in tools:
        score = "yes" if "two types" in asked else "no"
        return calls(("GradeDocuments", {"binary_score": score}))
    if asked.startswith("Rewrite"):
        return "Which types of reward hacking are there?"
    if asked.startswith("Answer") or results(prompt):
        return "There are two types."
    return calls(("retrieve_blog_posts", {"query": asked}))


ANIMALS = (
    Animal(
        "agentic RAG",
        agentic_rag,
        search,
        "What of reward hacking?",
        beside=("[GradeDocuments]",),
        thread=(
            "human: What of reward hacking?",
            "ai: [retrieve_blog_posts]",
            "tool: Reward hacking has two types.",
            "ai: There are two types.",
        ),
    ),
    Animal(
        "agentic RAG that rewrites",
        agentic_rag,
        search,
        "What of hacking?",
        beside=(
            "Which types of reward hacking are there?",
            "[GradeDocuments]",
            "[GradeDocuments]",
        ),
        thread=(
            "human: What of hacking?",
            "ai: [retrieve_blog_posts]",
            "tool: Nothing of use.",
            "human: Which types of reward hacking are there?",
            "ai: [retrieve_blog_posts]",
            "tool: Reward hacking has two types.",
            "ai: There are two types.",
        ),
    ),
)
