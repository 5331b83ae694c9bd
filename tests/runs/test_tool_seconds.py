"""The budget of tool seconds: a run's tools may take so long together."""

import json
from pathlib import Path
from typing import Any

from tests.support.backend import backend
from tests.support.counting_tools import CountingTools
from tests.support.run_chunks import ALERT, COMPONENT, RunChunks, send_message, tool_call_message
from tests.support.scripted_model import ScriptedModel
from turnstream.graphs.limits import Limits
from turnstream.server.turns.chunks import RunEnded


def naps(id: str, word: str) -> tuple[str, str, str]:
    return (id, "nap", json.dumps({"word": word}))


async def told(path: Path, seconds: float, *script: Any) -> tuple[RunChunks, CountingTools]:
    shop = CountingTools(nap_seconds=0.02)
    limits = Limits(max_tool_seconds=seconds)
    async with backend(
        path, ScriptedModel.of(*script), catalogue=shop.catalogue, limits=limits
    ) as home:
        return await send_message(home), shop


async def test_tool_seconds_add_up_over_the_steps(tmp_path: Path) -> None:
    steps = [tool_call_message(naps(f"c{n}", f"w{n}")) for n in range(6)]
    run, shop = await told(tmp_path / "t.db", 0.05, *steps)
    ends = [chunk for chunk in run.chunks if isinstance(chunk, RunEnded)]
    assert ends == [RunEnded("limit", "max_tool_seconds", 0.05)]
    assert 1 <= sum(shop.calls.values()) <= 3
    assert list(run.error_codes.values()) == ["limit_reached"]


async def test_tool_seconds_count_calls_side_by_side_each(tmp_path: Path) -> None:
    both = tool_call_message(naps("a", "a"), naps("b", "b"), naps("c", "c"))
    run, shop = await told(tmp_path / "t.db", 0.05, both, tool_call_message(naps("d", "d")))
    assert run.error_codes == {"d": "limit_reached"}
    assert set(shop.calls) == {"a", "b", "c"}


async def test_without_tool_seconds_left_the_model_can_still_answer(tmp_path: Path) -> None:
    run, _ = await told(tmp_path / "t.db", 0.01, tool_call_message(naps("a", "a")))
    assert (run.text, run.reason, run.ended) == ("Done.", "stop", None)


async def test_without_tool_seconds_left_the_model_can_still_show_what_it_has(
    tmp_path: Path,
) -> None:
    show = tool_call_message(("r", COMPONENT, ALERT))
    run, _ = await told(tmp_path / "t.db", 0.01, tool_call_message(naps("a", "a")), show)
    assert (run.results["r"].end, run.reason) == ("shown", "stop")


async def test_tool_seconds_are_counted_anew_in_each_run(tmp_path: Path) -> None:
    shop = CountingTools(nap_seconds=0.02)
    model = ScriptedModel.of(tool_call_message(naps("a", "a")))
    limits = Limits(max_tool_seconds=0.01)
    async with backend(tmp_path / "t.db", model, catalogue=shop.catalogue, limits=limits) as home:
        await send_message(home)
        model.script(tool_call_message(naps("b", "b")))
        assert (await send_message(home)).results["b"].end == "result"
