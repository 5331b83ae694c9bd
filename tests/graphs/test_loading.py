"""TURNSTREAM_GRAPH names a graph as its author has it; what is wrong with it is one sentence."""

import json
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from tests.support.counting_tools import CountingTools
from tests.support.gated_tools import GatedTools
from tests.support.scripted_model import ScriptedModel
from turnstream.graphs.attached import AttachedGraph
from turnstream.graphs.faults import GraphError
from turnstream.graphs.graph_tools import tools_of
from turnstream.graphs.limits import Limits
from turnstream.graphs.loading import BUILT_IN, load, open_graphs
from turnstream.server.__main__ import main
from turnstream.tools.builtin import CATALOGUE

Write = Callable[..., Path]

GRAPH = """
    from langchain_core.messages import AIMessage
    from langgraph.graph import START, MessagesState, StateGraph

    def speak(state):
        return {"messages": [AIMessage(WORDS)]}

    builder = StateGraph(MessagesState)
    builder.add_node("speak", speak)
    builder.add_edge(START, "speak")
    graph = builder.compile()
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a user's files; search paths are as before at the end."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def write(name: str, text: str = "", words: str = "Fine.") -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text).replace("WORDS", repr(words)))
        return file

    return write


async def says(setting: str, **context: str) -> str:
    """What the graph answers."""
    ours = (ScriptedModel(), CATALOGUE)
    given: dict[str, Any] = {"limits": Limits(), "system_prompt": ""}
    loaded, checkpointer = load(setting), InMemorySaver()
    async with open_graphs(loaded, checkpointer, None, context, *ours, **given) as graphs:
        attached = next(iter(graphs.values()))
        config = {"configurable": {"thread_id": "t"}}
        state = {"messages": [HumanMessage("Hello")]}
        result = await attached.graph.ainvoke(state, config, context=context or None)  # type: ignore[call-overload]
        return str(result["messages"][-1].content)


async def fault_of(setting: str, **context: str) -> str:
    with pytest.raises(GraphError) as raised:
        await says(setting, **context)
    said = str(raised.value)
    assert said.startswith(f"TURNSTREAM_GRAPH cannot be {setting!r}: ")
    assert "\n" not in said
    return said


FACTORIES = {
    "no argument": "def make(): return builder",
    "a config": "def make(config): return builder if 'configurable' in config else None",
    "a config by name": "def make(*, config=None): return builder.compile() if config else None",
    "async": "async def make(): return graph",
    "async with a config": "async def make(config): return graph if config else None",
    "the user": "def make(user): return graph",
    "a runtime": """
        from langgraph_sdk.runtime import ServerRuntime

        def make(config, runtime: ServerRuntime):
            assert runtime.execution_runtime is None
            return builder
    """,
    "a generator": "async def make(): yield graph",
    "as ours": """
        def make(model, catalogue, *, checkpointer, limits, system_prompt):
            assert catalogue.real and limits.max_steps
            return builder.compile(checkpointer=checkpointer)
    """,
    "a context manager": """
        from contextlib import contextmanager

        @contextmanager
        def make(config):
            yield graph
    """,
    "an async context manager": """
        from contextlib import asynccontextmanager

        @asynccontextmanager
        async def make():
            yield graph
    """,
}


@pytest.mark.parametrize("setting", ["agent.py:graph", "./agent.py:builder", "agent:graph"])
async def test_a_graph_is_named_by_its_file_or_module(setting: str, write: Write) -> None:
    write("agent.py", GRAPH)
    assert await says(setting) == "Fine."


@pytest.mark.parametrize("factory", FACTORIES.values(), ids=FACTORIES.keys())
async def test_a_factory_is_called_as_it_is_written(factory: str, write: Write) -> None:
    write("agent.py", dedent(GRAPH) + dedent(factory))
    assert await says("agent.py:make") == "Fine."


async def test_what_a_factory_opened_is_closed_with_the_server(write: Write) -> None:
    factory = """
        from contextlib import asynccontextmanager
        closed = []

        @asynccontextmanager
        async def make():
            yield graph
            closed.append(True)
    """
    write("closing_agent.py", dedent(GRAPH) + dedent(factory))
    assert await says("closing_agent.py:make") == "Fine."
    assert sys.modules["closing_agent"].closed == [True]


async def test_the_graph_of_a_project_file_is_loaded_as_the_file_says(write: Write) -> None:
    write("app/src/lg_words/__init__.py")
    write("app/src/lg_words/said.py", "import os\nsaid = os.environ['LG_SAID']")
    agent = "from .said import said\n" + dedent(GRAPH).replace("WORDS", "said")
    write("app/src/lg_words/agent.py", agent)
    write("app/.env", "LG_SAID=From the file.\n# a comment\n")
    project = {
        "dependencies": [".", "langchain"],
        "graphs": {"agent": "./src/lg_words/agent.py:graph"},
        "env": ".env",
    }
    write("app/langgraph.json", json.dumps(project))
    assert await says("app/langgraph.json") == "From the file."
    del os.environ["LG_SAID"]


async def test_of_several_graphs_the_first_is_the_default_or_the_one_behind_a_hash(
    write: Write,
) -> None:
    write("one.py", GRAPH, words="One.")
    write("two.py", GRAPH, words="Two.")
    graphs = {"one": "./one.py:graph", "two": {"path": "./two.py:builder", "description": "2"}}
    write("langgraph.json", json.dumps({"graphs": graphs}))
    assert await says("langgraph.json") == "One."
    assert await says("langgraph.json#two") == "Two."
    assert [one.source.name for one in load("langgraph.json#two")] == ["two", "one"]
    said = await fault_of("langgraph.json#three")
    assert "its graphs are: langgraph.json#one, langgraph.json#two" in said


@pytest.mark.parametrize("wrong", ["[]", '{"three": {}}', '{"one": {"recursion_limit": 3}}'])
async def test_a_langgraph_config_that_cannot_be_carried_out_is_refused(
    write: Write, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    write("one.py", GRAPH, words="One.")
    write("langgraph.json", json.dumps({"graphs": {"one": "./one.py:graph"}}))
    monkeypatch.setenv("LANGGRAPH_CONFIG", wrong)
    assert "LANGGRAPH_CONFIG" in await fault_of("langgraph.json")


async def test_a_langgraph_config_with_names_of_langgraphs_own_is_refused(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("one.py", GRAPH, words="One.")
    write("langgraph.json", json.dumps({"graphs": {"one": "./one.py:graph"}}))
    monkeypatch.setenv("LANGGRAPH_CONFIG", '{"one": {"configurable": {"thread_id": "t"}}}')
    with pytest.raises(GraphError, match="LANGGRAPH_CONFIG sets thread_id"):
        await says("langgraph.json")


IMPORTS = {
    "at the top": "from NAME.words import said\n{graph}",
    "inside a function": "{graph}\ndef speak(state):\n    from NAME.words import said\n"
    "    return {{'messages': [AIMessage(said)]}}\n"
    "builder = StateGraph(MessagesState).add_node('speak', speak).add_edge(START, 'speak')\n"
    "graph = builder.compile()",
    "by importlib": "from importlib import import_module\n"
    "said = import_module('NAME.words').said\n{graph}",
}


@pytest.mark.parametrize("name", ["tools", "graphs", "server", "static"])
@pytest.mark.parametrize("way", IMPORTS)
async def test_a_users_package_may_have_the_name_of_one_of_our_folders(
    way: str, name: str, write: Write
) -> None:
    write(f"{name}/__init__.py")
    write(f"{name}/words.py", "said = 'From a package of the user.'")
    graph = dedent(GRAPH).replace("WORDS", "said" if way != "inside a function" else "''")
    write("agent.py", IMPORTS[way].replace("NAME", name).format(graph=graph))
    assert await says("agent.py:graph") == "From a package of the user."


async def test_the_former_name_of_the_built_in_graph_is_answered_with_its_name() -> None:
    assert f"the built-in one is {BUILT_IN}" in await fault_of("graphs.chat:build")


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        ("./two.py:nothing", "two.py has no 'nothing'"),
        ("./three.py:graph", "there is no file"),
        ("./two.py:fails", "ZeroDivisionError: division by zero (two.py, line 13)"),
        ({"description": "no path"}, "KeyError: 'path'"),
    ],
)
async def test_a_graph_of_several_that_cannot_be_served_is_named(
    broken: str | dict[str, str], fault: str, write: Write
) -> None:
    write("one.py", GRAPH)
    write("two.py", dedent(GRAPH) + "\ndef fails(): 1 / 0")
    write("langgraph.json", json.dumps({"graphs": {"one": "./one.py:graph", "two": broken}}))
    with pytest.raises(GraphError) as raised:
        await says("langgraph.json")
    said = str(raised.value)
    assert said.startswith("TURNSTREAM_GRAPH cannot be 'langgraph.json#two': ")
    assert said.count("TURNSTREAM_GRAPH") == 1
    assert fault in said


async def test_what_two_graphs_import_of_the_users_is_one_module(write: Write) -> None:
    write("tools/__init__.py", "said = []")
    for name in ("one", "two"):
        write(f"{name}.py", "import tools\n" + dedent(GRAPH))
    graphs = {"one": "./one.py:graph", "two": "./two.py:graph"}
    write("langgraph.json", json.dumps({"graphs": graphs}))
    load("langgraph.json")
    assert sys.modules["one"].tools is sys.modules["two"].tools


async def test_of_several_graphs_each_gets_the_context_that_it_declares(write: Write) -> None:
    declared = """
        from dataclasses import dataclass
        from langgraph.runtime import Runtime

        @dataclass
        class Context:
            words: str

        async def told(state, runtime: Runtime[Context]):
            return {"messages": [AIMessage(runtime.context.words)]}

        builder = StateGraph(MessagesState, context_schema=Context)
        builder.add_node("told", told)
        builder.add_edge(START, "told")
        graph = builder.compile()
    """
    write("one.py", dedent(GRAPH) + dedent(declared))
    write("two.py", GRAPH)
    graphs = {"one": "./one.py:graph", "two": "./two.py:graph"}
    write("langgraph.json", json.dumps({"graphs": graphs}))
    assert await says("langgraph.json", words="Given.") == "Given."
    with pytest.raises(GraphError, match=r"TURNSTREAM_CONTEXT has 'word', which the context of no"):
        await says("langgraph.json", words="Given.", word="Mistyped.")


SILENT, NAMED, WARNED, REFUSED = "silent", "named", "warned", "refused"
KEYS: Mapping[str, tuple[Any, str]] = {
    "graphs": ({"agent": {"path": "./agent.py:graph", "description": "d"}}, SILENT),
    "dependencies": ([".", "langchain"], SILENT),
    "env": ({"LG_KEY": "1"}, SILENT),
    **dict.fromkeys(("python_version", "node_version", "api_version"), ("1", NAMED)),
    **dict.fromkeys(("base_image", "image_distro"), ("1", NAMED)),
    **dict.fromkeys(("pip_config_file", "pip_installer", "_INTERNAL_docker_tag"), ("1", NAMED)),
    **dict.fromkeys(("dockerfile_lines", "keep_pkg_tools"), (["RUN x"], NAMED)),
    "source": ({"kind": "uv", "root": ".", "package": "p"}, NAMED),
    "auth.path": ("./a.py:auth", SILENT),
    "auth.disable_studio_auth": (True, NAMED),
    "auth.openapi": ({"securitySchemes": {}, "security": [], "paths": {}}, WARNED),
    "auth.cache": ({"cache_keys": ["x"], "max_size": 1, "ttl_seconds": 1}, WARNED),
    "encryption": ({"path": "./e.py:encryption"}, REFUSED),
    "http.app": ("./app.py:app", SILENT),
    "http.enable_custom_route_auth": (True, SILENT),
    "http.middleware_order": ("auth_first", REFUSED),
    "http.mount_prefix": ("/api", WARNED),
    "http.logging_headers": ({"includes": ["*"], "excludes": []}, NAMED),
    "http.configurable_headers.includes": (["x-*"], SILENT),
    "http.configurable_headers.excludes": (["x-y"], SILENT),
    **{f"http.disable_{name}": (True, NAMED) for name in ("store", "mcp", "a2a", "ui", "webhooks")},
    **{
        f"http.disable_{name}": (True, REFUSED)
        for name in ("assistants", "threads", "runs", "meta")
    },
    "http.cors.allow_origins": (["https://a.example"], SILENT),
    "http.cors.allow_origin_regex": (".*", SILENT),
    "http.cors.allow_methods": (["GET"], SILENT),
    "http.cors.allow_headers": (["*"], SILENT),
    "http.cors.allow_credentials": (True, SILENT),
    "http.cors.expose_headers": (["x-y"], SILENT),
    "http.cors.max_age": (5, SILENT),
    "store.index": ({"dims": 2, "embed": "./e.py:embed", "fields": ["$"]}, SILENT),
    "store.ttl": ({"default_ttl": 1, "refresh_on_read": True}, WARNED),
    "checkpointer.path": ("./c.py:saver", WARNED),
    "checkpointer.serde.pickle_fallback": (True, NAMED),
    "checkpointer.serde.allowed_json_modules": ([["a", "b"]], WARNED),
    "checkpointer.serde.allowed_msgpack_modules": ([["a", "b"]], REFUSED),
    "checkpointer.ttl.default_ttl": (60, SILENT),
    "checkpointer.ttl.strategy": ("keep_latest", WARNED),
    "checkpointer.ttl.sweep_interval_minutes": (5, WARNED),
    "checkpointer.ttl.sweep_limit": (5, WARNED),
    "ui": ({"agent": "./ui.tsx"}, WARNED),
    "webhooks": ({"env_prefix": "HOOK_", "url": {}, "headers": {}}, WARNED),
    "auht": ({"path": "./a.py:auth"}, "is auth meant?"),
    "http.corss": ({"allow_origins": []}, "is http.cors meant?"),
    "env_file": (".env", WARNED),
}
"""Every key of the schema that LangGraph's command publishes, and some that are none."""


