"""UI tools of a graph of one's own, and LangGraph's UI messages, drawn by components."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Visitors
from tests.browser.site import Visit
from tests.support.serving import serving, settings

AGENT = """
from langchain.agents import create_agent
from langgraph.graph.ui import AnyUIMessage, push_ui_message, ui_message_reducer
from langchain.agents.middleware import AgentMiddleware, AgentState
from typing import Annotated, NotRequired, Sequence

from tests.graphs.zoo.model import ReplyingModel, calls
from turnstream.graphs.ui_tools import ui_tool

SEAT = {
    "type": "object",
    "title": "Your seat",
    "properties": {"seat": {"type": "string", "title": "Seat", "enum": ["1A", "2C"]}},
    "required": ["seat"],
}


@ui_tool(SEAT)
def seat_map(flight: str, free: list[str]) -> None:
    "Ask the user for a seat."


class State(AgentState):
    ui: NotRequired[Annotated[Sequence[AnyUIMessage], ui_message_reducer]]


class Draws(AgentMiddleware):
    state_schema = State

    def after_agent(self, state, runtime):
        push_ui_message("alert", {"message": "Boarding at noon."}, message=state["messages"][-1])


def said(messages, *_):
    if messages[-1].type == "human":
        return calls(("seat_map", {"flight": "TS1", "free": ["1A", "2C"]}))
    return "You sit there."


def graph():
    return create_agent(ReplyingModel(replies=said), tools=[seat_map], middleware=[Draws()])
"""
SCHEMA = """{
  "type": "object",
  "properties": {
    "flight": { "type": "string" },
    "free": { "type": "array", "items": { "type": "string" } }
  },
  "required": ["flight", "free"],
  "additionalProperties": false
}"""
DRAW = """
export const draw = ({ flight, free }, { html, answer }) => html`
  <p class="flight">${flight}</p>
  ${free.map((seat) => html`<button
    type="button"
    ?disabled=${!answer}
    @click=${() => answer({ seat })}
  >${seat}</button>`)}
`;
"""


@asynccontextmanager
async def asking(folder: Path, visitors: Visitors) -> AsyncIterator[Visit]:
    component = folder / "components" / "seat_map"
    component.mkdir(parents=True)
    (component / "schema.json").write_text(SCHEMA)
    (component / "draw.js").write_text(DRAW)
    (folder / "seats.py").write_text(AGENT)
    graph = f"{folder / 'seats.py'}:graph"
    own = settings(folder / "t.db", graph=graph, components=(component.parent,))
    async with serving(own) as client:
        yield await (await visitors(client.url)).open()


@pytest.mark.parametrize("way", ["the drawing", "the form"])
async def test_a_call_is_drawn_by_its_component_and_answered(
    way: str, tmp_path: Path, visitors: Visitors
) -> None:
    async with asking(tmp_path, visitors) as visit:
        await visit.ask("A seat, please")
        figure, form = visit.reply.locator("figure.seat_map"), visit.page.locator("form.interrupt")
        await expect(figure.locator(".flight")).to_have_text("TS1")
        await expect(form).to_contain_text("Your seat")
        await visit.page.reload()
        await expect(figure.get_by_role("button", name="2C")).to_be_enabled()
        if way == "the drawing":
            await figure.get_by_role("button", name="2C").click()
        else:
            await form.get_by_label("Seat").select_option(label="2C")
            await visit.button("Send answer").click()
        await expect(visit.log).to_contain_text("You sit there.")
        await expect(form).to_have_count(0)
        await expect(figure.get_by_text("seat: 2C")).to_be_visible()
        await expect(figure.get_by_role("button", name="2C")).to_be_disabled()
        note = visit.log.get_by_role("note")
        await expect(note).to_contain_text("Boarding at noon.")
        await visit.page.reload()
        await expect(note).to_contain_text("Boarding at noon.")
        await expect(figure.get_by_text("seat: 2C")).to_be_visible()
        await visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await visit.reply.get_by_role("button", name="Copy message").click()
        await expect(visit.reply.locator("[data-copy=copied]")).to_be_visible()
        copied = await visit.page.evaluate("() => navigator.clipboard.readText()")
        assert "- flight: TS1" in copied
        assert "> Answer: seat: 2C" in copied
        assert "Boarding at noon." in copied
