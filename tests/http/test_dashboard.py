"""The dashboard, the alert rules and docs/operate.md name the metrics that the server has."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml  # type: ignore[import-untyped]
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from tests.support.endpoint import (
    Pause,
    Reply,
    Say,
    StrictEndpoint,
    call_reply,
    failures,
    text_reply,
)
from tests.support.promql import Expression
from tests.support.serving import PROJECT, endpoint_settings, serving
from turnstream.server.turns.problem_codes import ALL

DASHBOARD = json.loads((PROJECT / "docs/deploy/grafana.json").read_text(encoding="utf-8"))
ALERTS = yaml.safe_load((PROJECT / "docs/deploy/alerts.yaml").read_text(encoding="utf-8"))
OF_PROMETHEUS = {"job", "instance"}
"""Labels that Prometheus itself adds."""


def rules() -> list[dict[str, str]]:
    return [rule for group in ALERTS["groups"] for rule in group["rules"]]


def expressions() -> Iterator[Expression]:
    for panel in DASHBOARD["panels"]:
        yield from (Expression(target["expr"]) for target in panel.get("targets", ()))
    yield from (Expression(rule["expr"]) for rule in rules())


@pytest.fixture
async def families(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> list[Metric]:
    """The metrics of a server on which a run has ended, one has failed, and one was refused."""
    caplog.set_level("INFO")
    async with StrictEndpoint() as endpoint:
        endpoint.script(
            call_reply(("calculator", '{"expression": "6 * 7"}')),
            text_reply("It is 42."),
            failures.UNAUTHORIZED,
            Reply((Say("Wait. "), Pause(asyncio.Event()))),
        )
        settings = endpoint_settings(tmp_path / "t.db", endpoint, metrics_port=0, max_live_runs=1)
        async with serving(settings) as client, httpx.AsyncClient() as http:
            await client.turn({"message": "Six times seven?"})
            await client.turn({"message": "Six times seven?"})
            async with client.chat({"thread_id": "t1", "message": "Hello"}) as stream:
                await stream.until("text-delta")
                await client.http.post("/chat", json={"message": "Hello"})
                place = re.findall(r"GET /metrics on (\S+)", caplog.text)[-1]
                text = (await http.get(f"http://{place}/metrics")).text
                await client.http.post("/chat/t1/stop")
    return [*text_string_to_metric_families(text)]


def test_every_metric_that_is_named_exists_with_its_labels(families: list[Metric]) -> None:
    labels = {sample.name: {*sample.labels} for family in families for sample in family.samples}
    for expression in expressions():
        for metric, named in expression.labels.items():
            if metric != "up":
                assert named <= labels[metric] | OF_PROMETHEUS, expression.text


def test_the_page_names_every_metric_of_the_server_and_no_other(families: list[Metric]) -> None:
    page = (PROJECT / "docs/operate.md").read_text(encoding="utf-8")
    table = page.partition("| name | labels | |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = {name.removesuffix("_total") for cell in cells for name in re.findall("`(.+?)`", cell)}
    ours = {family.name for family in families if family.name.startswith("turnstream_")}
    assert {f"turnstream_{name}" for name in named} == ours


def test_the_codes_that_rules_look_for_exist() -> None:
    codes = {row.code for row in ALL}
    looked_for = {
        code
        for expression in expressions()
        for label, value in expression.values
        if label == "code"
        for code in value.split("|")
    }
    assert looked_for
    assert looked_for <= codes


def test_the_count_of_each_503_begins_at_zero_so_that_a_rule_sees_the_first(
    families: list[Metric],
) -> None:
    counts = {
        sample.labels["code"]: sample.value
        for family in families
        for sample in family.samples
        if sample.name == "turnstream_problems_total"
    }
    assert counts["storage_busy"] == counts["streams_unavailable"] == 0


def test_every_rule_says_what_is_wrong_and_what_to_do() -> None:
    for rule in rules():
        assert rule.keys() == {"alert", "expr", "for", "labels", "annotations"}
        assert {*rule["annotations"]} == {"summary", "cure"}
    assert len({rule["alert"] for rule in rules()}) == len(rules())


def test_every_panel_has_a_place_of_its_own() -> None:
    panels = DASHBOARD["panels"]
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len({*places}) == len({panel["id"] for panel in panels}) == len(panels)


@pytest.mark.parametrize(
    "text",
    ["sum(rate(a[5m])", "rate(a[5])", "a{b}", "sum by le (a)", "a > ", "nothing(a)", 'a{b="c}'],
)
def test_an_expression_that_prometheus_would_refuse_is_found(text: str) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        Expression(text)
