"""Everything below a path, behind a proxy that leaves the path in addresses."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.http.test_components import FOLDER, TOOLS
from tests.support.serving import serving, settings


async def test_page_api_and_locations_are_below_the_path(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db", path_prefix="/desk/chat/")) as client:
        beside = await client.http.get("/desk/chat?thread=t1")
        assert (beside.status_code, beside.headers["location"]) == (308, "/desk/chat/?thread=t1")
        page = await client.http.get("/desk/chat/")
        assert (page.status_code, page.headers["content-type"][:9]) == (200, "text/html")
        body = {"thread_id": "t1", "message": "Hello"}
        headers = {"Prefer": "respond-async"}
        accepted = await client.http.post("/desk/chat/chat", json=body, headers=headers)
        assert accepted.headers["location"].startswith("/desk/chat/chat/t1/stream?")
        assert accepted.json()["stream_url"] == accepted.headers["location"]
        stream = await client.http.get(accepted.headers["location"])
        assert stream.text.endswith("data: [DONE]\n\n")
        assert (await client.http.get("/desk/chat/threads/t1")).status_code == 200
        # A proxy may remove the path.
        below = await client.http.post("/chat", json={**body, "thread_id": "t2"}, headers=headers)
        assert below.headers["location"].startswith("/desk/chat/chat/t2/stream?")
        assert below.json()["stream_url"] == below.headers["location"]
        # A probe knows the port alone.
        assert (await client.http.get("/health/ready")).status_code == 200
        assert (await client.http.get("/desk/chatter")).status_code == 404


async def test_addresses_in_bodies_are_below_the_path(tmp_path: Path) -> None:
    own = settings(
        tmp_path / "t.db",
        path_prefix="/desk",
        components=(FOLDER,),
        offline_word_seconds=5.0,
    )
    async with serving(own, TOOLS) as client:
        [gauge] = (await client.http.get("/desk/components")).json()["components"]
        assert (await client.http.get(gauge["draw"])).status_code == 200
        body = {"thread_id": "t1", "message": "Hello"}
        await client.http.post("/desk/chat", json=body, headers={"Prefer": "respond-async"})
        live = (await client.http.get("/desk/threads/t1")).json()["run"]
        refused = (await client.http.post("/desk/chat", json=body)).json()
        for told in (live, refused):
            assert told["stream_url"] == "/desk/chat/t1/stream"
            assert told["stop_url"] == "/desk/chat/t1/stop"
        assert (await client.http.post(live["stop_url"])).is_success


@pytest.mark.parametrize("prefix", ["desk", "//evil.example", "/a b", "/{x}"])
def test_what_is_not_a_path_is_refused(tmp_path: Path, prefix: str) -> None:
    with pytest.raises(ValidationError, match="TURNSTREAM_PATH_PREFIX"):
        settings(tmp_path / "t.db", path_prefix=prefix)
