"""The scenes whose tokens docs/benchmarks.md has are calls that the server takes."""

import pytest

from tests.benchmarks.scenes import RENDER, SCENES, Scene
from tests.support.serving import PROJECT


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_scene_is_valid_calls_and_what_is_by_reference_is_there(scene: Scene) -> None:
    written = scene.written
    assert [tool for tool, _ in written] == [tool for tool, _ in scene.calls]
    sources = [args["data_from"] for _, args in scene.calls if "data_from" in args]
    assert sources == [*scene.results]
    for tool, args in written:
        assert tool != RENDER or args["props"].keys() > {"title"} or "cards" in args["props"]


def test_the_table_of_scenes_has_each_with_what_is_published() -> None:
    table = (PROJECT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in table.splitlines()]
    known = {row[0].removeprefix("| "): row[3:] for row in rows if len(row) == 6}
    for scene in SCENES:
        assert known[scene.name] == [
            *map(str, scene.published[:2]),
            f"{scene.published[2]} |",
        ], scene.name
