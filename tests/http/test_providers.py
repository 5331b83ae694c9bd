"""A turn of each provider over HTTP. `tests/runs/test_every_provider.py` has the rest of it."""

import json
from pathlib import Path

import pytest

from tests.http.test_chat_turns import SYSTEM_PROMPT, hydrated, results, said, turn
from tests.support.endpoint import StrictEndpoint, call_reply, text_reply
from tests.support.endpoint.wires.gemini.rules import SKIP
from tests.support.providers import NAMES, THOUGHT, models_at, thoughtful
from tests.support.serving import serving, settings
from tests.support.ways import CALCULATION

PRODUCT = '{"a": 6, "b": 7}'


@pytest.mark.parametrize("provider", NAMES)
async def test_a_provider_gets_back_what_it_signed_in_each_step_of_a_turn(
    tmp_path: Path, endpoint: StrictEndpoint, provider: str
) -> None:
    steps = [thoughtful(call_reply(CALCULATION)), thoughtful(call_reply(("multiply", PRODUCT)))]
    endpoint.script(*steps, thoughtful(text_reply("Done.")))
    made = settings(tmp_path / "t.db", system_prompt=SYSTEM_PROMPT)
    async with (
        models_at(endpoint, provider, reasoning="on") as models,
        serving(made, model=models[provider]) as client,
    ):
        events = await turn(client, {"message": "Go"})
        assert results(events) == [{"expression": "17 * 23", "value": 391}, {"product": 42}]
        assert said(events) == "Done."
        await turn(client, {"message": "And now?"})
        parts = (await hydrated(client))[1]["parts"]
    shown = [part["text"] for part in parts if part["type"] == "reasoning"]
    assert shown == [THOUGHT] * 3
    asked = json.dumps(endpoint.requests[1])
    assert SKIP not in json.dumps(endpoint.requests), "signatures are kept, not gone around"
    assert (THOUGHT in asked) == (provider != "google_genai")
