"""A model's server that is busy for a moment is asked again, with the very same request."""

from pathlib import Path

from tests.support.endpoint import StrictEndpoint, failures, text_reply
from tests.support.serving import endpoint_settings, serving, text_of


async def test_a_turn_outlives_a_model_that_is_overloaded_for_a_moment(tmp_path: Path) -> None:
    async with StrictEndpoint() as endpoint:
        endpoint.script(failures.OVERLOADED, text_reply("Hello"))
        async with (
            serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client,
            client.chat({"thread_id": "t1", "message": "Hi"}) as reader,
        ):
            assert text_of(await reader.rest()) == "Hello"
        first, second = endpoint.requests
        assert first == second
        assert first["tools"]
