"""What `render_ui_component` shows, as it streams and when it is whole."""

import asyncio
import csv
import json
import re
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, expect

from tests.browser.conftest import both_looks
from tests.browser.site import Visit
from tests.support.endpoint import Args, Call, Pause, StrictEndpoint, call_reply, reply

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


async def test_a_thread_that_could_not_be_loaded_has_its_components_when_the_server_is_back(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    await show(scripted_visit, endpoint, "bar_chart", BARS)
    scripted_visit.worn = True
    away = re.compile(r"/threads/|/components-")
    await scripted_visit.page.route(away, lambda route: route.abort())
    await scripted_visit.open(await scripted_visit.thread_id())
    await expect(scripted_visit.alert).to_contain_text("cannot be reached")
    await scripted_visit.page.unroute(away)
    await scripted_visit.retry.click()
    await expect(scripted_visit.reply.locator("figure svg rect")).to_have_count(4)


async def test_lying_bars_pies_and_points_are_drawn_with_their_data(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    figure = await show(scripted_visit, endpoint, "bar_chart", {**BARS, "horizontal": True})
    await expect(figure.locator("svg rect")).to_have_count(4)
    widths = [
        int(await bar.evaluate("bar => bar.getBBox().width"))
        for bar in await figure.locator("svg rect").all()
    ]
    assert widths[0] < widths[2]
    shares = {"categories": ["Grid", "House"], "series": [{"name": "kWh", "data": [1, 3]}]}
    figure = await show(scripted_visit, endpoint, "pie_chart", shares)
    await expect(figure.locator(".chart-key li")).to_have_text(["Grid: 1 (25%)", "House: 3 (75%)"])
    await expect(figure.locator(".chart path")).to_have_count(2)
    points = {"x": [5, 1, 3], "series": [{"name": "kW", "data": [1, None, 2]}]}
    figure = await show(scripted_visit, endpoint, "scatter_chart", points)
    await expect(figure.locator("circle")).to_have_count(2)
    await expect(figure.get_by_role("img")).to_have_accessible_name(
        "Scatter chart. 3 points, 1 series. kW: 1 to 2, 1 without a value."
    )
    many = [{"name": f"S{n}", "data": [*range(500)]} for n in range(8)]
    figure = await show(
        scripted_visit, endpoint, "scatter_chart", {"x": [*range(500)], "series": many}
    )
    await expect(figure.locator(".chart path")).to_have_count(8)
    await expect(figure.locator("circle")).to_have_count(0)


async def test_a_long_table_is_sorted_filtered_and_paged(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    rows = [{"name": f"Site {n}", "kw": n % 7} for n in range(120)]
    columns = [{"key": "name", "label": "Name"}, {"key": "kw", "label": "kW"}]
    figure = await show(scripted_visit, endpoint, "table", {"columns": columns, "rows": rows})
    first, pages = figure.locator("tbody tr").first, figure.locator(".table-pages")
    await expect(figure.locator("tbody tr")).to_have_count(50)
    await expect(pages).to_contain_text("1\u201350")
    await figure.get_by_role("button", name="Next rows").click()
    await expect(first).to_contain_text("Site 50")
    await figure.get_by_role("button", name="kW").click()
    await expect(first).to_contain_text("Site 0")
    await expect(figure.get_by_role("columnheader", name="kW")).to_have_attribute(
        "aria-sort", "ascending"
    )
    await figure.get_by_role("button", name="kW").click()
    await expect(first).to_contain_text("Site 6")
    await figure.get_by_role("searchbox", name="Filter rows").fill("site 11")
    await expect(figure.get_by_role("status")).to_have_text("11 of 120 rows")
    await expect(first).to_contain_text("Site 111")
    await expect(pages).to_have_count(0)
    box = await figure.locator(".scroller").bounding_box()
    assert box
    assert box["height"] <= 440


async def test_what_is_set_in_a_table_stays_with_this_table(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    columns = [{"key": "name"}]
    long = {"columns": columns, "rows": [{"name": f"Site {n}"} for n in range(120)]}
    short = {"columns": columns, "rows": [{"name": f"Plant {n}"} for n in range(12)]}
    figure = await show(scripted_visit, endpoint, "table", short)
    endpoint.script(call_reply((RENDER, json.dumps({"component": "table", "props": long}))))
    await scripted_visit.button("Regenerate reply").click()
    await scripted_visit.idle()
    await figure.get_by_role("button", name="Next rows").click()
    await figure.get_by_role("searchbox", name="Filter rows").fill("site 1")
    await scripted_visit.reply.get_by_role("button", name="Previous version").click()
    await expect(figure.locator("tbody tr")).to_have_count(12)
    await expect(figure.get_by_role("searchbox", name="Filter rows")).to_have_value("")


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
