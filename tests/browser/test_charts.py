"""Charts and figures: what is drawn where that is hard; how numbers and dates are written."""

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest
from playwright.async_api import Locator, Route, expect

from tests.browser.conftest import both_looks, own_profile
from tests.browser.site import Visit
from tests.support.endpoint import StrictEndpoint, call_reply, text_reply
from tests.support.samples import repeat
from tests.support.waiting import eventually, until

EQUAL = {
    "title": "Power",
    "x": [1, 2, 3, 4],
    "series": [
        {"name": "North", "data": [1, 4, 2, 3]},
        {"name": "South", "data": [1, 4, 2, 3]},
        {"name": "West", "data": [1, 4, 2, 5]},
    ],
}
CARDS = {
    "cards": [
        {"label": "Error code", "value": 3105},
        {"label": "Number of codes", "value": 3105},
        {"label": "Last seen", "value": "2024-03-31T01:00"},
        {"label": "First day of the data", "value": "2024-03-31"},
        {"label": "Energy this year", "value": 31050, "unit": "kWh"},
        {"label": "Saved per year", "value": 2050},
    ]
}
DAYS = [f"2024-03-{day:02}" for day in range(1, 32)]
DAYS_AS_BARS = {"title": "Days", "categories": DAYS, "series": [{"name": "kWh", "data": [1] * 31}]}
DATES = {
    "columns": [{"key": key} for key in ("from", "to", "inverter", "what", "remark")],
    "rows": [
        {
            "from": "2024-03-31T01:00",
            "to": "2024-04-01",
            "inverter": "North field, row 3",
            "what": "The temperature sensor reported nonsense",
            "remark": "It was replaced a few days later by the technician on duty",
        }
    ],
}


async def show(visit: Visit, endpoint: StrictEndpoint, **calls: Any) -> Locator:
    args = [json.dumps({"component": name, "props": props}) for name, props in calls.items()]
    endpoint.script(call_reply(*(("render_ui_component", text) for text in args)))
    return (await visit.ask("Show it")).locator("figure")


async def lines_of(texts: Locator) -> list[int]:
    """How many lines each element's text takes."""
    return list(
        await texts.evaluate_all(
            """(elements) => elements.map((element) => {
              const range = document.createRange();
              range.selectNodeContents(element);
              return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
            })"""
        )
    )


