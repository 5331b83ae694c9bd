"""What a person does with the cards of calls that wait for an approval."""

import json
from typing import Any

from playwright.async_api import Locator, Request, expect

from tests.browser.site import Visit
from tests.support.endpoint import StrictEndpoint, call_reply

VISIT: dict[str, Any] = {"inverter": 3, "day": "2026-03-04", "work": "repair", "crew": 2}
"""Arguments of `plan_visit`."""
PAY = ("pay", '{"word": "rent"}')
SLOWLY = ("pay_slowly", '{"word": "rent"}')


def plan_visit(**changes: Any) -> tuple[str, str]:
    return "plan_visit", json.dumps(VISIT | changes)


async def be_asked(
    visit: Visit, endpoint: StrictEndpoint, *calls: tuple[str, str], words: str = "Go"
) -> Locator:
    """A turn ends with calls that wait; the value is their cards."""
    endpoint.script(call_reply(*calls))
    await visit.ask(words)
    await expect(visit.status).to_have_text("Your approval is needed")
    return cards(visit)


def cards(visit: Visit) -> Locator:
    """Of calls that wait."""
    return visit.log.locator("form.approval")


def decided(visit: Visit) -> Locator:
    """Of calls that wait no longer."""
    return visit.log.locator(".decided")


async def approve(card: Locator) -> None:
    await card.get_by_role("button", name="Approve").click()


async def decline(card: Locator, reason: str = "") -> None:
    if reason:
        await card.get_by_label("Reason").fill(reason)
    await card.get_by_role("button", name="Decline").click()


async def decided_and_idle(visit: Visit) -> None:
    """Until every card is decided on, and the run that goes on from there is over."""
    await expect(cards(visit)).to_have_count(0)
    await visit.idle()


class Posts:
    """The bodies that a tab posts."""

    def __init__(self, visit: Visit) -> None:
        self.bodies: list[dict[str, Any]] = []
        visit.note_requests(self._note)

    def _note(self, request: Request) -> None:
        if request.method == "POST" and request.post_data:
            self.bodies.append(json.loads(request.post_data))

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """Without the ids."""
        posted = [item for body in self.bodies for item in body.get("approvals", [])]
        ids = ("tool_call_id", "approval_id")
        return [{k: v for k, v in item.items() if k not in ids} for item in posted]
