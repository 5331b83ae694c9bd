"""Settings, commands, problem codes and routes of 0.1 stay, or are in the changelog under "Removed"
(docs/versioning.md)."""

import json
from collections.abc import Mapping, Sequence

import pytest

from tests.support.documented import EVERYTHING
from tests.support.serving import PROJECT
from turnstream.server.extensions.base import EXTENSION_API
from turnstream.server.extensions.built_in import BUILT_IN, ServerSettings
from turnstream.server.extensions.loading import ADMINISTRATION
from turnstream.server.options import Option
from turnstream.server.turns.problem_codes import ALL

EARLIER: Mapping[str, Sequence[str]] = json.loads(
    (PROJECT / "tests" / "data" / "public-0.1.json").read_text(encoding="utf-8")
)


def public() -> Mapping[str, Sequence[str]]:
    """Return the names that docs/versioning.md covers, by part."""
    options = [Option(name, field) for name, field in ServerSettings.model_fields.items()]
    return {
        "settings": sorted(each.variable for each in options),
        "commands": sorted(
            [
                *ADMINISTRATION,
                *(name for each in BUILT_IN for name in (*each.commands, *each.administration)),
            ]
        ),
        "problem codes": sorted(f"{each.code} {each.status}" for each in ALL),
        "routes": sorted(
            f"{method.upper()} {path}"
            for path, methods in EVERYTHING["paths"].items()
            for method in methods
        ),
        "extension API": [str(EXTENSION_API)],
    }


@pytest.mark.parametrize("part", EARLIER)
def test_what_is_public_stays_or_is_in_the_changelog_as_removed(part: str) -> None:
    changelog = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")
    removed = changelog.partition("### Removed")[2]
    for name in {*EARLIER[part]} - {*public()[part]}:
        assert name in removed, f"{part}: {name} is gone"


def test_every_part_has_names() -> None:
    assert EARLIER.keys() == public().keys()
    assert all(EARLIER.values())
