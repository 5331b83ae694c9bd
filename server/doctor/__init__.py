"""`turnstream doctor`: examines the settings and what the server depends on, and changes nothing.

It may run beside servers. One line a finding; those of warnings and faults say the way out.
"""

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from urllib.parse import urlsplit

import httpx

from turnstream.graphs.faults import GraphError
from turnstream.graphs.loading import load
from turnstream.graphs.model_options import ModelSetupError
from turnstream.graphs.models import ModelName
from turnstream.server.announcement import is_loopback
from turnstream.server.doctor.proxy import examine_proxy
from turnstream.server.extensions.base import ExtensionError
from turnstream.server.extensions.loading import ExtensionType, declared, engine_of, named
from turnstream.server.graph_resources import open_models
from turnstream.server.launch import StartError, read_settings
from turnstream.server.logs.messages import escape
from turnstream.server.logs.setup import configure
from turnstream.server.settings import OFF, Settings
from turnstream.server.storage.findings import Finding
from turnstream.server.storage.interfaces import StorageError

ANSWER_SECONDS = 10.0

HELP = """\
Examines the settings, the graph, the database, Redis, the model's server and, with
--url, the proxy in front of a running server. It changes nothing and calls no model.
Its further options are those of the server. The exit status is 1 if there is a fault.
"""


def main(arguments: Sequence[str]) -> int:
    """Return the exit status: 0, 1 if there is a fault, 2 if the command cannot be understood."""
    parser = argparse.ArgumentParser(
        "turnstream doctor",
        usage="turnstream doctor [GRAPH] [--url URL] [OPTION ...]",
        description=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--url", type=_address, help="address under which browsers reach the server"
    )
    options, rest = parser.parse_known_args(arguments)
    configure("text")
    return asyncio.run(_examine(rest, options.url))


def _address(text: str) -> str:
    """Raises ArgumentTypeError, ValueError."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise argparse.ArgumentTypeError("write it as https://chat.example.org")
    return text


async def _examine(arguments: Sequence[str], url: str | None) -> int:
    has_fault = False
    async for finding in examine(arguments, url):
        has_fault |= finding.level == "fault"
        line = f"{finding.level:<8} {finding.subject:<9} {escape(finding.text)}\n"
        sys.stdout.write(line)
        sys.stdout.flush()
    return 1 if has_fault else 0


async def examine(arguments: Sequence[str], url: str | None) -> AsyncIterator[Finding]:
    """Examine one thing after the other. Without valid settings there is nothing else to see."""
    try:
        extensions = declared(named(arguments))
        settings = read_settings(arguments, extensions)
    except (StartError, ExtensionError) as error:
        yield Finding("fault", "settings", str(error))
        return
    for finding in _settings(settings, url):
        yield finding
    for finding in _graphs(settings):
        yield finding
    for finding in await _storage(settings, extensions):
        yield finding
    yield await _model(settings)
    if url:
        async with httpx.AsyncClient(timeout=ANSWER_SECONDS + settings.ping_seconds) as http:
            for finding in await examine_proxy(url, http):
                yield finding


def _settings(settings: Settings, url: str | None) -> list[Finding]:
    found = []
    everybody = OFF in settings.auth
    if everybody and (url or not is_loopback(settings.host)):
        found.append(
            "nobody has to log in: everyone who reaches the server reads and deletes every thread. "
            "Set TURNSTREAM_AUTH to keys, jwt, header or module:function"
        )
    if url and settings.keep_alive_seconds <= 60:
        found.append(
            f"TURNSTREAM_KEEP_ALIVE_SECONDS is {settings.keep_alive_seconds:g}: a proxy that keeps "
            "idle connections for 60 seconds sometimes answers 502. Set it to 75"
        )
    if not found:
        return [Finding("ok", "settings", "valid")]
    return [Finding("warning", "settings", text) for text in found]


def _graphs(settings: Settings) -> list[Finding]:
    refused: dict[str, GraphError] = {}
    try:
        loaded = load(settings.graph, refused)
    except GraphError as error:
        return [Finding("fault", "graph", str(error))]
    names = ", ".join(each.source.name for each in loaded)
    return [
        Finding("ok", "graph", f"loads: {names}"),
        *(Finding("fault", "graph", f"{name}: {error}") for name, error in refused.items()),
    ]


async def _storage(settings: Settings, extensions: Sequence[ExtensionType]) -> Sequence[Finding]:
    engine = engine_of(extensions, settings)
    try:
        return await engine.examine(settings.database, settings.busy_seconds)
    except StorageError as error:
        return [Finding("fault", "database", str(error))]


async def _model(settings: Settings) -> Finding:
    """Ask a server of OpenAI's protocol which models it has, which costs nothing."""
    try:
        async with open_models(settings):
            pass
    except ModelSetupError as error:
        return Finding("fault", "model", str(error))
    name, key = settings.model_name, settings.openai_api_key
    if ModelName.parse(name).provider != "openai" or not (key or settings.openai_base_url):
        return Finding("ok", "model", f"{name} is set up; its server was not asked")
    base = settings.openai_base_url or "https://api.openai.com/v1"
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        async with httpx.AsyncClient(timeout=ANSWER_SECONDS, headers=headers) as http:
            answer = await http.get(f"{base.rstrip('/')}/models")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        text = (
            f"the server of {name} cannot be reached ({type(error).__name__}): see OPENAI_BASE_URL"
        )
        return Finding("fault", "model", text)
    if answer.status_code in (401, 403):
        return Finding(
            "fault", "model", f"the server of {name} refuses the key: see OPENAI_API_KEY"
        )
    if answer.status_code >= 500:
        text = f"the server of {name} answers {answer.status_code}: try again later"
        return Finding("warning", "model", text)
    return Finding("ok", "model", f"the server of {name} answers")
