"""A project as a user has it: a langgraph.json, a graph, and packages that are named as our folders
are."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from tests.support.serving import Process, text_of

AGENT = """
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from server.visits import Visit
from tools.words import greeting

GO_ON = Path(__file__).with_name("go-on")


@dataclass
class Context:
    name: str = "stranger"


class State(MessagesState):
    visit: Visit


def speak(state, runtime: Runtime[Context]):
    from graphs.counted import counted

    end = import_module("static.marks").end
    words = f"{greeting}, {runtime.context.name}. That was {counted(state['messages'])}{end}"
    number = state["visit"].number + 1 if "visit" in state else 1
    return {"messages": [AIMessage(words)], "visit": Visit(number)}


def wait(state):
    asked = [message.text for message in state["messages"] if message.type == "human"]
    if asked[-1] != "Wait":
        return {}
    while not GO_ON.exists():
        time.sleep(0.01)
    return {"messages": [AIMessage(f"Visit {state['visit'].number} went on.")]}


builder = StateGraph(State, context_schema=Context)
builder.add_node("speak", speak)
builder.add_node("wait", wait)
builder.add_edge(START, "speak")
builder.add_edge("speak", "wait")
graph = builder.compile()
"""
VISITS = """
from dataclasses import dataclass


@dataclass
class Visit:
    number: int
"""
FILES = {
    "agent.py": AGENT,
    "langgraph.json": '{"graphs": {"agent": "./agent.py:graph"}}',
    "tools/words.py": 'greeting = "Ahoy"',
    "server/visits.py": VISITS,
    "graphs/counted.py": "counted = len",
    "static/marks.py": 'end = "."',
}


def write_project(folder: Path, *, has_inits: bool = True) -> None:
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        if has_inits and file.parent != folder:
            (file.parent / "__init__.py").touch()


async def use(folder: Path, started: Callable[[], AbstractAsyncContextManager[Process]]) -> None:
    """Turns of the project in the folder, whose server is killed in the second of them."""
    async with started() as first:
        thread_id, events = await first.client.turn({"message": "Hello"})
        assert text_of(events) == "Ahoy, stranger. That was 1."
        async with first.client.chat({"message": "Wait", "thread_id": thread_id}) as stream:
            await stream.until("text-delta")
            first.kill()
            await first.exit_status()
    (folder / "go-on").touch()
    async with started() as second:
        _, events = await second.client.turn({"continue": True, "thread_id": thread_id})
        assert text_of(events).endswith("Visit 2 went on.")
        thread = await second.client.thread(thread_id)
        assert [m["parts"][0]["text"] for m in thread["messages"] if m["role"] == "user"] == [
            "Hello",
            "Wait",
        ]