@pytest.mark.parametrize("key", KEYS)
def test_each_key_of_a_project_is_kept_to_or_named_or_refused(
    key: str, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    value, outcome = KEYS[key]
    config: dict[str, Any] = {"graphs": {"agent": "./agent.py:graph"}}
    *above, last = key.split(".")
    inner = config
    for name in above:
        inner = inner.setdefault(name, {})
    inner[last] = value
    write("agent.py", GRAPH)
    write("langgraph.json", json.dumps(config))
    with caplog.at_level(logging.INFO):
        if outcome == REFUSED:
            with pytest.raises(GraphError, match=f"it sets {key}.*does not support"):
                load("langgraph.json")
            return
        load("langgraph.json")
    os.environ.pop("LG_KEY", None)
    levels = [record.levelname for record in caplog.records if key in record.getMessage()]
    expected = {SILENT: [], NAMED: ["INFO"]}.get(outcome, ["WARNING"])
    assert levels == expected
    if outcome not in (SILENT, NAMED):
        assert f"the key {key} of langgraph.json has no effect" in caplog.text
        assert outcome == WARNED or outcome in caplog.text


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        ({"http": {"cors": {"allow_origins": "*"}}}, "http.cors.allow_origins of langgraph.json"),
        ({"http": {"app": "app.py"}}, "names no application"),
        ({"store": {"index": {"dims": "2"}}}, "store.index.dims of langgraph.json"),
        ({"checkpointer": {"ttl": {"default_ttl": -1}}}, "checkpointer.ttl.default_ttl"),
    ],
)
async def test_a_key_of_a_project_that_cannot_be_read_is_refused(
    keys: dict[str, Any], fault: str, write: Write
) -> None:
    write("agent.py", GRAPH)
    write("langgraph.json", json.dumps({"graphs": {"agent": "./agent.py:graph"}, **keys}))
    assert fault in await fault_of("langgraph.json")


