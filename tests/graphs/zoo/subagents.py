"""Subagents under tool calls: agents as tools, those of deepagents, a subgraph, one below another,
a model in a tool."""

import asyncio
from collections.abc import Sequence
from typing import Any, TypedDict

from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import BaseTool, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt

from tests.graphs.zoo.animal import Animal, Question
from tests.graphs.zoo.model import calls, question, results


@tool
async def look_up(topic: str) -> str:
    """Look something up."""
    return f"facts of {topic}"


class HeldTool:
    """`look_up`, which answers once it is open."""

    def __init__(self) -> None:
        self.asked, self.opened = asyncio.Semaphore(0), asyncio.Event()

    async def is_asked(self, times: int) -> None:
        for _ in range(times):
            await self.asked.acquire()

    def graph(self, model: BaseChatModel) -> Any:
        @tool("look_up")
        async def look_up_later(topic: str) -> str:
            """Look something up."""
            self.asked.release()
            await self.opened.wait()
            return f"facts of {topic}"

        return agents_as_tools(model, look_up_later)


def research(agent: Any) -> BaseTool:
    """Give an agent as a tool."""

    @tool
    async def research(topic: str) -> str:
        """Research a topic."""
        done = await agent.ainvoke({"messages": [("user", topic)]})
        return str(done["messages"][-1].text)

    return research


def researcher(model: BaseChatModel, source: BaseTool = look_up) -> Any:
    return create_agent(model, tools=[source], name="researcher")


def agents_as_tools(model: BaseChatModel, source: BaseTool = look_up) -> Any:
    return create_agent(model, tools=[research(researcher(model, source))], name="editor")


def delegating(model: BaseChatModel, source: BaseTool = look_up) -> Any:
    """An agent of deepagents with two subagents."""
    helpers: Any = [
        {"name": name, "description": "Reads.", "system_prompt": "Read.", "tools": [source]}
        for name in ("reader", "writer")
    ]
    return create_deep_agent(model, subagents=helpers)


def in_one_node(model: BaseChatModel) -> Any:
    """Both calls run in one task, which starts the subgraphs side by side."""
    tools = [research(researcher(model))]

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.bind_tools(tools).ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node(think)
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", tools_condition)
    builder.add_edge("tools", "think")
    return builder.compile()


def subgraph_as_tool(model: BaseChatModel) -> Any:
    """The subgraph has a state of its own."""

    class Topic(TypedDict):
        topic: str
        found: str

    async def think(state: Topic) -> dict[str, Any]:
        asked = [HumanMessage(state["topic"])]
        said = await model.bind_tools([look_up]).ainvoke(asked)
        facts = [await look_up.ainvoke(call) for call in said.tool_calls]
        return {"found": (await model.bind_tools([look_up]).ainvoke([*asked, said, *facts])).text}

    builder = StateGraph(Topic).add_node(think).add_edge(START, "think")
    subgraph: Any = builder.compile()

    @tool
    async def research(topic: str) -> str:
        """Research a topic."""
        return str((await subgraph.ainvoke({"topic": topic}))["found"])

    return create_agent(model, tools=[research], name="editor")


def below_another(model: BaseChatModel) -> Any:
    chief: Any = create_agent(model, tools=[research(researcher(model))], name="chief")

    @tool
    async def ask_chief(about: str) -> str:
        """Ask the chief."""
        done = await chief.ainvoke({"messages": [("user", about)]})
        return str(done["messages"][-1].text)

    return create_agent(model, tools=[ask_chief], name="editor")


@tool
async def ask_user(about: str) -> str:
    """Ask the user."""
    return str(interrupt(about))


def with_a_question(model: BaseChatModel) -> Any:
    """The subagent stops to ask, and goes on with the answer in another run."""
    asking = create_agent(model, tools=[ask_user], name="researcher")
    return create_agent(model, tools=[research(asking)], name="editor")


