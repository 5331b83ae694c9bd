"""What a graph shows to a plain loop over `astream`, in this process."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    convert_to_messages,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.types import Command

from tests.graphs.zoo.animal import Animal, Question
from tests.graphs.zoo.model import ReplyingModel

STREAM_MODES: Any = ["messages", "updates", "custom", "tasks"]
CONFIG: Any = {"configurable": {"thread_id": "thread-1"}}


def shown(message: BaseMessage) -> str:
    """A message on one line: who speaks, the words, the names of the tools that are called."""
    return f"{message.type}: {words(message)}"


def words(message: BaseMessage) -> str:
    called = message.tool_calls if isinstance(message, AIMessage) else []
    names = f"[{', '.join(call['name'] for call in called)}]" if called else ""
    return " ".join([*message.text.split(), *([names] if names else [])])


def bare(value: Any) -> Any:
    """An interrupt's value without the ids of calls, which are others each time."""
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if key != "tool_call_id"}
    return value


@dataclass
class Played:
    """What a loop has seen of a thread."""

    model: ReplyingModel
    graph: Any
    said: dict[str, AIMessageChunk | AIMessage] = field(default_factory=dict)
    """Of each message of the model what it said, by id."""
    custom: list[Any] = field(default_factory=list)
    asked: list[Any] = field(default_factory=list)
    """The values of the interrupts, one item a stop; None of a breakpoint."""

    async def thread(self) -> list[BaseMessage]:
        return convert_to_messages((await self.graph.aget_state(CONFIG)).values["messages"])

    async def beside(self) -> list[str]:
        """What was said and is not in the thread."""
        kept = {message.id for message in await self.thread()}
        return sorted(words(message) for id, message in self.said.items() if id not in kept)

    async def run(self, given: Any, context: Any) -> None:
        stream = self.graph.astream(
            given, CONFIG, context=context, stream_mode=STREAM_MODES, subgraphs=True, version="v2"
        )
        async for item in stream:
            if item["type"] == "messages":
                message, about = item["data"]
                if "lc_source" not in about:  # a call that middleware makes for itself
                    self._hear(message)
            elif item["type"] == "custom":
                self.custom.append(item["data"])

    async def resume(self, question: Question) -> Any:
        """The input that resumes the graph where it has stopped."""
        state = await self.graph.aget_state(CONFIG)
        assert state.next
        self.asked.append([bare(one.value) for one in state.interrupts] or None)
        if question.asked is None:
            return None
        if isinstance(question.answer, list):
            ids = [one.id for one in state.interrupts]
            return Command(resume=dict(zip(ids, question.answer, strict=True)))
        return Command(resume=question.answer)

    def _hear(self, message: Any) -> None:
        if isinstance(message, AIMessage) and message.id:
            known = self.said.get(message.id)
            self.said[message.id] = message if known is None else known + message  # type: ignore[assignment]


def opened(animal: Animal) -> Played:
    model = animal.model()
    graph = animal.graph(model)
    if isinstance(graph, StateGraph):
        graph = graph.compile()
    return Played(model, graph.copy({"checkpointer": InMemorySaver()}))


async def turn(played: Played, animal: Animal) -> Sequence[str]:
    """A message, through all the questions that it leads to: the thread as it ends."""
    context = dict(animal.context) or None
    given: Any = {"messages": [HumanMessage(animal.prompt)], **animal.input}
    await played.run(given, context)
    for question in animal.questions:
        await played.run(await played.resume(question), context)
    return [shown(message) for message in await played.thread()]
