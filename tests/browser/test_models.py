"""The choice of a model, where the server has several."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import expect

from tests.browser.conftest import Visitors
from tests.browser.site import Visit
from tests.support.endpoint import StrictEndpoint
from tests.support.serving import Client, endpoint_settings, serving


@pytest_asyncio.fixture(loop_scope="session")
async def several(tmp_path: Path, endpoint: StrictEndpoint) -> AsyncIterator[Client]:
    values = {"models": ("second", "openai:third")}
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint, **values)) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def choosing(several: Client, visitors: Visitors, look: str) -> Visit:
    return await (await visitors(several.url, look)).open()


async def test_the_model_that_is_chosen_answers_also_after_a_reload(
    choosing: Visit, endpoint: StrictEndpoint
) -> None:
    model = choosing.page.get_by_role("combobox", name="Model")
    await expect(model).to_have_value("scripted")
    await choosing.ask("Hello")
    await model.select_option("second")
    await choosing.ask("Hello again")
    await choosing.page.reload()
    await expect(model).to_have_value("second")
    await expect(choosing.replies).to_have_count(2)
    await choosing.ask("And once more")
    assert [body["model"] for body in endpoint.requests] == ["scripted", "second", "second"]


async def test_a_model_that_is_gone_gives_way_to_the_default(
    choosing: Visit, endpoint: StrictEndpoint
) -> None:
    await choosing.page.evaluate("localStorage.setItem('model', 'gone')")
    await choosing.page.reload()
    await expect(choosing.page.get_by_role("combobox", name="Model")).to_have_value("scripted")
    await choosing.ask("Hello")
    assert [body["model"] for body in endpoint.requests] == ["scripted"]


async def test_a_single_model_is_named_and_nothing_is_to_be_chosen(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    await expect(scripted_visit.page.locator("span.badge")).to_have_text("scripted")
    await scripted_visit.ask("Hello")
    assert [body["model"] for body in endpoint.requests] == ["scripted"]
