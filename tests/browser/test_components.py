"""What `render_ui_component` shows, as it streams and when it is whole."""

import asyncio
import csv
import json
import shutil
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, expect

from tests.browser.conftest import Visitors, both_looks
from tests.browser.site import Visit
from tests.support.endpoint import Args, Call, Pause, StrictEndpoint, call_reply, reply
from tests.support.serving import endpoint_settings, serving
from turnstream.server.app import STATIC
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.components import Components, read_components
from turnstream.tools.ui import render_tool

RENDER = "render_ui_component"
LINES = {
    "title": "Power",
    "x": ["2024-03-31T01:00", "2024-03-31T02:00", "2024-03-31T03:00"],
    "series": [{"name": "Plant A", "data": [1, None, 3]}, {"name": "Plant B", "data": [2, 4, 6]}],
}
BARS = {
    "title": "Fruit",
    "categories": ["apples", "pears"],
    "series": [{"name": "2024", "data": [3, -1]}, {"name": "2025", "data": [5, 2]}],
}
TABLE = {
    "title": "Sites",
    "columns": [{"key": "name", "label": "Name"}, {"key": "kw", "label": "kW"}, {"key": "code"}],
    "rows": [
        {"name": "North, =1+1", "kw": 1200.5, "code": 3105},
        {"name": "=HYPERLINK()", "kw": None, "code": 12007},
    ],
}
CARDS = {
    "cards": [
        {"label": "Yield", "value": 12345.6, "unit": "kWh", "delta": "+3 %", "tone": "success"},
        {"label": "Faults", "value": None},
    ]
}


async def show(visit: Visit, endpoint: StrictEndpoint, component: str, props: Any) -> Locator:
    endpoint.script(call_reply((RENDER, json.dumps({"component": component, "props": props}))))
    return (await visit.ask(f"Show {component}")).locator("figure")


