"""The short name of a system prompt and a catalogue of tools."""

import re

from turnstream.server.runs.run_starts import setup_hash
from turnstream.tools.builtin import CATALOGUE
from turnstream.tools.catalogue import Catalogue

HASH = re.compile(r"[0-9a-f]{12}")


def test_it_is_the_same_for_the_same_tools_in_any_order() -> None:
    turned = Catalogue(real=CATALOGUE.real[::-1], ui=CATALOGUE.ui[::-1])
    assert setup_hash("Be terse.", turned) == setup_hash("Be terse.", CATALOGUE)
    assert HASH.fullmatch(setup_hash("Be terse.", CATALOGUE))


def test_another_prompt_has_another() -> None:
    assert setup_hash("Be terse.", CATALOGUE) != setup_hash("Be kind.", CATALOGUE)


def test_other_tools_have_another() -> None:
    fewer = Catalogue(real=CATALOGUE.real[1:], ui=CATALOGUE.ui)
    assert setup_hash("Be terse.", fewer) != setup_hash("Be terse.", CATALOGUE)


def test_a_tool_that_is_described_otherwise_has_another() -> None:
    first, *others = CATALOGUE.real
    reworded = first.model_copy(update={"description": f"{first.description} Use it often."})
    other = Catalogue(real=(reworded, *others), ui=CATALOGUE.ui)
    assert setup_hash("Be terse.", other) != setup_hash("Be terse.", CATALOGUE)


def test_the_schemas_are_read_once_for_a_catalogue() -> None:
    assert CATALOGUE.digest is CATALOGUE.digest