async def test_a_graph_of_whose_input_clients_may_set_nothing_is_named(
    write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    write(
        "agent.py",
        "from typing import TypedDict\nfrom langgraph.graph import START, StateGraph\n"
        "class S(TypedDict):\n    topic: int\n"
        "graph = StateGraph(S)\ngraph.add_node('n', lambda s: s)\ngraph.add_edge(START, 'n')",
    )
    given: Any = (load("agent.py:graph"), InMemorySaver(), None, {}, ScriptedModel(), CATALOGUE)
    async with open_graphs(*given, limits=Limits(), system_prompt=""):
        assert "let them: TURNSTREAM_CLIENT_CONTEXT=topic" in caplog.text
    caplog.clear()
    names = ("topic",)
    async with open_graphs(*given, limits=Limits(), system_prompt="", client_context=names):
        assert "takes no messages" not in caplog.text


def test_an_env_that_has_no_effect_is_named(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    write("agent.py", GRAPH)
    graphs = {"agent": "./agent.py:graph"}
    write("langgraph.json", json.dumps({"graphs": graphs, "env": ".env"}))
    load("langgraph.json")
    assert "names .env, which is no file" in caplog.text
    write(".env", "TURNSTREAM_PORT=9")
    load("langgraph.json")
    assert "has TURNSTREAM_PORT, which have no effect there" in caplog.text
    del os.environ["TURNSTREAM_PORT"]


BROKEN = {
    "no such module": (
        "import nowhere_at_all",
        "No module named 'nowhere_at_all' (agent.py, line 1)",
    ),
    "a missing key": (
        "import os\nos.environ['NO_SUCH_KEY']",
        "KeyError: 'NO_SUCH_KEY' (agent.py, line 2)",
    ),
    "a syntax error": ("x = 1\nx = = 2", "(agent.py, line 2)"),
    "an exit": ("raise SystemExit('no')", "SystemExit: no (agent.py, line 1)"),
    "no such name": ("x = 1", "agent.py has no 'graph'"),
    "no graph": ("graph = 5", "that is a int"),
    "a factory that fails": ("def graph():\n    return 1 / 0", "(agent.py, line 2)"),
    "a factory that makes none": ("def graph():\n    return 5", "it made a int"),
    "a factory that wants more": ("def graph(a, b, c):\n    pass", "it wants (a, b, c)"),
    "an entrypoint": (
        "from langgraph.func import entrypoint\n@entrypoint()\ndef graph(x):\n    return x",
        "functional @entrypoint",
    ),
    "a graph that does not compile": (
        "from langgraph.graph import MessagesState, StateGraph\ngraph = StateGraph(MessagesState)",
        "Graph must have an entrypoint",
    ),
}


@pytest.mark.parametrize(("text", "fault"), BROKEN.values(), ids=BROKEN.keys())
async def test_what_is_wrong_is_one_sentence_with_its_place(
    text: str, fault: str, write: Write
) -> None:
    write("agent.py", text)
    assert fault in await fault_of("agent.py:graph")


@pytest.mark.parametrize(
    ("setting", "fault"),
    [
        ("nowhere.py:graph", "there is no file"),
        ("agnt.py:graph", "; is agent.py meant?"),
        ("agent.py:grph", "agent.py has no 'grph'; is graph meant?"),
        ("agent.py:other", "agent.py has no 'other'; it has graph"),
        ("./agent.ts:graph", "this server runs Python"),
        ("agent.py", "name it as module:name"),
        ("nowhere.json", "FileNotFoundError"),
        ("broken.json", "JSONDecodeError"),
        ("empty.json", "its graphs are: none"),
    ],
)
async def test_a_setting_that_leads_nowhere_says_so(setting: str, fault: str, write: Write) -> None:
    write("agent.py", GRAPH.replace("builder", "_builder"))
    write("broken.json", "{")
    write("empty.json", "{}")
    assert fault in await fault_of(setting)


def test_a_traceback_is_shown_when_it_is_asked_for(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write("agent.py", "def inner():\n    return {}['x']\ninner()")
    arguments = ["--port", "0", "--database", str(tmp_path / "t.db"), "--graph", "agent.py:graph"]
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "KeyError: 'x' (agent.py, line 2)" in said
    assert main([*arguments, "--debug"]) == 2
    assert "in inner" in capsys.readouterr().err


async def test_a_checkpointer_of_the_graphs_own_is_replaced_and_it_is_said(
    write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    own = "\nfrom langgraph.checkpoint.memory import InMemorySaver\n"
    write("agent.py", dedent(GRAPH) + own + "graph = builder.compile(checkpointer=InMemorySaver())")
    with caplog.at_level(logging.WARNING):
        assert await says("agent.py:graph") == "Fine."
    assert "graph agent: its own checkpointer (InMemorySaver) is replaced" in caplog.text


TOOLS = """
    from langchain_core.tools import tool
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode
    from turnstream.tools.contract import client_fields

    @client_fields("paid", needs_approval=NEED)
    @tool
    def pay(amount: int) -> dict:
        "Pay."
        return {"paid": amount}

    inner = StateGraph(MessagesState)
    inner.add_node("tools", ToolNode([pay]))
    inner.add_edge(START, "tools")

    builder = StateGraph(MessagesState)
    builder.add_node("inner", inner.compile())
    builder.add_edge(START, "inner")
    graph = builder.compile()
"""


@asynccontextmanager
async def opened(setting: str) -> AsyncIterator[Mapping[str, AttachedGraph]]:
    """The graphs, with a catalogue that has tools whose calls need approvals."""
    given: dict[str, Any] = {"limits": Limits(), "system_prompt": ""}
    ours = (ScriptedModel(), GatedTools().catalogue)
    async with open_graphs(load(setting), InMemorySaver(), None, {}, *ours, **given) as graphs:
        yield graphs


@pytest.mark.parametrize("need", ["True", "lambda args, user: args['amount'] > 10"])
async def test_a_tool_that_needs_an_approval_keeps_a_graph_that_asks_nobody_from_being_served(
    need: str, write: Write
) -> None:
    write("agent.py", TOOLS.replace("NEED", need))
    fault = await fault_of("agent.py:graph")
    assert "runs pay, declared with needs_approval" in fault
    assert "interrupt()" in fault


async def test_a_tool_that_needs_no_approval_is_served(write: Write) -> None:
    write("agent.py", TOOLS.replace("NEED", "False"))
    async with opened("agent.py:graph") as graphs:
        assert [*tools_of(graphs["agent"].graph)] == ["pay"]


async def test_a_factory_of_another_graph_gets_the_tools_that_need_no_approval(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with opened("docs.examples.own_graph:build") as graphs:
        tools = tools_of(graphs["own_graph"].graph)
    assert [*tools] == [tool.name for tool in CountingTools().catalogue.real]
    [record] = [r for r in caplog.records if "need approvals" in r.getMessage()]
    assert "pay, pay_slowly, spend" in record.getMessage()


async def test_the_built_in_graph_gets_the_tools_that_need_an_approval(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with opened(BUILT_IN) as graphs:
        assert "pay" in tools_of(graphs["chat"].graph)
    assert "approvals" not in caplog.text


async def test_the_built_in_graph_is_ours_whatever_the_folder_has(write: Write) -> None:
    write("graphs/__init__.py", "raise RuntimeError")
    write("tools/__init__.py", "raise RuntimeError")
    ours = (ScriptedModel(), CATALOGUE)
    given: dict[str, Any] = {"limits": Limits(), "system_prompt": ""}
    loaded, checkpointer = load(BUILT_IN), InMemorySaver()
    async with open_graphs(loaded, checkpointer, None, {}, *ours, **given) as graphs:
        assert graphs["chat"].takes_client_tools


@pytest.mark.parametrize("package", ["lg_inner", "calendar"])
async def test_a_file_of_a_package_imports_from_beside_it(package: str, write: Write) -> None:
    """Also a folder that is named as a module which is there already."""
    write(f"{package}/__init__.py")
    write(f"{package}/said.py", "said = 'From beside.'")
    beside = "from .said import said" if package == "lg_inner" else "said = 'From beside.'"
    write(f"{package}/agent.py", beside + "\n" + dedent(GRAPH).replace("WORDS", "said"))
    assert await says(f"./{package}/agent.py:graph") == "From beside."