def by_hand(model: BaseChatModel) -> Any:
    """A node runs its tools itself, and one of them asks a model."""

    @tool
    async def rhyme(word: str) -> str:
        """Find a rhyme."""
        return (await model.ainvoke(f"Rhyme {word}")).text

    async def poet(state: MessagesState) -> dict[str, Any]:
        asked: AIMessage = await model.bind_tools([rhyme]).ainvoke(state["messages"])
        found = [await rhyme.ainvoke({**call, "type": "tool_call"}) for call in asked.tool_calls]
        said = await model.ainvoke([*state["messages"], asked, *found])
        return {"messages": [asked, *found, said]}

    return StateGraph(MessagesState).add_node(poet).add_edge(START, "poet").compile()


def edit(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    known = results(prompt)
    if "look_up" in tools:
        if not known:
            return calls(("look_up", {"topic": question(prompt)}), words="Looking.")
        return f"I found {known[0]}."
    if "ask_chief" in tools and not known:
        return calls(("ask_chief", {"about": question(prompt)}))
    if "research" in tools and not known:
        return calls(*(("research", {"topic": one}) for one in question(prompt).split(" and ")))
    return f"Written: {' '.join(known)}"


def delegate(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    if "task" not in tools or results(prompt):
        return edit(prompt, [name for name in tools if "task" not in tools])
    topics = question(prompt).split(" and ")
    work = zip(topics, ("reader", "writer"), strict=False)
    return calls(*(("task", {"description": one, "subagent_type": by}) for one, by in work))


def edit_and_ask(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    if "ask_user" not in tools:
        return edit(prompt, tools)
    known = results(prompt)
    return f"It is {known[0]}." if known else calls(("ask_user", {"about": question(prompt)}))


def compose(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    if question(prompt).startswith("Rhyme"):
        return "house"
    known = results(prompt)
    return f"Mouse, {known[0]}." if known else calls(("rhyme", {"word": "mouse"}))


BOTH = (
    "human: moss and fern",
    "ai: [research, research]",
    "tool: I found facts of moss.",
    "tool: I found facts of fern.",
    "ai: Written: I found facts of moss. I found facts of fern.",
)
BESIDE = (
    "I found facts of fern.",
    "I found facts of moss.",
    "Looking. [look_up]",
    "Looking. [look_up]",
)

HEARD: Any = {"thread": BOTH, "beside": BESIDE, "under": BESIDE}
BELOW = (
    "I found facts of moss.",
    "Looking. [look_up]",
    "Written: I found facts of moss.",
    "[research]",
)

ANIMALS = (
    Animal("agents as tools", agents_as_tools, edit, "moss and fern", **HEARD),
    Animal("agents in one node", in_one_node, edit, "moss and fern", **HEARD),
    Animal(
        "agent below another",
        below_another,
        edit,
        "moss",
        thread=(
            "human: moss",
            "ai: [ask_chief]",
            "tool: Written: I found facts of moss.",
            "ai: Written: Written: I found facts of moss.",
        ),
        beside=BELOW,
        under=BELOW,
    ),
    Animal(
        "question in a subagent",
        with_a_question,
        edit_and_ask,
        "moss",
        questions=(Question(["moss"], "green"),),
        thread=(
            "human: moss",
            "ai: [research]",
            "tool: It is green.",
            "ai: Written: It is green.",
        ),
        beside=("It is green.", "[ask_user]"),
        under=("It is green.", "[ask_user]"),
    ),
    Animal(
        "subagents of deepagents at once",
        delegating,
        delegate,
        "moss and fern",
        thread=tuple(line.replace("research", "task") for line in BOTH),
        beside=BESIDE,
        under=BESIDE,
    ),
    Animal("subgraph as a tool", subgraph_as_tool, edit, "moss and fern", **HEARD),
    Animal(
        "model in a tool that a node calls",
        by_hand,
        compose,
        "A poem",
        thread=("human: A poem", "ai: [rhyme]", "tool: house", "ai: Mouse, house."),
        beside=("house",),
        under=("house",),
    ),
)
