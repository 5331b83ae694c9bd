"""A server that keeps threads for some days."""

from pathlib import Path

from tests.support.ageing import age
from tests.support.serving import Client, serving, settings
from tests.support.waiting import eventually


async def is_gone(client: Client, thread_id: str) -> bool:
    return (await client.http.get(f"/threads/{thread_id}")).status_code == 404


async def test_a_server_deletes_the_threads_that_are_too_old(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    async with serving(settings(path)) as client:
        for thread_id in ("old", "new"):
            await client.turn({"thread_id": thread_id, "message": "Hello"})
    age(path, 8, "old")
    age(path, 6, "new")
    async with serving(settings(path)) as client:
        await client.turn({"thread_id": "other", "message": "Hello"})
        assert await client.thread("old")
    async with serving(settings(path, thread_retention_days=7)) as client:
        await eventually(lambda: is_gone(client, "old"))
        assert len((await client.thread("new"))["messages"]) == 2
        await client.turn({"thread_id": "old", "message": "A new one"})
        assert len((await client.thread("old"))["messages"]) == 2
