"""Talking with the offline model in tests: a history in, its next message out."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)
from langchain_core.tools import tool

from turnstream.graphs.offline import OfflineChatModel
from turnstream.tools.calculator import calculator, multiply
from turnstream.tools.clock import get_current_time
from turnstream.tools.units import convert_units

SCHEMA = json.loads((Path(__file__).parent.parent / "data" / "ui-tools.schema.json").read_text())
REAL = [calculator, multiply, get_current_time, convert_units]
CALCULATOR, MULTIPLY, TIME, UNITS = "calculator", "multiply", "get_current_time", "convert_units"
RENDER, SELECT = "render_ui_component", "request_user_selection"


def ui_tool(name: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {}}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS: list[Any] = [*REAL, ui_tool(RENDER), ui_tool(SELECT)]
BY_NAME: dict[str, Any] = {real.name: {} for real in REAL} | {RENDER: {}, SELECT: {}}


async def stream(
    *history: BaseMessage, tools: Sequence[Any] = TOOLS, **choice: Any
) -> list[AIMessageChunk]:
    model = OfflineChatModel(word_seconds=0).bind_tools(tools, **choice)
    found = [chunk async for chunk in model.astream(list(history))]
    return [chunk for chunk in found if isinstance(chunk, AIMessageChunk)]


async def answer(*history: BaseMessage, tools: Sequence[Any] = TOOLS, **choice: Any) -> AIMessage:
    first, *rest = await stream(*history, tools=tools, **choice)
    whole = first + rest
    return AIMessage(whole.content, tool_calls=whole.tool_calls)


async def calls_for(text: str, tools: Sequence[Any] = TOOLS) -> list[tuple[str, dict[str, Any]]]:
    message = await answer(HumanMessage(text), tools=tools)
    return [(call["name"], call["args"]) for call in message.tool_calls]


def result(message: AIMessage, content: Any, place: int = 0) -> ToolMessage:
    call = message.tool_calls[place]
    text = content if isinstance(content, str) else json.dumps(content)
    return ToolMessage(text, name=call["name"], tool_call_id=call["id"])


def failure(message: AIMessage, sentence: str) -> ToolMessage:
    return result(message, {"error": {"code": "tool_error", "message": sentence}})


def assert_valid(name: str, args: Mapping[str, Any]) -> None:
    jsonschema.validate(args, {**SCHEMA, "$ref": f"#/$defs/{name}"})


@tool
def roll_dice(count: int, sides: int = 6, label: str | None = None) -> str:
    """Roll dice."""
    return f"{count} {sides} {label}"
