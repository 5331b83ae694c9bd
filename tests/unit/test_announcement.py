"""What the log says at start: where the server is, and what its settings expose."""

import logging
from pathlib import Path
from typing import Any

import pytest

from tests.support.serving import settings
from turnstream.server.announcement import ANY_HOST, OPEN_TO_ALL, announce, is_loopback


def announced(
    caplog: pytest.LogCaptureFixture, level: int, *graphs: str, **values: Any
) -> list[str]:
    """What is said of these settings and graphs at this level."""
    with caplog.at_level(logging.INFO, logger="turnstream"):
        announce(settings(Path("t.db"), **values), 8000, graphs)
    return [record.getMessage() for record in caplog.records if record.levelno == level]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "::1", "localhost"])
def test_a_loopback_address_warns_of_nothing(host: str, caplog: pytest.LogCaptureFixture) -> None:
    assert is_loopback(host)
    assert announced(caplog, logging.WARNING, host=host) == []


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "server.example", ""])
def test_any_other_address_warns_that_the_threads_are_everyones(
    host: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert announced(caplog, logging.WARNING, host=host) == [OPEN_TO_ALL]


def test_a_variable_that_is_no_setting_is_named_with_the_one_that_may_be_meant(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TURNSTREAM_MAX_STEP", "TURNSTREAM_SERVICE_PORT_HTTP", "TURNSTREAM_TEST_ANY"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("TURNSTREAM_MAX_STEPS", "3")
    assert announced(caplog, logging.WARNING) == [
        "TURNSTREAM_MAX_STEP is no setting, and has no effect; is TURNSTREAM_MAX_STEPS meant?",
        "TURNSTREAM_SERVICE_PORT_HTTP is no setting, and has no effect",
    ]


def test_any_host_header_warns_of_dns_rebinding(caplog: pytest.LogCaptureFixture) -> None:
    said = announced(caplog, logging.WARNING, allowed_hosts="chat.example, *", auth="keys")
    assert said == [ANY_HOST]
    assert "DNS rebinding" in said[0]


def test_a_name_that_others_use_warns_too_since_a_proxy_may_be_in_front(
    caplog: pytest.LogCaptureFixture,
) -> None:
    said = announced(caplog, logging.WARNING, allowed_hosts="localhost, chat.example")
    assert said == [OPEN_TO_ALL]


def test_authentication_is_named_and_silences_the_warning(caplog: pytest.LogCaptureFixture) -> None:
    named = {"host": "0.0.0.0", "allowed_hosts": "chat.example", "auth": "keys"}
    assert announced(caplog, logging.WARNING, **named) == []
    caplog.clear()
    assert "authentication: keys" in announced(caplog, logging.INFO, **named)


def test_the_models_address_is_shown_without_its_secrets(caplog: pytest.LogCaptureFixture) -> None:
    url = "https://me:hunter2@model.example:8443/v1?key=hunter2#hunter2"
    said = announced(caplog, logging.INFO, model="m", openai_base_url=url)
    assert said[-1] == "model: m at https://model.example:8443/v1"
    assert "hunter2" not in "".join(said)


def test_a_graph_of_ones_own_is_named_and_may_have_its_own_model(
    caplog: pytest.LogCaptureFixture,
) -> None:
    said = announced(caplog, logging.INFO, graph="./agent.py:graph")
    assert "graph: ./agent.py:graph" in said
    assert said[-1].startswith("model, if the graph takes the server's: offline")


def test_several_graphs_are_named_with_their_default(caplog: pytest.LogCaptureFixture) -> None:
    said = announced(caplog, logging.INFO, "planner", "critic", graph="langgraph.json#planner")
    assert "graphs served: planner, critic; the default: planner" in said