@both_looks
async def test_a_chart_whose_library_did_not_load_says_so_and_loads_again(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    page = scripted_visit.page
    await page.route("**/uPlot.esm-*.js*", lambda route: route.abort())
    figure = await show(scripted_visit, endpoint, line_chart=EQUAL)
    await expect(figure.get_by_role("status")).to_contain_text("could not be loaded")
    await expect(figure.get_by_role("table")).to_be_visible()
    await page.unroute("**/uPlot.esm-*.js*")
    await figure.get_by_role("button", name="Retry").click()
    await expect(figure.locator("canvas")).to_be_visible()
    await expect(figure.get_by_role("status")).to_have_count(0)


async def test_a_chart_loads_again_by_itself_when_the_network_is_back(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    page = scripted_visit.page
    await page.route("**/uPlot.esm-*.js*", lambda route: route.abort())
    figure = await show(scripted_visit, endpoint, line_chart=EQUAL)
    await expect(figure.get_by_role("status")).to_be_visible()
    await page.unroute("**/uPlot.esm-*.js*")
    await page.evaluate("() => { dispatchEvent(new Event('online')) }")
    await expect(figure.locator("canvas")).to_be_visible()


@pytest.mark.full
@own_profile
async def test_a_chart_that_fails_to_load_again_and_again_is_drawn_at_the_third_further_try(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    page, tries, is_drawn_again = scripted_visit.page, list[str](), asyncio.Event()

    async def refuse(route: Route) -> None:
        tries.append(route.request.url)
        await is_drawn_again.wait()
        await route.abort()

    await page.route("**/uPlot.esm-*.js*", refuse)
    await page.clock.install()
    await scripted_visit.open()
    figure = await show(scripted_visit, endpoint, line_chart=EQUAL)
    await until(lambda: tries)
    for _ in range(3):  # each draws the chart anew, while its library is on its way
        await scripted_visit.page.get_by_role("button", name="Colours").click()
    is_drawn_again.set()
    await expect(figure.get_by_role("status")).to_be_visible()

    async def has_tried_twice_more() -> bool:
        await page.clock.run_for(10_000)
        return len(tries) == 3

    async def is_drawn() -> bool:
        await page.clock.run_for(30_000)
        return await figure.locator("canvas").is_visible()

    await eventually(has_tried_twice_more)
    await page.unroute("**/uPlot.esm-*.js*")
    await eventually(is_drawn)


COLOURS = """(canvas, names) => {
  const colours = names.map((name) => {
    const probe = document.createElement("span");
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    const [r, g, b] = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
    probe.remove();
    return [r, g, b];
  });
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return colours.map(([r, g, b]) => {
    let count = 0;
    for (let i = 0; i < data.length; i += 4)
      if ([r, g, b].every((part, at) => Math.abs(data[i + at] - part) < 5)) count += 1;
    return count;
  });
}"""


@both_looks
async def test_equal_series_are_all_seen(scripted_visit: Visit, endpoint: StrictEndpoint) -> None:
    figure = await show(scripted_visit, endpoint, line_chart=EQUAL)
    canvas = figure.locator("canvas")
    await expect(canvas).to_be_visible()
    seen = await canvas.evaluate(COLOURS, ["--s1", "--s2", "--s3"])
    assert min(seen) > 200, seen
    assert seen[0] > 400, seen  # not its points alone, but the line between the others' dashes
    await expect(figure.locator(".chart-key li")).to_have_text(
        ["North", "South (equal to North)", "West"]
    )


async def test_equal_points_without_lines_are_all_seen(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    first, second = [None, 4, 2, 5, None], [None, None, 2, None, None]
    series = [{"name": "North", "data": second}, {"name": "South", "data": first}]
    chart = {"title": "Power", "x": [1, 2, 3, 4, 5], "series": series}
    figure = await show(scripted_visit, endpoint, line_chart=chart)
    canvas = figure.locator("canvas")
    await expect(canvas).to_be_visible()
    seen = await canvas.evaluate(COLOURS, ["--s1", "--s2"])
    assert min(seen) > 20, seen


TITLE = " ".join(f"2024-03-0{day}" for day in range(1, 7))
"""As long as a title may be."""
TEXTS = """(labels) => labels.map((label) =>
  [...label.childNodes].map(({ nodeType, data }) => nodeType === 3 ? data : "").join("").trim())"""


@both_looks
async def test_dates_are_not_broken(scripted_visit: Visit, endpoint: StrictEndpoint) -> None:
    figures = await show(
        scripted_visit, endpoint, table=DATES, metric_cards=CARDS, bar_chart=DAYS_AS_BARS
    )
    assert await lines_of(figures.nth(0).locator("td:nth-child(-n + 2)")) == [1, 1]
    values = figures.nth(1).locator(".metric-value")
    await expect(values.nth(0)).to_have_text("3105")
    await expect(values.nth(1)).to_have_text("3,105")
    dates = figures.nth(1).locator(".iso")
    await expect(dates).to_have_text(["2024-03-31", "01:00", "2024-03-31"])
    assert await lines_of(dates) == [1, 1, 1]
    labels = figures.nth(2).locator("svg .tick[text-anchor=middle]")
    texts = await labels.evaluate_all(TEXTS)
    assert texts[0] == "1 Mar"
    assert all(text.endswith(" Mar") for text in texts)
    boxes = [await label.bounding_box() for label in await labels.all()]
    ends = [(box["x"], box["x"] + box["width"]) for box in boxes if box]
    chart = await figures.nth(2).locator("svg").first.bounding_box()
    assert chart
    assert ends[-1][1] <= chart["x"] + chart["width"] + 0.5
    assert all(left[1] <= right[0] for left, right in pairwise(ends))


@pytest.mark.parametrize("width", [320, repeat(340), repeat(360)])
async def test_alerts_questions_and_table_texts_break_no_date(
    scripted_visit: Visit, endpoint: StrictEndpoint, width: int
) -> None:
    words = "On 2024-03-31 and 2024-04-02 and again on 2024-04-03."
    question = {
        "kind": "multiple",
        "prompt": words,
        "options": [{"value": str(n), "label": words, "description": words} for n in range(2)],
    }
    table = {"columns": [{"key": "remark", "label": TITLE}], "rows": [{"remark": words * 3}]}
    shown: dict[str, Any] = {"alert": {"title": TITLE, "message": words}, "table": table}
    parts = [{"component": name, "props": props} for name, props in shown.items()]
    calls = [("render_ui_component", json.dumps(part)) for part in parts]
    endpoint.script(call_reply(*calls, ("request_user_selection", json.dumps(question))))
    await scripted_visit.page.set_viewport_size({"width": width, "height": 800})
    reply = await scripted_visit.ask("Show it")
    counts = {
        ".notice h2": 6,
        ".notice p": 3,
        "th": 6,
        "td": 9,
        ".question-prompt": 3,
        ".option-label": 6,
        ".option-about": 6,
    }
    for place, count in counts.items():
        dates = reply.locator(f"{place} .iso")
        await expect(dates).to_have_count(count)
        assert set(await lines_of(dates)) == {1}, place


async def test_a_report_breaks_no_date(scripted_visit: Visit, endpoint: StrictEndpoint) -> None:
    words = "From 2024-03-31T01:00 to 2024-04-01 and 2024-04-02 and in 2024-05 again. " * 9
    head = "| from | to | inverter | what | remark | seen |\n|---|---|---|---|---|---|\n"
    row = (
        "| 2024-03-31T01:00 | 2024-04-01T12:30 | North field | Temperature sensor | replaced | x |"
    )
    endpoint.script(text_reply("Yes."))
    await scripted_visit.ask(words)
    figures = await show(
        scripted_visit, endpoint, report={"title": TITLE, "markdown": f"{words}\n\n{head}{row}"}
    )
    await scripted_visit.page.set_viewport_size({"width": 360, "height": 800})
    assert await lines_of(figures.locator("td:nth-child(-n + 2)")) == [1, 1]
    dates = figures.locator("p .iso")
    said = scripted_visit.said.first.locator(".iso")
    title = figures.locator(".component-title .iso")
    for shown, count in ((dates, 36), (title, 6), (said, 36)):
        await expect(shown).to_have_count(count)
        assert set(await lines_of(shown)) == {1}


GAPS = {
    "title": "Yield",
    "categories": ["Mon", "Tue", "Wed"],
    "series": [{"name": "kWh", "data": [3, None, 0]}],
}


@both_looks
async def test_a_missing_bar_is_no_0(scripted_visit: Visit, endpoint: StrictEndpoint) -> None:
    figure = await show(scripted_visit, endpoint, bar_chart=GAPS)
    bars = figure.locator("svg rect")
    await expect(bars.nth(1)).to_contain_text("Tue, kWh: no value")
    await expect(bars.nth(2)).to_contain_text("Wed, kWh: 0")
    heights = [box["height"] for bar in await bars.all() if (box := await bar.bounding_box())]
    assert heights[1] > heights[0] > heights[2]
    fill, stroke = await bars.nth(1).evaluate(
        "(bar) => { const { fill, strokeDasharray } = getComputedStyle(bar);"
        " return [fill, strokeDasharray]; }"
    )
    assert fill != await bars.nth(0).evaluate("(bar) => getComputedStyle(bar).fill")
    assert stroke != "none"
    await expect(figure.locator(".chart-key li")).to_have_text(["kWh", "No value"])
    await expect(figure.get_by_role("img")).to_have_accessible_name(
        "Bar chart: Yield. 3 bars, 1 series. kWh: 0 to 3, 1 without a value."
    )
    await figure.get_by_text("Data", exact=True).click()
    await expect(figure.get_by_role("cell").nth(3)).to_have_attribute("title", "No value")
    await expect(figure.get_by_role("cell").nth(3)).to_have_text("\u2013")


NUMBERS = {
    "small": [123_456, 0.123456, 31_050.25, -123_456.7, 1_234_567, 9],
    "large": [12_345_678.9, 1_234_567_890_123, -9_876_543.21, 0.000012, 31_050, 7],
}


@pytest.mark.parametrize("width", [320, 375, repeat(390), 1280])
@pytest.mark.parametrize("size", NUMBERS)
async def test_no_number_is_broken_in_a_card(
    scripted_visit: Visit, endpoint: StrictEndpoint, width: int, size: str
) -> None:
    delta = "+1,234.5 kWh on 2024-03-31"
    cards = [{"label": "A", "value": n, "unit": "kWh", "delta": delta} for n in NUMBERS[size]]
    await scripted_visit.page.set_viewport_size({"width": width, "height": 1200})
    figure = await show(scripted_visit, endpoint, metric_cards={"cards": cards})
    values = figure.locator(".metric-value")
    await expect(values).to_have_count(len(cards))
    assert set(await lines_of(values)) == {1}
    assert set(await lines_of(figure.locator(".metric-delta .iso"))) == {1}
