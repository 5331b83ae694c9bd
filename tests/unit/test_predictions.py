"""The state that calls predict, as the metadata of a model says it."""

from typing import Any

import pytest

from turnstream.server.runs.predictions import predictions

WRITES = {"state_key": "text", "tool": "write", "tool_argument": "draft"}


@pytest.mark.parametrize("key", ["predict_state", "copilotkit:emit-intermediate-state"])
def test_both_names_of_the_convention_are_read(key: str) -> None:
    assert predictions({key: [WRITES]}, ("text",)) == {"write": {"text": "draft"}}


def test_an_entry_without_an_argument_stands_for_all_arguments() -> None:
    entry = {"state_key": "plan", "tool": "write"}
    found = predictions({"predict_state": [WRITES, entry]}, ("text", "plan"))
    assert found == {"write": {"text": "draft", "plan": None}}


@pytest.mark.parametrize(
    "given",
    [
        None,
        "text",
        WRITES,
        [7, {}, {"state_key": "text"}],
        [{**WRITES, "state_key": "secrets"}],
        [{**WRITES, "tool_argument": 7}],
        [{**WRITES, "tool_argument": "x" * 300}],
    ],
)
def test_what_fits_no_key_that_clients_see_is_passed_over(given: Any) -> None:
    assert predictions({"predict_state": given}, ("text",)) == {}


def test_of_a_graph_whose_state_clients_do_not_see_nothing_is_predicted() -> None:
    assert predictions({"predict_state": [WRITES]}, ()) == {}
