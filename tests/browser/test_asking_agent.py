"""The page in front of LangChain's agent with human-in-the-loop, on a server that serves it."""

from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Visitors
from tests.support.serving import serving, settings

AGENT = """
from tests.graphs.zoo.approval import approved, mail
from tests.graphs.zoo.model import ReplyingModel


def graph():
    return approved(ReplyingModel(replies=mail))


CLIENT_FIELDS = {"send_email": ["*"]}
"""


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
async def test_a_call_is_changed_by_a_person_and_then_made(
    tmp_path: Path, visitors: Visitors
) -> None:
    (tmp_path / "mail_agent.py").write_text(AGENT)
    graph = f"{tmp_path / 'mail_agent.py'}:graph"
    async with serving(settings(tmp_path / "t.db", graph=graph)) as client:
        visit = await (await visitors(client.url)).open()
        await visit.ask("Mail Ann.")
        form = visit.page.get_by_role("form").or_(visit.page.locator("form.interrupt"))
        await expect(form).to_contain_text("send_email")
        await visit.page.reload()
        await form.get_by_label("Edit").check()
        await form.get_by_role("textbox").first.fill('{"to": "bob"}')
        await visit.button("Send decision").click()
        await expect(visit.log).to_contain_text("Sent to bob.")
        await expect(form).to_have_count(0)
        await visit.page.close()
