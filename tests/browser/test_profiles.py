"""The browser tests rely on it: a used profile is empty, and an account misses nothing."""

from contextlib import AsyncExitStack

import pytest
from playwright.async_api import Browser, expect

from tests.browser.conftest import Visitors
from tests.browser.site import Account, Profile
from tests.support.serving import Client
from tests.support.waiting import until

WRITE = """async () => {
  localStorage.mine = sessionStorage.mine = document.cookie = "mine=1";
  await new Promise((done) => { indexedDB.open("mine").onsuccess = done; });
}"""
READ = """async () => [localStorage.mine, sessionStorage.mine, document.cookie,
  (await indexedDB.databases()).filter(({ name }) => name === "mine").length]"""


async def test_a_profile_that_is_used_again_has_nothing_of_the_test_before(
    browser: Browser, page_server: Client
) -> None:
    profiles: dict[str, Profile] = {}
    for is_first in (True, False):
        async with AsyncExitStack() as stack:
            visit = await Visitors(browser, Account(), stack, profiles)(page_server.url)
            await visit.open()
            if is_first:
                await visit.page.evaluate(WRITE)
                await visit.page.context.route("**/models", lambda route: route.abort())
                await visit.page.context.set_offline(True)
            else:
                assert await visit.page.evaluate(READ) == [None, None, "", 0]
                await expect(visit.page.get_by_text("Offline model")).to_be_visible()
    await profiles["desktop light"].context.close()


@pytest.mark.parametrize(
    "does",
    [
        "() => fetch('https://elsewhere.example/').catch(() => {})",
        "() => { new Image().src = 'https://elsewhere.example/a.png' }",
        "() => { location.href = 'https://elsewhere.example/' }",
        "() => { navigator.sendBeacon('https://elsewhere.example/') }",
        "() => { setTimeout(() => { throw new Error('nobody catches it') }) }",
        "() => { setTimeout(() => { document.body.innerHTML = '<b>' }) }",
    ],
)
async def test_what_a_page_must_not_do_is_in_the_account(
    browser: Browser, page_server: Client, does: str
) -> None:
    account = Account()
    profile = await Profile.new(browser, "desktop light", account, page_server.url)
    visit = await profile.visit(account, page_server.url)
    await visit.open()
    account.check()
    await visit.page.evaluate(does)
    await until(lambda: bool(account.errors or account.violations or account.foreign))
    await profile.context.close()
    with pytest.raises(AssertionError):
        account.check()
