"""LangChain's tutorial of RAG in two steps, whose documents are the artifact of a tool."""

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.graph import END, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from tests.graphs.zoo.animal import Animal
from tests.graphs.zoo.model import calls

DOCUMENTS = [
    Document("Tasks are split by chain of thought.", id="1", metadata={"source": "blog", "page": 1})
]


@tool(response_format="content_and_artifact")
def retrieve(query: str) -> tuple[str, list[Document]]:
    """Retrieve information related to a query."""
    del query
    serialized = "\n\n".join(f"Source: {d.metadata}\nContent: {d.page_content}" for d in DOCUMENTS)
    return serialized, DOCUMENTS


def rag(model: BaseChatModel) -> Any:
    def query_or_respond(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.bind_tools([retrieve]).invoke(state["messages"])]}

    def generate(state: MessagesState) -> dict[str, Any]:
        recent = []
        for message in reversed(state["messages"]):
            if message.type != "tool":
                break
            recent.append(message)
        docs = "\n\n".join(str(document.content) for document in recent[::-1])
        conversation = [
            message
            for message in state["messages"]
            if message.type in ("human", "system")
            or (isinstance(message, AIMessage) and not message.tool_calls)
        ]
        return {"messages": [model.invoke([SystemMessage(f"Answer from {docs}"), *conversation])]}

    builder = StateGraph(MessagesState)
    builder.add_node(query_or_respond)
    builder.add_node("tools", ToolNode([retrieve]))
    builder.add_node(generate)
    builder.set_entry_point("query_or_respond")
    builder.add_conditional_edges("query_or_respond", tools_condition, {END: END, "tools": "tools"})
    builder.add_edge("tools", "generate")
    builder.add_edge("generate", END)
    return builder.compile()


def answer(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    if tools:
        return calls(("retrieve", {"query": "task decomposition"}))
    return "By chain of thought."


ANIMALS = (
    Animal(
        "RAG in two steps",
        rag,
        answer,
        "How are tasks split?",
        thread=(
            "human: How are tasks split?",
            "ai: [retrieve]",
            "tool: Source: {'source': 'blog', 'page': 1} "
            "Content: Tasks are split by chain of thought.",
            "ai: By chain of thought.",
        ),
    ),
)
