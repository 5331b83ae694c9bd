"""Calls of real tools, as a graph makes them, and hostile ones under bounds."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, ToolException

HOSTILE_SECONDS = 40
MAX_SENTENCE = 500
BOUNDED = """
import asyncio, json, resource, sys
from langchain_core.tools import ToolException
from pkgutil import resolve_name
for limit, bound in ((resource.RLIMIT_CPU, 30), (resource.RLIMIT_AS, 4 * 2**30)):
    resource.setrlimit(limit, (bound, bound))
call = json.load(sys.stdin)
tool = resolve_name(call["tool"])
for args in call["args"]:
    try:
        asyncio.run(tool.ainvoke(args))
        print(json.dumps(None), flush=True)
    except ToolException as refusal:
        print(json.dumps(str(refusal)), flush=True)
"""


def call(tool: BaseTool, **args: Any) -> ToolMessage:
    request = {"type": "tool_call", "id": "call_1", "name": tool.name, "args": args}
    message = asyncio.run(tool.ainvoke(request))
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
    assert len(sentence) < MAX_SENTENCE, "a sentence, not an echo of the input"
    return sentence


def refusals(tool: str, calls: Sequence[dict[str, Any]]) -> list[str | None]:
    """What a process with little time and memory says to the calls, None where it answers.

    Fewer than there are calls if one of them killed it.
    """
    done = subprocess.run(
        [sys.executable, "-c", BOUNDED],
        input=json.dumps({"tool": tool, "args": calls}),
        capture_output=True,
        text=True,
        timeout=HOSTILE_SECONDS,
        check=False,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_refused_at_once(tool: str, calls: Sequence[dict[str, Any]]) -> None:
    said = refusals(tool, calls)
    for args, sentence in zip(calls, said, strict=False):
        assert sentence is not None, f"answered {args!r}"
        assert sentence.endswith((".", "?")), sentence
        assert len(sentence) < MAX_SENTENCE, "a sentence, not an echo of the input"
        assert "simpleeval" not in sentence
        assert "Traceback" not in sentence
    assert len(said) == len(calls), f"took too much: {calls[len(said)]!r}"
