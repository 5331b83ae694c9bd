"""Waiting for a run of a server in this process to claim its thread, to end, to be dropped."""

from tests.support.backend import key_of
from tests.support.serving import Client
from tests.support.waiting import eventually
from turnstream.server.http.state import AppState


async def claimed(client: Client, thread_id: str) -> None:
    """Wait until a run has claimed the thread; its request may still be checked."""
    await eventually(lambda: _state(client)["store"].holder(key_of(thread_id)))


async def free(client: Client, thread_id: str) -> None:
    """Wait until no run has the thread."""

    async def is_free() -> bool:
        return await _state(client)["store"].holder(key_of(thread_id)) is None

    await eventually(is_free)


async def dropped(client: Client, thread_id: str, run_id: str) -> None:
    """Wait until the log of a run is no longer held."""

    async def is_dropped() -> bool:
        return await _state(client)["reader"].find(key_of(thread_id), run_id) is None

    await eventually(is_dropped)


def _state(client: Client) -> AppState:
    assert client.state is not None, "the server runs in another process"
    return client.state
