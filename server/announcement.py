"""The log lines when the server is up: its address, what it uses, and what to beware of."""

import logging
import os
import socket
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from ipaddress import ip_address
from urllib.parse import urlsplit

from turnstream.graphs.loading import BUILT_IN
from turnstream.graphs.models import OFFLINE, ModelName
from turnstream.graphs.result_view import Undeclared
from turnstream.server.logs.messages import escape
from turnstream.server.settings import LOOPBACK, Settings

logger = logging.getLogger("turnstream")

PREFIX = "TURNSTREAM_"
OF_TESTS = "TURNSTREAM_TEST_"
"""Variables that the tests of this package read, and no server."""
OPEN_TO_ALL = (
    "there is no authentication: everyone who reaches this port can read, change and delete every "
    "thread"
)
DEMO = (
    "the demo is served, since no graph is named: turnstream agent.py:graph serves one of yours, "
    "and turnstream new my-agent makes one"
)
SHOWN: Mapping[Undeclared, str] = {
    "hide": "hidden from clients",
    "show": "shown to clients",
    "show_marked": "shown to clients, in turns that begin now, since there is no authentication; "
    "with TURNSTREAM_AUTH they are hidden",
}
DEVELOPMENT = (
    "development: errors tell what the graph raised, results of tools are shown, and the server "
    "starts again when a file of the project changes"
)
ANY_HOST = (
    "TURNSTREAM_ALLOWED_HOSTS is *: any web site can reach this server through the browser of one "
    "of its users, by DNS rebinding"
)


def announce(
    settings: Settings,
    port: int,
    graphs: Sequence[str] = (),
    extensions: Sequence[str] = (),
    *,
    is_development: bool = False,
) -> None:
    """Log where the server is and what it uses. `graphs` and `extensions` are their names, the
    default graph first."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    logger.info("turnstream on %(url)s", {"url": f"http://{host}:{port}{settings.path_prefix}"})
    logger.info("threads in %(database)s", {"database": settings.database})
    if settings.authenticates:
        logger.info("authentication: %(auth)s", {"auth": ", ".join(settings.auth)})
    if settings.graph == BUILT_IN:
        logger.info(DEMO)
    model = {"for": "model", "model": _model(settings)}
    if settings.graph != BUILT_IN:
        logger.info("graph: %(graph)s", {"graph": settings.graph})
        if len(graphs) > 1:
            served = {"names": ", ".join(graphs), "default": graphs[0]}
            logger.info("graphs served: %(names)s; the default: %(default)s", served)
        results = "show_marked" if is_development else settings.shown_results
        logger.info("results of tools that declare nothing: %(shown)s", {"shown": SHOWN[results]})
        model["for"] = "model, if the graph takes the server's"
    logger.info("%(for)s: %(model)s", model)
    if is_development:
        logger.info(DEVELOPMENT)
    if extensions:
        logger.info("extensions: %(names)s", {"names": ", ".join(extensions)})
    for warning in (*warnings(settings), *unknown_variables(settings)):
        logger.warning(warning)


def notify(state: str) -> None:
    """Tell the service manager that started the process, if one wants to know: sd_notify(3)."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if not path.startswith(("/", "@")):
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.sendto(state.encode(), "\0" + path[1:] if path[0] == "@" else path)
    except OSError as error:
        told = {"state": state, "error": error}
        logger.warning("NOTIFY_SOCKET cannot be told %(state)s: %(error)s", told)


def _model(settings: Settings) -> str:
    default, *others = settings.model_names
    further = f"; further ones: {', '.join(others)}" if others else ""
    if default == OFFLINE and settings.openai_base_url:
        return f"offline; name one of OPENAI_BASE_URL with TURNSTREAM_MODEL{further}"
    if default == OFFLINE:
        return f"offline (deterministic, needs no key); set OPENAI_API_KEY for more{further}"
    if ModelName.parse(default).provider != "openai":
        return f"{default}{further}"
    url = settings.openai_base_url
    return f"{default} at {_address(url) if url else 'OpenAI'}{further}"


def unknown_variables(settings: Settings) -> list[str]:
    """Return a sentence for each variable of the environment that looks like a setting and is
    none."""
    known = [f"{PREFIX}{name.upper()}" for name in type(settings).model_fields]
    sentences = []
    for name in sorted(each.upper() for each in os.environ):
        if name.startswith(PREFIX) and not name.startswith(OF_TESTS) and name not in known:
            near = get_close_matches(name, known, n=1, cutoff=0.85)
            meant = f"; is {near[0]} meant?" if near else ""
            sentences.append(f"{escape(name)} is no setting, and has no effect{meant}")
    return sentences


def warnings(settings: Settings) -> list[str]:
    """Return a sentence for each danger of these settings."""
    others_reach = not is_loopback(settings.host) or set(settings.allowed_hosts) - set(LOOPBACK)
    exposed = [OPEN_TO_ALL] if others_reach and not settings.authenticates else []
    return [*exposed, ANY_HOST] if "*" in settings.allowed_hosts else exposed


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _address(url: str) -> str:
    """A URL without what may be a secret: user, password, query."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
