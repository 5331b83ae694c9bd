"""The clients: one process each, for all tests."""

from collections.abc import Callable, Iterator

import pytest

from tests.clients.driver import ClientProcess
from tests.support.npm import CLIENTS, require

ClientOf = Callable[[str], ClientProcess]


@pytest.fixture(scope="session")
def client_of() -> Iterator[ClientOf]:
    """A client's process, by the name of its script."""
    require(CLIENTS)
    running: dict[str, ClientProcess] = {}

    def process(script: str) -> ClientProcess:
        if script in running and not running[script].alive:
            running.pop(script).close()
        if script not in running:
            running[script] = ClientProcess(script)
        return running[script]

    yield process
    for client in running.values():
        client.close()


@pytest.fixture
def use_chat(client_of: ClientOf) -> ClientProcess:
    """The AI SDK's Chat, with auto-send on."""
    return client_of("use-chat.mjs")


@pytest.fixture
def ui_message_reader(client_of: ClientOf) -> ClientProcess:
    """The AI SDK's transport and reader, without its Chat."""
    return client_of("ui-message-reader.mjs")


@pytest.fixture
def assistant_stream(client_of: ClientOf) -> ClientProcess:
    """assistant-stream's decoder, frontend-tool pipeline and accumulator."""
    return client_of("assistant-stream.mjs")


@pytest.fixture
def assistant_ui(client_of: ClientOf) -> ClientProcess:
    """assistant-ui's `useAssistantTransportRuntime` in a page."""
    return client_of("assistant-ui.mjs")


@pytest.fixture
def assistant_ui_chat(client_of: ClientOf) -> ClientProcess:
    """assistant-ui's `useChatRuntime` in a page: the AI SDK's wire."""
    return client_of("assistant-ui-chat.mjs")


@pytest.fixture
def event_source(client_of: ClientOf) -> ClientProcess:
    """npm's eventsource."""
    return client_of("event-source.mjs")
