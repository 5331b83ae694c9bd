"""The calls of others: listed for who may decide on them, decided on beside the thread."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Request, Route, expect

from tests.browser.approval_cards import (
    PAY,
    Posts,
    approve,
    be_asked,
    cards,
    decided,
    decline,
    plan_visit,
)
from tests.browser.conftest import Visitors, all_looks, both_colours, both_looks, own_profile
from tests.browser.networks import hold
from tests.browser.site import Visit, axe
from tests.browser.test_injection import EVIL
from tests.browser.visits import VisitTools
from tests.support.endpoint import StrictEndpoint, call_reply
from tests.support.samples import repeat
from tests.support.serving import Client, endpoint_settings, serving

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
POLICY = """
[roles.user]

[roles.chief]
approves = ["p*"]
"""


def named(name: str, role: str = "user") -> dict[str, str]:
    """Headers of a proxy that has logged somebody in."""
    return {"X-Forwarded-User": name, "X-Forwarded-Groups": role}


@pytest_asyncio.fixture(loop_scope="session")
async def tools() -> VisitTools:
    return VisitTools()


@pytest_asyncio.fixture(loop_scope="session")
async def office(
    tmp_path: Path, endpoint: StrictEndpoint, tools: VisitTools
) -> AsyncIterator[Client]:
    """A server of several people, of whom a chief decides on what the others ask."""
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    proxy: dict[str, Any] = {"auth": ("header",), "trusted_proxies": ("127.0.0.1",)}
    own = endpoint_settings(tmp_path / "t.db", endpoint, policy=policy, **proxy)
    async with serving(own, tools.catalogue) as client:
        client.http.headers.update(named("ann"))
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def chief(office: Client, visitors: Visitors, look: str) -> Visit:
    return await visitors(office.url, look, extra_http_headers=named("cem", "chief"))


async def ann_asks(
    office: Client, endpoint: StrictEndpoint, *calls: tuple[str, str]
) -> dict[str, Any]:
    """Ann's thread, which waits."""
    endpoint.script(call_reply(*calls))
    thread_id, _ = await office.turn({"message": "Go"})
    return await office.thread(thread_id)


def panel(visit: Visit) -> Locator:
    return visit.page.get_by_role("complementary", name="Approvals")


def listed(visit: Visit) -> Locator:
    return panel(visit).locator("form.approval")


async def open_panel(visit: Visit) -> None:
    await visit.open()
    await visit.page.locator("#approve").click()
    await expect(panel(visit)).to_be_visible()


async def part_of(office: Client, thread: dict[str, Any]) -> dict[str, Any]:
    """The first call of Ann's thread as it is now."""
    part: dict[str, Any] = (await office.thread(thread["id"]))["messages"][-1]["parts"][0]
    return part


