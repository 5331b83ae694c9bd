"""POST /chat over HTTP, on the offline model: what a new user sees."""

from pathlib import Path

from tests.support.forked_server import forked_server
from tests.support.serving import serving, settings


async def test_a_question_streams_two_calls_with_their_results_and_the_answer(
    tmp_path: Path,
) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        thread_id, events = await client.turn(
            {"message": "What is 17 * 23, and what time is it in Tokyo?"}
        )
        assert events[-1].data == "[DONE]"
        results = [event.data for event in events if event.type == "result"]
        assert results[0]["result"] == {"expression": "17 * 23", "value": 391}
        assert results[1]["result"]["timezone"] == "Asia/Tokyo"
        hydrated = await client.thread(thread_id)
        assert "391" in hydrated["messages"][1]["parts"][-1]["text"]


async def test_the_thread_remembers_after_a_restart(tmp_path: Path) -> None:
    async with forked_server(tmp_path / "t.db") as server:
        thread_id, _ = await server.client.turn({"message": "My name is Ada."})
        server.terminate()
        assert await server.exit_status() == 0
    async with forked_server(tmp_path / "t.db") as server:
        _, events = await server.client.turn(
            {"thread_id": thread_id, "message": "What is my name?"}
        )
        said = "".join(e.data["textDelta"] for e in events if e.type == "text-delta")
        assert "Ada" in said
