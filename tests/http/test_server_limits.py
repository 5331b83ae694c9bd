"""Limits of the whole server: each refusal names the setting to change, and nothing is lost."""

import base64
from pathlib import Path
from typing import Any

import httpx

from tests.support.counting_tools import CountingTools
from tests.support.endpoint import StrictEndpoint, call_reply, text_reply
from tests.support.serving import endpoint_settings, serving, settings

PNG = b"\x89PNG\r\n\x1a\n"
HOLD = ("hold", '{"word": "milk"}')


def refused(answer: httpx.Response, limit: str) -> None:
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["limit"]) == (503, "limit_reached", limit)
    assert f"TURNSTREAM_{limit.upper()}" in problem["detail"]
    assert int(answer.headers["retry-after"]) > 0


async def test_more_live_runs_than_the_limit_are_refused_until_one_ends(tmp_path: Path) -> None:
    tools = CountingTools()
    async with StrictEndpoint() as endpoint:
        endpoint.script(call_reply(HOLD), text_reply("Done."), text_reply("Hi."))
        configured = endpoint_settings(tmp_path / "t.db", endpoint, max_live_runs=1)
        async with serving(configured, tools.catalogue) as client:
            async with client.chat({"thread_id": "a", "message": "Hold"}) as stream:
                await tools.begun("milk")
                refused(await client.http.post("/chat", json={"message": "Hello"}), "max_live_runs")
                tools.release.set()
                await stream.rest()
            await client.turn({"thread_id": "b", "message": "Hello"})


async def test_more_streams_than_the_limit_are_refused_before_a_run_begins(tmp_path: Path) -> None:
    tools = CountingTools()
    async with StrictEndpoint() as endpoint:
        endpoint.script(call_reply(HOLD), text_reply("Done."))
        configured = endpoint_settings(tmp_path / "t.db", endpoint, max_open_streams=1)
        async with serving(configured, tools.catalogue) as client:
            async with client.chat({"thread_id": "a", "message": "Hold"}) as stream:
                await tools.begun("milk")
                refused(
                    await client.http.post("/chat", json={"thread_id": "b", "message": "Hello"}),
                    "max_open_streams",
                )
                refused(await client.http.get("/chat/a/stream"), "max_open_streams")
                tools.release.set()
                await stream.rest()
            assert (await client.http.get("/threads/b")).status_code == 404


async def test_a_detached_run_needs_no_stream(tmp_path: Path) -> None:
    async with (
        serving(settings(tmp_path / "t.db", max_open_streams=1)) as client,
        client.chat({"message": "Write 120 words"}),
    ):
        answer = await client.http.post(
            "/chat", json={"message": "Hello"}, headers={"Prefer": "respond-async"}
        )
        assert answer.status_code == 202


async def test_more_new_threads_than_the_limit_are_refused_and_known_ones_go_on(
    tmp_path: Path,
) -> None:
    async with serving(settings(tmp_path / "t.db", max_new_threads=2)) as client:
        for thread in ("a", "b"):
            await client.turn({"thread_id": thread, "message": "Hello"})
        refused(await client.http.post("/chat", json={"message": "Hello"}), "max_new_threads")
        await client.turn({"thread_id": "a", "message": "Hello again"})
        listed = (await client.http.get("/threads")).json()["threads"]
        assert {entry["id"] for entry in listed} == {"a", "b"}


def with_images(*sizes: int) -> dict[str, Any]:
    """A message with an image of so many bytes each."""
    images = (base64.b64encode(PNG + b"x" * (size - len(PNG))).decode() for size in sizes)
    parts = [{"type": "image", "image": f"data:image/png;base64,{image}"} for image in images]
    return {"message": {"parts": [{"type": "text", "text": "Look"}, *parts]}}


async def test_images_are_limited_in_number_and_size(tmp_path: Path) -> None:
    limits = {"max_images": 2, "max_image_bytes": 1_000}
    async with serving(settings(tmp_path / "t.db", **limits)) as client:
        for body, code, setting in (
            (with_images(8, 8, 8), "too_many_images", "TURNSTREAM_MAX_IMAGES"),
            (with_images(600, 600), "images_too_large", "TURNSTREAM_MAX_IMAGE_BYTES"),
        ):
            answer = await client.http.post("/chat", json=body)
            assert (answer.status_code, answer.json()["code"]) == (422, code)
            assert setting in answer.json()["detail"]
        await client.turn(with_images(300, 300))


async def test_a_thread_that_is_too_large_takes_no_more(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db", max_thread_bytes=1_000)) as client:
        await client.turn({"thread_id": "t", "message": "x" * 2_000})
        answer = await client.http.post("/chat", json={"thread_id": "t", "message": "More"})
        assert (answer.status_code, answer.json()["code"]) == (409, "thread_too_large")
        assert "TURNSTREAM_MAX_THREAD_BYTES" in answer.json()["detail"]
        assert (await client.thread("t"))["run_state"] == "finished"


async def test_a_run_whose_log_was_dropped_says_that_its_cursor_is_lost(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db", max_retained_bytes=1)) as client:
        async with client.chat({"thread_id": "t", "message": "Hello"}) as stream:
            cursor = f"{stream.run_id}:1"
            await stream.rest()
        await client.turn({"thread_id": "other", "message": "Hello"})
        answer = await client.http.get("/chat/t/stream", headers={"Last-Event-ID": cursor})
        assert '"code":"cursor_lost"' in answer.text
        assert len((await client.thread("t"))["messages"]) == 2


async def test_a_request_that_starts_nothing_new_needs_no_room(tmp_path: Path) -> None:
    tools = CountingTools()
    async with StrictEndpoint() as endpoint:
        endpoint.script(call_reply(HOLD), text_reply("Done."))
        configured = endpoint_settings(tmp_path / "t.db", endpoint, max_live_runs=1)
        async with serving(configured, tools.catalogue) as client:
            body, key = {"thread_id": "a", "message": "Hold"}, {"Idempotency-Key": "k"}
            async with client.chat(body, headers=key) as stream:
                await tools.begun("milk")
                busy = await client.http.post("/chat", json={"thread_id": "a", "message": "Hi"})
                assert (busy.status_code, busy.json()["code"]) == (409, "run_in_progress")
                async with client.chat(body, headers=key) as again:
                    assert again.run_id == stream.run_id
                tools.release.set()
                await stream.rest()