@both_looks
async def test_the_chief_approves_a_call_of_somebody_else_with_changes(
    chief: Visit, office: Client, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    thread = await ann_asks(office, endpoint, plan_visit())
    await open_panel(chief)
    await expect(panel(chief)).to_contain_text("1 call waiting")
    await expect(listed(chief)).to_contain_text("Approve plan_visit?")
    await expect(listed(chief)).to_contain_text("Asked by ann")
    await expect(listed(chief)).not_to_contain_text("new message")
    await expect(panel(chief).get_by_role("link")).to_have_count(0)
    assert thread["id"] not in await panel(chief).inner_html()
    await listed(chief).get_by_label("crew").fill("many")
    await approve(listed(chief))
    await expect(listed(chief)).to_contain_text("Enter a whole number.")
    await listed(chief).get_by_label("crew").fill("5")
    await approve(listed(chief))
    await expect(panel(chief)).to_contain_text("plan_visit was approved.")
    await expect(panel(chief)).to_contain_text("No call of anybody else waits for your approval.")
    await expect(panel(chief).locator(".approvals-list")).to_be_focused()
    assert [visit["crew"] for visit in tools.visits] == [5]
    assert (await part_of(office, thread))["approval"]["by"] == "cem"


async def test_further_pages_of_the_list_are_shown_when_they_are_wanted(
    chief: Visit, office: Client, endpoint: StrictEndpoint
) -> None:
    for _ in range(3):
        await ann_asks(office, endpoint, plan_visit())

    async def one_a_page(route: Route) -> None:
        url = route.request.url
        await route.continue_(url=f"{url}{'&' if '?' in url else '?'}limit=1")

    await chief.page.route("**/approvals*", one_a_page)
    await open_panel(chief)
    more = panel(chief).get_by_role("button", name="Show more")
    for shown in (1, 2):
        await expect(listed(chief)).to_have_count(shown)
        await expect(panel(chief)).to_contain_text("More than")
        await more.click()
    await expect(listed(chief)).to_have_count(3)
    await expect(panel(chief)).to_contain_text("3 calls waiting")
    await expect(more).to_have_count(0)


async def test_the_chief_declines_and_the_asker_sees_by_whom_and_why(
    chief: Visit,
    office: Client,
    endpoint: StrictEndpoint,
    tools: VisitTools,
    visitors: Visitors,
) -> None:
    ann = await (await visitors(office.url, extra_http_headers=named("ann"))).open()
    await be_asked(ann, endpoint, PAY)
    await expect(cards(ann)).to_contain_text("Asked by ann")
    await expect(ann.page.locator("#approve")).to_have_count(0)
    await open_panel(chief)
    posts = Posts(chief)
    await decline(listed(chief), "Too dear.")
    await expect(listed(chief)).to_have_count(0)
    await expect(panel(chief)).to_contain_text("pay was declined.")
    assert posts.bodies == [{"approved": False, "reason": "Too dear."}]
    await approve(cards(ann))
    await expect(decided(ann)).to_contain_text("Declined")
    await expect(decided(ann)).to_contain_text("by cem")
    await expect(decided(ann)).to_contain_text("Too dear.")
    await expect(decided(ann).get_by_role("alert")).to_be_visible()
    assert not tools.calls


@own_profile
async def test_the_asker_sees_the_decision_of_somebody_else_after_a_while(
    office: Client, endpoint: StrictEndpoint, visitors: Visitors
) -> None:
    ann = await visitors(office.url, extra_http_headers=named("ann"))
    await ann.page.clock.install()
    await ann.open()
    await be_asked(ann, endpoint, PAY)
    await expect(ann.page.get_by_role("img", name="Waiting for an answer")).to_be_visible()
    await decide_over_http(office, approved=True)
    await ann.page.clock.run_for(16_000)
    await expect(decided(ann)).to_contain_text("by cem")
    await expect(ann.reply).to_contain_text("Hello from the endpoint.")


async def decide_over_http(office: Client, **body: Any) -> None:
    """The chief decides on the first call that waits, and the run ends."""
    chief = named("cem", "chief")
    waiting = (await office.http.get("/approvals", headers=chief)).json()["approvals"]
    answer = await office.http.post(f"/approvals/{waiting[0]['id']}", json=body, headers=chief)
    assert answer.status_code == 200, answer.text
    assert office.state is not None
    await office.state["runs"].drain(5)


async def test_a_call_that_is_decided_on_meanwhile_leaves_the_list_with_a_sentence(
    chief: Visit, office: Client, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    thread = await ann_asks(office, endpoint, PAY)
    await open_panel(chief)
    await expect(listed(chief)).to_have_count(1)
    call = thread["messages"][-1]["parts"][0]["toolCallId"]
    decision = {"tool_call_id": call, "approved": False}
    await office.turn({"thread_id": thread["id"], "approvals": [decision]})
    await approve(listed(chief))
    await expect(panel(chief).get_by_role("alert")).to_contain_text("pay: ")
    await expect(listed(chief)).to_have_count(0)
    assert not tools.calls


async def test_while_the_thread_has_a_live_run_the_call_stays_in_the_list(
    chief: Visit, office: Client, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    async def busy(route: Route) -> None:
        problem = {"code": "run_in_progress", "detail": "The thread has a live run."}
        await route.fulfill(status=409, json=problem)

    await ann_asks(office, endpoint, PAY)
    await open_panel(chief)
    await chief.page.route("**/approvals/*", busy)
    await listed(chief).get_by_label("word").fill("bread")
    await approve(listed(chief))
    await expect(listed(chief).get_by_role("alert")).to_contain_text("has a live run")
    await expect(listed(chief).get_by_label("word")).to_have_value("bread")
    await chief.page.unroute("**/approvals/*")
    await approve(listed(chief))
    await expect(panel(chief)).to_contain_text("pay was approved.")
    assert tools.calls == {"bread": 1}


async def test_arguments_that_the_server_refuses_are_said_at_the_card(
    chief: Visit, office: Client, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    await ann_asks(office, endpoint, plan_visit(parts=[]))
    await open_panel(chief)
    await listed(chief).get_by_label("parts").fill("7")
    await approve(listed(chief))
    await expect(listed(chief).get_by_role("alert")).to_contain_text("parts")
    await expect(listed(chief).get_by_label("parts")).to_have_value("7")
    await expect(listed(chief)).to_be_focused()
    assert tools.visits == []


@own_profile
async def test_the_list_is_looked_at_again_as_long_as_it_is_open(
    chief: Visit, office: Client, endpoint: StrictEndpoint
) -> None:
    looks: list[str] = []

    def note(asked: Request) -> None:
        if asked.url.endswith("/approvals"):
            looks.append(asked.url)

    chief.note_requests(note)
    await chief.page.clock.install()
    await chief.open()
    await expect(chief.page.locator("#approve")).to_be_visible()
    await chief.page.clock.run_for(40_000)
    assert len(looks) == 1
    await chief.page.locator("#approve").click()
    await expect(panel(chief)).to_contain_text("No call of anybody else")
    await ann_asks(office, endpoint, PAY)
    await chief.page.clock.run_for(16_000)
    await expect(listed(chief)).to_have_count(1)
    await expect(chief.page.locator("#approve .count")).to_have_text("1")
    await listed(chief).get_by_label("word").fill("half an ans")
    await ann_asks(office, endpoint, ("pay", '{"word": "food"}'))
    await chief.page.clock.run_for(16_000)
    await expect(listed(chief)).to_have_count(2)
    await expect(listed(chief).first.get_by_label("word")).to_have_value("half an ans")
    await chief.button("Close the approvals").click()
    looks.clear()
    await chief.page.clock.run_for(40_000)
    assert looks == []


async def test_own_calls_and_those_of_other_tools_are_not_in_the_list(
    chief: Visit, office: Client, endpoint: StrictEndpoint
) -> None:
    await ann_asks(office, endpoint, ("spend", '{"amount": 50}'))
    await open_panel(chief)
    if await chief.page.locator("#main").get_attribute("inert") is not None:
        await chief.button("Close the approvals").click()
    await be_asked(chief, endpoint, PAY)
    await chief.page.reload()
    await expect(cards(chief)).to_contain_text("Asked by cem")
    await expect(chief.page.locator("#approve .count")).to_have_count(0)
    await chief.page.locator("#approve").click()
    await expect(panel(chief)).to_contain_text("No call of anybody else")


async def test_the_list_that_could_not_be_loaded_is_loaded_again(
    chief: Visit, office: Client, endpoint: StrictEndpoint
) -> None:
    await ann_asks(office, endpoint, PAY)
    await chief.page.route("**/approvals", lambda route: route.abort())
    await open_panel(chief)
    await expect(panel(chief)).to_contain_text("The list could not be loaded.")
    await chief.page.unroute("**/approvals")
    await panel(chief).get_by_role("button", name="Retry").click()
    await expect(listed(chief)).to_have_count(1)
    await expect(panel(chief)).not_to_contain_text("could not be loaded")


@both_colours
async def test_the_list_works_by_keyboard_alone(
    chief: Visit, office: Client, endpoint: StrictEndpoint, tools: VisitTools
) -> None:
    await ann_asks(office, endpoint, PAY)
    await chief.open()
    keys = chief.page.keyboard
    await chief.page.locator("#approve").focus()
    await keys.press("Enter")
    await expect(panel(chief).locator(".approvals-list")).to_be_focused()
    await expect(listed(chief).get_by_label("word")).to_be_visible()
    for label in ("word", "Reason"):
        await keys.press("Tab")
        await expect(listed(chief).get_by_label(label)).to_be_focused()
        await keys.press("Enter")
    await keys.press("Tab")
    await expect(listed(chief).get_by_role("button", name="Approve")).to_be_focused()
    assert not tools.calls
    await keys.press("Enter")
    await expect(panel(chief)).to_contain_text("pay was approved.")
    assert tools.calls == {"rent": 1}


@both_looks
@pytest.mark.parametrize("late", ["approvals-view-*.js", repeat("inspector-*.css")])
async def test_a_list_that_loads_late_has_the_focus_when_it_is_there(
    chief: Visit, late: str
) -> None:
    held = await hold(chief, f"**/{late}")
    await chief.open()
    await chief.page.locator("#approve").click()
    await expect(panel(chief)).to_be_focused()
    await held.arrived.wait()
    held.go_on.set()
    await expect(panel(chief).locator(".approvals-list")).to_be_focused()


@pytest.mark.full
@both_colours
async def test_a_list_that_loads_late_takes_the_focus_from_nobody(chief: Visit) -> None:
    held = await hold(chief, "**/approvals-view-*.js")
    await chief.open()
    await chief.page.locator("#approve").click()
    await expect(panel(chief)).to_be_focused()
    await chief.field.focus()
    await held.arrived.wait()
    held.go_on.set()
    await expect(panel(chief).locator(".approvals-list")).to_be_visible()
    await expect(chief.field).to_be_focused()


@pytest.mark.full
@all_looks
async def test_axe_finds_nothing_in_the_list_and_hostile_calls_are_text(
    chief: Visit, office: Client, endpoint: StrictEndpoint, look: str
) -> None:
    await ann_asks(office, endpoint, plan_visit(note=EVIL, parts=[{EVIL: EVIL}]), PAY)
    await open_panel(chief)
    await expect(listed(chief)).to_have_count(2)
    visit = listed(chief).filter(has_text="Approve plan_visit?")
    await expect(visit.get_by_label("note")).to_have_value(EVIL)
    await visit.get_by_label("crew").fill("many")
    await approve(visit)
    await expect(panel(chief).locator("img, script")).to_have_count(0)
    assert await axe(chief.page, AXE) == []
    await decline(listed(chief).filter(has_text="Approve pay?"))
    await expect(panel(chief)).to_contain_text("pay was declined.")
    assert await axe(chief.page, AXE) == []
    if look.startswith("phone"):
        await chief.page.keyboard.press("Escape")
        await expect(panel(chief)).to_be_hidden()
        await expect(chief.page.locator("#approve")).to_be_focused()
