"""A project as a user has it: a langgraph.json, a graph, and a package that is named as one of ours
is."""

from pathlib import Path

AGENT = """
from dataclasses import dataclass

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from tools.words import greeting


@dataclass
class Context:
    name: str = "stranger"


def speak(state, runtime: Runtime[Context]):
    words = f"{greeting}, {runtime.context.name}. That was {len(state['messages'])}."
    return {"messages": [AIMessage(words)]}


builder = StateGraph(MessagesState, context_schema=Context)
builder.add_node("speak", speak)
builder.add_edge(START, "speak")
graph = builder.compile()
"""


def write_project(folder: Path) -> None:
    (folder / "tools").mkdir(parents=True)
    (folder / "tools" / "__init__.py").touch()
    (folder / "tools" / "words.py").write_text('greeting = "Ahoy"')
    (folder / "agent.py").write_text(AGENT)
    (folder / "langgraph.json").write_text('{"graphs": {"agent": "./agent.py:graph"}}')
