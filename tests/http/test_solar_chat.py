"""The demo's questions through POST /chat, on the offline model and on a scripted one: their parts,
and their numbers beside what the tools say themselves."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.endpoint import Body, Reply, StrictEndpoint, call_reply, text_reply
from tests.support.run_chunks import COMPONENT, SELECTION
from tests.support.serving import Client, endpoint_settings, serving, settings
from turnstream.graphs.no_data import QUESTION
from turnstream.tools.components import OUR_COMPONENTS

TODAY: tuple[str, dict[str, Any]] = ("list_loggers", {})
"""Asked first where the question hangs on which day it is."""

Facts = Callable[[dict[str, Any]], Sequence[Any]]
"""What the answer in words must name, of the tool's result."""


@dataclass(frozen=True)
class Demo:
    question: str
    tool: str
    component: str
    title: str
    args: Mapping[str, Any] = field(default_factory=dict)
    told: Facts = lambda _: ()
    asks_today: bool = False


def sums(found: dict[str, Any]) -> list[Any]:
    return [thousands(found["totals"]["energy_kwh"]), found["totals"]["performance_ratio"]]


def thousands(number: float) -> str:
    return f"{number:,}"


DEMOS = [
    Demo(
        "How is the fleet doing?",
        "get_fleet_overview",
        "bar_chart",
        "Specific yield, 2024-12-25 to 2024-12-31",
        told=lambda found: [
            *sums(found),
            *(item[key] for item in found["attention"] for key in ("logger", "problems")),
        ],
    ),
    Demo(
        "Show the power curve of inverter 3 last Tuesday",
        "get_power_curve",
        "line_chart",
        "Power of Inverter 3, 2024-12-24",
        {"logger": "inverter 3", "start": "2024-12-24"},
        lambda found: [found["figures"]["energy_kwh"], found["figures"]["peak_kw"]],
        asks_today=True,
    ),
    Demo(
        "Compare site A and B",
        "compare_loggers",
        "bar_chart",
        "Comparison, 2024-12-02 to 2024-12-31",
        {"targets": ["site A", "site B"]},
        lambda found: [found["best"], found["worst"], found["spread_percent"]],
    ),
    Demo(
        "Compare Greensboro Depot and Miami Warehouse in July",
        "compare_loggers",
        "bar_chart",
        "Comparison, 2024-07-01 to 2024-07-31",
        {
            "targets": ["Greensboro Depot", "Miami Warehouse"],
            "start": "2024-07-01",
            "end": "2024-07-31",
        },
        lambda found: [found["best"], found["worst"]],
        asks_today=True,
    ),
    Demo(
        "What did we save this year?",
        "calculate_financial_savings",
        "bar_chart",
        "Savings, 2024-01-01 to 2024-12-31",
        told=lambda found: [thousands(found["savings"]), thousands(found["co2_avoided_kg"]), "USD"],
    ),
    Demo(
        "What does error 3105 mean?",
        "diagnose_error_codes",
        "table",
        "Errors, 2024-01-01 to 2024-12-31",
        {"codes": [3105]},
        lambda found: [found["codes"][0][key] for key in ("meaning", "action", "occurrences")],
    ),
    Demo(
        "Is inverter 4 healthy?",
        "analyze_inverter_health",
        "line_chart",
        "Health of Inverter 4, 2024-12-02 to 2024-12-31",
        {"logger": "inverter 4"},
        lambda found: [f"Inverter 4 is {found['condition']}"],
    ),
    Demo(
        "How is inverter 12 doing?",
        "analyze_inverter_health",
        "line_chart",
        "Health of Inverter 12, 2024-12-02 to 2024-12-31",
        {"logger": "inverter 12"},
        lambda found: ["needs attention", found["findings"][0]["detail"].rstrip(".")],
    ),
    Demo(
        "What is the performance ratio of site B?",
        "calculate_performance_ratio",
        "line_chart",
        "Performance ratio of Site B (Miami Warehouse), 2024-12-02 to 2024-12-31",
        {"target": "site B"},
        lambda found: [found["performance_ratio"], found["corrected_performance_ratio"]],
    ),
    Demo(
        "How much will we produce tomorrow?",
        "forecast_production",
        "line_chart",
        "Production and forecast",
        {"days": 1},
        lambda found: [
            *(found["forecast"][0][key] for key in ("day", "forecast_kwh", "low_kwh")),
            found["uncertainty"]["skill_against_persistence"],
        ],
    ),
    Demo(
        "List the inverters",
        "list_loggers",
        "table",
        "Inverters",
        told=lambda found: [found["count"], found["now"][:10]],
    ),
]


