"""Forms for what MCP servers ask in the middle of a call."""

from playwright.async_api import expect

from tests.browser.scripted_wire import Json, ScriptedWire, answering, interrupt
from tests.browser.site import Visit
from tests.browser.test_injection import EVIL
from tests.browser.test_interrupts import load, send, sent

SCHEMA: Json = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "title": "City", "description": "Where to"},
        "nights": {"type": "integer"},
        "seat": {"type": "string", "enum": ["aisle", "window"], "default": "aisle"},
        "insured": {"type": "boolean", "default": False},
    },
    "required": ["city", "nights"],
}
ASKED: Json = {"type": "elicitation", "server": "trips", "tool": "trips_book"}
FORM: Json = {**ASKED, "mode": "form", "message": f"Where? {EVIL}", "requested_schema": SCHEMA}
URL = "https://pay.example.org/x?y=1"
ADDRESS: Json = {**ASKED, "mode": "url", "message": "Pay there.", "url": URL}


async def test_a_form_of_a_server_is_filled_in_and_an_address_only_shown(
    wired: Visit, wire: ScriptedWire
) -> None:
    shown = await load(wired, wire, interrupt("i1", value=FORM), interrupt("i2", value=ADDRESS))
    form, address = shown.nth(0), shown.nth(1)
    await expect(form).to_contain_text(EVIL)
    await expect(form).to_contain_text("trips asks")
    await form.get_by_label("nights").fill("two")
    await send(form)
    await expect(form).to_contain_text("A value is needed.")
    await expect(form).to_contain_text("Enter a whole number.")
    await form.get_by_label("City").fill("Rome")
    await form.get_by_label("nights").fill("2")
    await form.get_by_label("insured").select_option(label="Yes")
    link = address.get_by_role("link")
    await expect(link).to_have_attribute("href", URL)
    await expect(link).to_have_attribute("rel", "noopener noreferrer")
    wire.script(answering())
    await wired.button("Send all 2 answers").click()
    content = {"city": "Rome", "nights": 2, "seat": "aisle", "insured": True}
    assert await sent(wired, wire) == {
        "i1": {"action": "accept", "content": content},
        "i2": {"action": "accept"},
    }


async def test_a_question_of_a_server_can_be_declined(wired: Visit, wire: ScriptedWire) -> None:
    form = await load(wired, wire, interrupt("i1", value=FORM))
    wire.script(answering())
    await form.get_by_role("button", name="Decline").click()
    assert await sent(wired, wire) == {"i1": {"action": "decline"}}
