"""Calls of real tools, as a graph makes them, and hostile ones under bounds."""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, ToolException

HOSTILE_SECONDS = 40
BOUNDED = """
import json, resource, sys
from langchain_core.tools import ToolException
from pkgutil import resolve_name
for limit, bound in ((resource.RLIMIT_CPU, 30), (resource.RLIMIT_AS, 4 * 2**30)):
    resource.setrlimit(limit, (bound, bound))
call = json.load(sys.stdin)
tool = resolve_name(call["tool"])
for args in call["args"]:
    try:
        tool.invoke(args)
        print("answered", flush=True)
    except ToolException as refusal:
        print("refused", flush=True)
"""


def call(tool: BaseTool, **args: Any) -> ToolMessage:
    message = tool.invoke({"type": "tool_call", "id": "call_1", "name": tool.name, "args": args})
    assert isinstance(message, ToolMessage)
    return message


def for_model(tool: BaseTool, **args: Any) -> dict[str, Any]:
    content = call(tool, **args).content
    assert isinstance(content, str)
    result: dict[str, Any] = json.loads(content)
    return result


def for_client(tool: BaseTool, **args: Any) -> dict[str, Any]:
    artifact: dict[str, Any] = call(tool, **args).artifact
    return artifact


def refusal(tool: BaseTool, **args: Any) -> str:
    with pytest.raises(ToolException) as refused:
        call(tool, **args)
    sentence = str(refused.value)
    assert len(sentence) < 500, "a sentence, not an echo of the input"
    return sentence


def outcomes(tool: str, calls: Sequence[dict[str, Any]]) -> list[str]:
    """What a process with little time and memory makes of the calls; fewer if one killed it."""
    done = subprocess.run(
        [sys.executable, "-c", BOUNDED],
        input=json.dumps({"tool": tool, "args": calls}),
        capture_output=True,
        text=True,
        timeout=HOSTILE_SECONDS,
        check=False,
    )
    return done.stdout.split()
