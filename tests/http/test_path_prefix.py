"""Everything below a path, behind a proxy that leaves the path in addresses."""

from pathlib import Path

import pytest
from pydantic import ValidationError

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
        stream = await client.http.get(accepted.headers["location"])
        assert stream.text.endswith("data: [DONE]\n\n")
        assert (await client.http.get("/desk/chat/threads/t1")).status_code == 200
        # A proxy may remove the path.
        below = await client.http.post("/chat", json={**body, "thread_id": "t2"}, headers=headers)
        assert below.headers["location"].startswith("/desk/chat/chat/t2/stream?")
        # A probe knows the port alone.
        assert (await client.http.get("/health/ready")).status_code == 200
        assert (await client.http.get("/desk/chatter")).status_code == 404


@pytest.mark.parametrize("prefix", ["desk", "//evil.example", "/a b", "/{x}"])
def test_what_is_not_a_path_is_refused(tmp_path: Path, prefix: str) -> None:
    with pytest.raises(ValidationError, match="TURNSTREAM_PATH_PREFIX"):
        settings(tmp_path / "t.db", path_prefix=prefix)