@both_looks
async def test_a_line_chart_has_lines_a_key_a_summary_and_its_data(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    figure = await show(scripted_visit, endpoint, "line_chart", LINES)
    await expect(figure.locator("canvas")).to_be_visible()
    await expect(figure.get_by_role("heading")).to_have_text("Power")
    await expect(figure.locator(".chart-key li")).to_have_text(["Plant A", "Plant B"])
    await expect(figure.get_by_role("img")).to_have_accessible_name(
        "Line chart: Power. 3 points, 2 series. Plant A: 1 to 3, 1 without a value. "
        "Plant B: 2 to 6."
    )
    await figure.get_by_text("Data", exact=True).click()
    await expect(figure.get_by_role("row")).to_have_count(4)
    await expect(figure.get_by_role("row").nth(2)).to_have_text("2024-03-31T02:00\u20134")
    await expect(scripted_visit.cards).to_have_count(0)


async def test_a_bar_chart_has_a_bar_for_each_value(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    figure = await show(scripted_visit, endpoint, "bar_chart", BARS)
    await expect(figure.locator("svg rect")).to_have_count(4)
    await expect(figure.locator("svg rect").first).to_contain_text("apples, 2024: 3")
    await expect(figure.locator(".chart svg")).to_contain_text("pears")


async def test_a_table_shows_its_rows_and_hands_them_out_as_csv(
    scripted_visit: Visit, endpoint: StrictEndpoint, tmp_path: Path
) -> None:
    figure = await show(scripted_visit, endpoint, "table", TABLE)
    await expect(figure.get_by_role("columnheader")).to_have_text(["Name", "kW", "code"])
    await expect(figure.get_by_role("cell")).to_have_text(
        ["North, =1+1", "1,200.5", "3105", "=HYPERLINK()", "\u2013", "12007"]
    )
    async with scripted_visit.page.expect_download() as download:
        await figure.get_by_role("button", name="CSV").click()
    file = await download.value
    assert file.suggested_filename == "Sites.csv"
    await file.save_as(tmp_path / "sites.csv")
    with (tmp_path / "sites.csv").open(newline="") as text:
        rows = list(csv.reader(text))
    assert rows == [
        ["Name", "kW", "code"],
        ["North, =1+1", "1200.5", "3105"],
        ["'=HYPERLINK()", "", "12007"],
    ]


async def test_metric_cards_show_label_value_unit_and_change(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    figure = await show(scripted_visit, endpoint, "metric_cards", CARDS)
    await expect(figure.locator(".metric").first).to_contain_text("12,345.6")
    await expect(figure.locator(".metric").first).to_contain_text("+3 %")
    await expect(figure.locator(".metric").last).to_contain_text("\u2013")


async def test_a_report_is_markdown(scripted_visit: Visit, endpoint: StrictEndpoint) -> None:
    props = {"title": "Week", "markdown": "## Findings\n\n- **one**\n- two"}
    figure = await show(scripted_visit, endpoint, "report", props)
    await expect(figure.get_by_role("heading", name="Findings")).to_be_visible()
    await expect(figure.locator("li strong")).to_have_text("one")


async def test_an_alert_has_its_tone(scripted_visit: Visit, endpoint: StrictEndpoint) -> None:
    tones = {"info": "Information", "success": "Success", "warning": "Warning", "danger": "Danger"}
    calls = [
        {"component": "alert", "props": {"title": "Oven", "message": "It is on.", "tone": tone}}
        for tone in tones
    ]
    endpoint.script(call_reply(*((RENDER, json.dumps(call)) for call in calls)))
    reply_ = await scripted_visit.ask("Warn me")
    for word in tones.values():
        await expect(reply_.get_by_role("note", name=word)).to_contain_text("It is on.")


async def test_a_chart_draws_while_its_arguments_stream_and_does_not_change_its_height(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    first, second = Pause(asyncio.Event()), Pause(asyncio.Event())
    endpoint.script(
        reply(
            Call(0, "c1", RENDER, '{"component": "bar_chart", "props": {"title": "Fruit", "cat'),
            first,
            Args(0, 'egories": ["a", "b", "c"], "series": [{"name": "n", "data": [1, 2'),
            second,
            Args(0, ", 3]}]}}"),
        )
    )
    await scripted_visit.say("Draw")
    figure = scripted_visit.reply.locator("figure")
    await expect(figure.locator(".skeleton")).to_be_visible()
    await expect(figure.get_by_role("heading")).to_have_text("Fruit")
    first.event.set()
    await expect(figure.locator("svg rect")).to_have_count(2)
    growing = await figure.bounding_box()
    second.event.set()
    await scripted_visit.idle()
    await expect(figure.locator("svg rect")).to_have_count(3)
    assert await figure.bounding_box() == growing


async def test_an_unknown_or_wrong_component_falls_back_to_the_plain_card(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    calls = [
        {"component": "pie_chart", "props": {}},
        {"component": "constructor", "props": {}},
        {"component": "line_chart", "props": {"x": [1, 2], "series": [{"name": "a", "data": [1]}]}},
        {"component": "table", "props": {"columns": "name", "rows": []}},
    ]
    endpoint.script(call_reply(*((RENDER, json.dumps(call)) for call in calls)), reply())
    await scripted_visit.ask("Show them")
    await expect(scripted_visit.page.locator(".tool-card.error")).to_have_count(4)
    await expect(scripted_visit.page.locator("figure")).to_have_count(0)


async def test_components_are_there_after_a_reload(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    await show(scripted_visit, endpoint, "line_chart", LINES)
    await scripted_visit.page.reload()
    await expect(scripted_visit.page.locator("figure canvas")).to_be_visible()


GAUGE = {
    "schema.json": '{"type": "object", "properties": {"value": {"type": "number"}}, '
    '"required": ["value"], "additionalProperties": false}',
    "draw.js": """import { html } from "../../vendor/lit-html/lit-html.js";

export const draw = ({ value }) => html`<meter min="0" max="100" value=${value}></meter>`;
""",
}
RECIPE = {
    "export const OURS = {": "  gauge: { schema: gaugeSchema, ...gauge },",
    'import * as alert from "./alert/draw.js";': 'import * as gauge from "./gauge/draw.js";\n'
    'import gaugeSchema from "./gauge/schema.json" with { type: "json" };',
}
"""Lines for `components/index.js`, each behind another."""


def page_with_gauge(folder: Path) -> Path:
    """The page with a component of one's own."""
    shutil.copytree(STATIC, folder)
    components = folder / "components"
    (components / "gauge").mkdir()
    for name, text in GAUGE.items():
        (components / "gauge" / name).write_text(text)
    index = (components / "index.js").read_text()
    for before, line in RECIPE.items():
        assert before in index
        index = index.replace(before, f"{before}\n{line}", 1)
    (components / "index.js").write_text(index)
    return folder


async def test_a_component_of_ones_own_is_drawn_copied_and_exported(
    endpoint: StrictEndpoint,
    visitors: Visitors,
    tmp_path: Path,
) -> None:
    page = page_with_gauge(tmp_path / "static")
    render = render_tool(Components(read_components(page / "components")))
    own = endpoint_settings(tmp_path / "t.db", endpoint)
    async with serving(own, Catalogue((), (render,)), page=page) as client:
        visit = await (await visitors(client.url)).open()
        await visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        figure = await show(visit, endpoint, "gauge", {"title": "Load", "value": 70})
        await expect(figure.locator("meter")).to_have_attribute("value", "70")
        await visit.reply.get_by_role("button", name="Copy message").click()
        await expect(visit.reply.locator("[data-copy=copied]")).to_be_visible()
        copied = await visit.page.evaluate("() => navigator.clipboard.readText()")
        assert copied == "**Load**\n\n- value: 70"
        await visit.button("Export thread").click()
        async with visit.page.expect_download() as download:
            await visit.button("Markdown").click()
        file = await download.value
        await file.save_as(tmp_path / "thread.md")
        assert copied in (tmp_path / "thread.md").read_text()
