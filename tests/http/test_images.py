"""Images over HTTP: what a model gets of them, and the models that take none."""

import json
from pathlib import Path
from typing import Any

from tests.http.test_models import several
from tests.support.endpoint import StrictEndpoint
from tests.support.pictures import data_url, png
from tests.support.serving import serving, settings

LEAF = data_url(png(24, 16))
TEXT = {"type": "text", "text": "Which plant is this?"}
QUESTION = {"parts": [{"type": "image", "image": LEAF, "alt": "leaf.png"}, TEXT]}


def said(thread: dict[str, Any]) -> str:
    text: str = thread["messages"][-1]["parts"][0]["text"]
    return text


async def test_the_offline_model_says_what_it_got(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        id, _ = await client.turn({"message": QUESTION})
        thread = await client.thread(id)
        assert said(thread).startswith("You have sent a PNG image of 24 by 16 pixels (“leaf.png”).")
        bare = {"parts": [{"type": "image", "image": LEAF}]}
        await client.turn({"thread_id": id, "message": bare})
        assert said(await client.thread(id)) == (
            "You have sent a PNG image of 24 by 16 pixels. I cannot look at images."
        )
        sum_ = {"parts": [*bare["parts"], {"type": "text", "text": "What is 6 * 7?"}]}
        await client.turn({"thread_id": id, "message": sum_})
        assert said(await client.thread(id)).startswith("You have sent a PNG image")


async def test_a_thread_of_an_image_alone_is_named_by_what_it_shows(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        id, _ = await client.turn({"message": {"parts": QUESTION["parts"][:1]}})
        assert (await client.thread(id))["title"] == "leaf.png"


async def test_a_model_gets_what_an_image_shows_ahead_of_it_and_the_thread_keeps_it(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    async with several(tmp_path, endpoint) as client:
        id, _ = await client.turn({"message": QUESTION})
        assert endpoint.requests[0]["messages"][-1]["content"] == [
            {"type": "text", "text": "[Image: leaf.png]"},
            {"type": "image_url", "image_url": {"url": LEAF}},
            TEXT,
        ]
        assert (await client.thread(id))["messages"][0]["parts"] == QUESTION["parts"]


async def test_a_model_that_takes_no_images_is_not_asked_about_one(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    async with several(tmp_path, endpoint, image_models="openai:*") as client:
        answer = await client.http.post("/chat", json={"thread_id": "t", "message": QUESTION})
        assert (answer.status_code, answer.json()["code"]) == (422, "images_not_supported")
        assert "'first' takes no images" in answer.json()["detail"]
        assert "openai:second can" in answer.json()["detail"]
        assert endpoint.requests == []
        assert (await client.http.get("/threads/t")).status_code == 404
        listed = (await client.http.get("/models")).json()
        assert [model["images"] for model in listed["models"]] == [False, True, False]
        await client.turn({"thread_id": "t", "model": "openai:second", "message": QUESTION})


async def test_a_thread_with_an_image_goes_on_with_a_model_that_takes_none(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    async with several(tmp_path, endpoint, image_models="openai:*") as client:
        id, _ = await client.turn({"model": "openai:second", "message": QUESTION})
        await client.turn({"thread_id": id, "message": "And now?"})
        asked = json.dumps(endpoint.requests[1]["messages"], ensure_ascii=False)
        assert 'an image, \\"leaf.png\\", which you cannot look at' in asked
        assert "image_url" not in asked
        # To make the first answer anew asks about the image again.
        again = {"thread_id": id, "model": "first", "regenerate": f"{await first(client, id)}.a"}
        answer = await client.http.post("/chat", json=again)
        assert (answer.status_code, answer.json()["code"]) == (422, "images_not_supported")


async def test_no_more_is_offered_of_images_than_a_body_may_have(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db", max_body_bytes=100_000)) as client:
        images = (await client.http.get("/models")).json()["images"]
        assert images["max_bytes"] == 36_000
        url = data_url(png(1, 1))
        url = url[:-4] + "A" * ((36_000 - len(url)) // 4 * 4) + url[-4:]
        await client.turn({"message": {"parts": [{"type": "image", "image": url}]}})


async def first(client: Any, id: str) -> str:
    message: str = (await client.thread(id))["messages"][0]["id"]
    return message


async def test_what_langchain_knows_of_a_model_holds_unless_a_setting_says_otherwise(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    names = {"model": "gpt-3.5-turbo", "models": ("gpt-4.1-mini", "unheard-of")}
    for setting, expected in (
        ("auto", [False, True, True]),
        ("*", [True] * 3),
        ("none", [False] * 3),
    ):
        async with several(tmp_path, endpoint, **names, image_models=setting) as client:
            listed = (await client.http.get("/models")).json()["models"]
        assert [model["images"] for model in listed] == expected