@dataclass(frozen=True)
class Part:
    """A part of a message without its ids: text, or a call with its end."""

    kind: str
    args: Any = None
    end: str | None = None


def parts_of(thread: dict[str, Any]) -> list[Part]:
    return [
        Part(part["text"])
        if part["type"] == "text"
        else Part(part["toolName"], part["args"], part["state"])
        for part in thread["messages"][-1]["parts"]
    ]


def results_of(thread: dict[str, Any]) -> list[Any]:
    parts = thread["messages"][-1]["parts"]
    return [part.get("result") for part in parts if part["type"] == "tool-call"]


async def tool_says(client: Client, tool: str, args: Mapping[str, Any]) -> dict[str, Any]:
    answer = await client.http.post(f"/tools/{tool}", json=dict(args))
    found: dict[str, Any] = answer.json()["result"]
    assert found["status"] == "ok"
    return found


def filled(component: str, title: str, data_from: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """The component as the browser gets it, out of the tool's own result."""
    takes = OUR_COMPONENTS.by_name[component].props
    names = [*takes.labels, *takes.points]
    props = {"title": title} | {name: found[name] for name in names if name in found}
    return {"component": component, "props": props, "data_from": data_from}


# the offline model


@pytest.mark.parametrize("demo", DEMOS, ids=lambda demo: demo.question)
async def test_the_offline_model_answers_with_words_and_a_chart(demo: Demo, tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        thread_id, events = await client.turn({"message": demo.question})
        assert events[-2].data["finishReason"] == "stop"
        thread = await client.thread(thread_id)
        found = await tool_says(client, demo.tool, demo.args)
        parts = parts_of(thread)
        calls = [part for part in parts if part.end]
        chart = {"component": demo.component, "props": {"title": demo.title}}
        assert calls == [
            *([Part(*TODAY, "result")] if demo.asks_today else []),
            Part(demo.tool, demo.args, "result"),
            Part(COMPONENT, {**chart, "data_from": calls[-1].args["data_from"]}, "shown"),
        ]
        assert [bool(part.end) for part in parts] == [False, True] * len(calls), "words lead each"
        *_, result, shown = results_of(thread)
        assert result == found
        assert shown == filled(demo.component, demo.title, shown["data_from"], found)
        said = parts[-2].kind
        assert [fact for fact in map(str, demo.told(found)) if fact not in said] == []
        assert "say:" not in said
        assert "None" not in said


MISS = "Show the power curve of inverter 3 on 2026-03-01"


async def test_the_offline_model_goes_through_recovery_to_the_chart(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        thread_id, events = await client.turn({"message": MISS})
        assert events[-2].data["finishReason"] == "tool-calls"
        thread = await client.thread(thread_id)
        [first, second, question] = [part for part in parts_of(thread) if part.end]
        args = {"logger": "inverter 3", "start": "2026-03-01"}
        week = {"logger": "inverter 3", "start": "2026-02-22", "end": "2026-03-08"}
        assert (first, second) == (
            Part("get_power_curve", args, "result"),
            Part("get_power_curve", week, "result"),
        )
        assert (question.kind, question.end) == (SELECTION, "pending")
        assert question.args == {
            "kind": "single",
            "prompt": QUESTION,
            "options": [
                {"value": "2024-01-01/2024-12-31", "label": "2024-01-01 to 2024-12-31"},
            ],
        }
        [pending] = thread["pending"]
        answer = {"tool_call_id": pending["tool_call_id"], "result": "2024-01-01/2024-12-31"}
        _, events = await client.turn({"thread_id": thread_id, "tool_results": [answer]})
        assert events[-2].data["finishReason"] == "stop"
        thread = await client.thread(thread_id)
        year = {"logger": "inverter 3", "start": "2024-01-01", "end": "2024-12-31"}
        assert [part for part in parts_of(thread) if part.end][3] == Part(
            "get_power_curve", year, "result"
        )
        found = await tool_says(client, "get_power_curve", year)
        shown = results_of(thread)[-1]
        title = "Power of Inverter 3, 2024-01-01 to 2024-12-31"
        assert shown == filled("line_chart", title, shown["data_from"], found)
        assert "You chose 2024-01-01 to 2024-12-31." in str(parts_of(thread))


async def test_the_offline_model_finds_data_around_a_gap(tmp_path: Path) -> None:
    """Its second try looks a week around: no question is needed."""
    logger, day = silent_day()
    async with serving(settings(tmp_path / "t.db")) as client:
        question = f"Show the power curve of inverter {logger} on {day}"
        thread_id, events = await client.turn({"message": question})
        assert events[-2].data["finishReason"] == "stop"
        thread = await client.thread(thread_id)
        calls = [part for part in parts_of(thread) if part.end]
        assert [part.kind for part in calls] == ["get_power_curve", "get_power_curve", COMPONENT]
        assert [result["status"] for result in results_of(thread)[:2]] == [
            "no_data_in_window",
            "ok",
        ]


def silent_day() -> tuple[int, date]:
    """An inverter and a whole day from which nothing was received."""
    truth = json.loads((Path(__file__).parent.parent / "data" / "solar-faults.json").read_text())
    gaps = [fault for fault in truth["faults"] if fault["kind"] == "communication_gap"]
    longest = max(gaps, key=lambda gap: int(gap["effect"]))
    start = datetime.fromisoformat(longest["start"]).date()
    return longest["logger_id"], start + timedelta(days=2)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Show the power curve of inverter 13", "Inverter 13 has never sent a reading."),
        ("Show the power curve of inverter 99", "logger: there is no 'inverter 99'."),
        ("What does error 9999 mean?", "codes: there is no code 9999."),
        ("Show the power curve of inverter 3 on 2024-02-30", "there is no day '2024-02-30'"),
    ],
)
async def test_what_cannot_be_answered_is_told_without_a_chart(
    question: str, said: str, tmp_path: Path
) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        thread_id, events = await client.turn({"message": question})
        assert events[-2].data["finishReason"] == "stop"
        parts = parts_of(await client.thread(thread_id))
        assert said in parts[-1].kind
        assert [part.kind for part in parts if part.end and part.kind == COMPONENT] == []


# a scripted model, as strict as OpenAI with what it is sent


def drawing(component: str, title: str) -> Callable[[Body], Reply]:
    """A model that draws what it was offered, under the id that it was offered with."""

    def draw(body: Body) -> Reply:
        offer = json.loads(body["messages"][-1]["content"])
        assert component in offer["draws"]
        args = {
            "component": component,
            "props": {"title": title},
            "data_from": offer["data_from"],
        }
        return call_reply((COMPONENT, json.dumps(args)))

    return draw


@pytest.mark.parametrize("demo", DEMOS, ids=lambda demo: demo.question)
async def test_any_model_gets_the_same_chart_by_the_offer(demo: Demo, tmp_path: Path) -> None:
    async with (
        StrictEndpoint() as endpoint,
        serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client,
    ):
        endpoint.script(
            call_reply((demo.tool, json.dumps(demo.args))), drawing(demo.component, demo.title)
        )
        thread_id, events = await client.turn({"message": demo.question})
        assert events[-2].data["finishReason"] == "stop"
        thread = await client.thread(thread_id)
        found = await tool_says(client, demo.tool, demo.args)
        [asked, shown] = parts_of(thread)
        assert asked == Part(demo.tool, demo.args, "result")
        result, chart = results_of(thread)
        assert result == found
        assert chart == filled(demo.component, demo.title, shown.args["data_from"], found)
        streamed = [event.data["result"] for event in events if event.type == "result"]
        assert streamed == [result, chart]
        sizes = [len(json.dumps(body)) for body in endpoint.requests]
        assert sizes[-1] - sizes[0] < 20_000, "no series went to the model"
        endpoint.script(text_reply("You are welcome."))
        await client.turn({"thread_id": thread_id, "message": "Thanks"})
        assert endpoint.refused == []


async def test_any_model_is_led_through_recovery(tmp_path: Path) -> None:
    async with (
        StrictEndpoint() as endpoint,
        serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client,
    ):
        stubborn = json.dumps({"logger": 3, "start": "2026-03-01"})
        endpoint.script(*[call_reply(("get_power_curve", stubborn))] * 2)
        thread_id, events = await client.turn({"message": MISS})
        assert events[-2].data["finishReason"] == "tool-calls"
        hint = json.loads(endpoint.requests[1]["messages"][-1]["content"])["recovery"]
        assert hint["available"] == [{"start": "2024-01-01", "end": "2024-12-31"}]

        def obey(body: Body) -> Reply:
            start, end = json.loads(body["messages"][-1]["content"])["value"].split("/")
            return call_reply(
                ("get_power_curve", json.dumps({"logger": 3, "start": start, "end": end}))
            )

        endpoint.script(obey, drawing("line_chart", "Power"))
        [pending] = (await client.thread(thread_id))["pending"]
        answer = {"tool_call_id": pending["tool_call_id"], "result": "2024-01-01/2024-12-31"}
        _, events = await client.turn({"thread_id": thread_id, "tool_results": [answer]})
        shown = results_of(await client.thread(thread_id))[-1]
        assert len(shown["props"]["x"]) == 366
        assert events[-2].data["finishReason"] == "stop"
        assert endpoint.refused == []
