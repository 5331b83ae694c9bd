"""Logging in and out: nothing of what somebody did is lost to them, or seen by somebody else."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Locator, expect

from tests.browser.conftest import Visitors, all_looks, both_colours, both_layouts, both_looks
from tests.browser.scripted_wire import (
    Refusal,
    Reply,
    ScriptedWire,
    answering,
    end_step,
    finish,
    step,
    text,
)
from tests.browser.site import Visit, axe
from tests.support.endpoint import Pause, Say, StrictEndpoint, reply, text_reply
from tests.support.serving import Client, endpoint_settings, serving, settings
from turnstream.server.extensions.users.credential_store import SqlCredentialStore
from turnstream.server.extensions.users.keys import new_key
from turnstream.server.storage.store import SqliteStore

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
SESSION_SECONDS = 6
"""Time enough to log in and to see the first words of a reply."""


"""Looks in which the account is on the screen: on a phone it is in the drawer with the threads."""


@pytest_asyncio.fixture(loop_scope="session")
async def locked(tmp_path: Path, endpoint: StrictEndpoint) -> AsyncIterator[Client]:
    """A server that wants an API key, on a scripted model."""
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint, auth=("keys",))) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def tab(locked: Client, visitors: Visitors, look: str) -> Visit:
    return await (await visitors(locked.url, look)).open()


async def key_of(name: str, client: Client, expires_at: float | None = None) -> str:
    shown, key = new_key(name, expires_at=expires_at)
    assert client.state is not None
    await SqlCredentialStore(cast(SqliteStore, client.state["store"])).add_key(key)
    return shown


def dialog(visit: Visit) -> Locator:
    return visit.page.locator("dialog#login")


def credential(visit: Visit) -> Locator:
    return visit.page.get_by_label("API key or token")


def account(visit: Visit) -> Locator:
    return visit.page.get_by_role("group", name="Account")


async def log_in(visit: Visit, key: str) -> None:
    await credential(visit).fill(key)
    await credential(visit).press("Enter")
    await expect(dialog(visit)).to_be_hidden()


async def log_out(visit: Visit) -> None:
    if await visit.page.locator("#threads").is_hidden():
        await visit.button("Threads").click()
    await visit.button("Log out").click()


async def end_session(visit: Visit) -> None:
    """The browser's login is over, and the page does not know."""
    await visit.page.context.clear_cookies()


async def everything(visit: Visit) -> str:
    """All that the page shows or keeps."""
    kept: Any = await visit.page.evaluate(
        """() => {
          const fields = [...document.querySelectorAll("input, textarea")];
          const { title, documentElement } = document;
          return JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href, title,
            fields.map(({ value }) => value), documentElement.innerHTML]);
        }"""
    )
    return str(kept)


@both_looks
async def test_without_authentication_the_page_shows_nothing_of_users(visit: Visit) -> None:
    await visit.ask("Hello")
    if await visit.page.locator("#threads").is_hidden():
        await visit.button("Threads").click()
    await expect(dialog(visit)).to_be_hidden()
    await expect(account(visit)).to_have_count(0)


@both_layouts
async def test_whoever_logs_in_goes_on_to_their_threads(
    tab: Visit, locked: Client, endpoint: StrictEndpoint, look: str
) -> None:
    endpoint.script(text_reply("Hello Ann."))
    key = await key_of("ann", locked)
    await expect(tab.page.get_by_role("dialog", name="Log in")).to_be_visible()
    await expect(credential(tab)).to_be_focused()
    await log_in(tab, key)
    if look.startswith("desktop"):
        await expect(tab.field).to_be_focused()
    await tab.ask("It is me")
    await expect(tab.reply).to_contain_text("Hello Ann.")
    if look.startswith("phone"):
        await tab.button("Threads").click()
    await expect(account(tab)).to_contain_text("Logged in as ann")
    await expect(tab.page.get_by_role("link", name="It is me")).to_be_visible()
    await tab.page.reload()
    await expect(tab.reply).to_contain_text("Hello Ann.")
    await expect(dialog(tab)).to_be_hidden()


@both_colours
async def test_the_key_is_kept_nowhere_on_the_page(tab: Visit, locked: Client) -> None:
    key = await key_of("ann", locked)
    await expect(credential(tab)).to_have_attribute("type", "password")
    await expect(credential(tab)).to_have_attribute("autocomplete", "current-password")
    await log_in(tab, key)
    await expect(account(tab)).to_be_visible()
    assert key not in await everything(tab)
    cookies = await tab.page.context.cookies()
    assert [cookie.get("httpOnly") for cookie in cookies] == [True]
    assert key not in json.dumps(cookies)


@both_looks
async def test_a_wrong_key_is_refused_and_another_can_be_typed(tab: Visit, locked: Client) -> None:
    await credential(tab).fill("ts_wrong")
    await tab.page.get_by_role("dialog").get_by_role("button", name="Log in").click()
    await expect(dialog(tab).get_by_role("alert")).to_contain_text("not valid")
    await expect(credential(tab)).to_be_focused()
    await expect(credential(tab)).to_have_attribute("aria-invalid", "true")
    await credential(tab).fill("ключ")
    await credential(tab).press("Enter")
    await expect(dialog(tab).get_by_role("alert")).to_contain_text("visible ASCII")
    await log_in(tab, await key_of("ann", locked))


async def test_the_login_cannot_be_put_away(tab: Visit) -> None:
    await expect(credential(tab)).to_be_focused()
    for _ in range(3):
        await tab.page.keyboard.press("Escape")
    await expect(credential(tab)).to_be_visible()
    await tab.page.keyboard.type("a")
    await expect(credential(tab)).to_have_value("a")


async def test_a_login_without_cookies_says_that_they_are_needed(
    tab: Visit, locked: Client
) -> None:
    async def drop_cookie(route: Any) -> None:
        answer = await route.fetch()
        headers = {k: v for k, v in answer.headers.items() if k != "set-cookie"}
        await tab.page.context.clear_cookies()
        await route.fulfill(status=answer.status, headers=headers, body=await answer.text())

    await tab.page.route("**/login", drop_cookie)
    await credential(tab).fill(await key_of("ann", locked))
    await credential(tab).press("Enter")
    await expect(dialog(tab).get_by_role("alert")).to_contain_text("Allow cookies")


async def test_a_message_that_met_the_end_of_the_login_is_sent_after_the_next(
    tab: Visit, locked: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("One."), text_reply("Two."))
    key = await key_of("ann", locked)
    await log_in(tab, key)
    await tab.ask("First")
    await end_session(tab)
    await tab.say("Second")
    await expect(dialog(tab)).to_contain_text("The login of ann has ended")
    await log_in(tab, key)
    await expect(tab.reply).to_contain_text("Two.")
    await tab.idle()
    await tab.page.reload()
    await expect(tab.said).to_have_text([re.compile("First"), re.compile("Second")])
    await expect(tab.field).to_have_value("")


@both_colours
async def test_a_message_that_waits_for_a_login_is_a_draft_after_a_reload(
    tab: Visit, locked: Client
) -> None:
    key = await key_of("ann", locked)
    await log_in(tab, key)
    await expect(account(tab)).to_be_visible()
    await tab.field.fill("Do not lose me")
    # What the page still asks after the login may show the dialog before the message does.
    await end_session(tab)
    await tab.field.press("Control+Enter")
    await expect(dialog(tab)).to_be_visible()
    await tab.page.reload()
    await log_in(tab, key)
    await expect(tab.field).to_have_value("Do not lose me")


@both_colours
async def test_a_message_that_waits_for_a_login_is_never_that_of_somebody_else(
    tab: Visit, locked: Client
) -> None:
    await log_in(tab, await key_of("ann", locked))
    await expect(account(tab)).to_contain_text("ann")
    await tab.field.fill("My secret")
    await end_session(tab)
    await tab.field.press("Control+Enter")
    await expect(dialog(tab)).to_be_visible()
    await log_in(tab, await key_of("bob", locked))
    await expect(account(tab)).to_contain_text("bob")
    await expect(tab.page.get_by_text("Your threads will be listed here.")).to_be_visible()
    await expect(tab.field).to_have_value("")
    assert "secret" not in await everything(tab)


async def begin_a_reply(tab: Visit, client: Client, endpoint: StrictEndpoint) -> Pause:
    """Ann's login ends while she is answered; the reply goes on when the pause is over."""
    pause = Pause(asyncio.Event())
    endpoint.script(reply(Say("The light"), pause, Say("house of Ann.")))
    await log_in(tab, await key_of("ann", client, time.time() + SESSION_SECONDS))
    await tab.say("My riddle")
    await expect(tab.reply).to_contain_text("The light")
    await expect(dialog(tab)).to_contain_text("The login of ann has ended", timeout=20_000)
    return pause


async def test_a_reply_in_whose_middle_the_login_ends_goes_on_where_it_was(
    tab: Visit, locked: Client, endpoint: StrictEndpoint
) -> None:
    pause = await begin_a_reply(tab, locked, endpoint)
    cursors: list[str | None] = []

    async def note(request: Any) -> None:
        if request.url.endswith("/stream"):
            cursors.append(await request.header_value("last-event-id"))

    tab.note_requests(note)
    await expect(tab.reply).to_contain_text("The light")
    await log_in(tab, await key_of("ann", locked))
    pause.event.set()
    await tab.idle()
    texts = tab.reply.locator(".markdown")
    await expect(texts).to_have_text(["The lighthouse of Ann."])
    stored = await locked.http.get(
        f"/threads/{await tab.thread_id()}",
        headers={"Authorization": f"Bearer {await key_of('ann', locked)}"},
    )
    assert [p["text"] for p in stored.json()["messages"][-1]["parts"]] == ["The lighthouse of Ann."]
    assert cursors
    assert all(cursor and not cursor.endswith(":0") for cursor in cursors)


@pytest.mark.full
@both_colours
async def test_when_somebody_else_logs_in_the_thread_of_the_first_is_closed(
    tab: Visit, locked: Client, endpoint: StrictEndpoint
) -> None:
    pause = await begin_a_reply(tab, locked, endpoint)
    thread_id = await tab.thread_id()
    await log_in(tab, await key_of("bob", locked))
    await expect(account(tab)).to_contain_text("bob")
    pause.event.set()
    await expect(tab.page.get_by_text("Your threads will be listed here.")).to_be_visible()
    left = await everything(tab)
    assert thread_id not in left
    assert "My riddle" not in left
    assert "The light" not in left
    assert '"ann' not in left


async def test_to_log_out_in_one_tab_is_to_log_out_in_all(
    tab: Visit, locked: Client, visitors: Visitors, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("A secret."))
    key = await key_of("ann", locked)
    await log_in(tab, key)
    await tab.ask("Whisper")
    other = await (await visitors.beside(tab)).open(await tab.thread_id())
    await expect(other.reply).to_contain_text("A secret.")
    await other.field.fill("Half a thought")
    await log_out(tab)
    for visit in (tab, other):
        await expect(credential(visit)).to_be_focused()
        left = await everything(visit)
        for word in ("Whisper", "A secret.", "Half a thought", "thread_", "ann"):
            assert word not in left, word
    await tab.page.go_back()
    await expect(dialog(tab)).to_be_visible()
    assert "A secret." not in await everything(tab)
    assert await tab.page.context.cookies() == []


@both_colours
async def test_a_login_in_one_tab_is_one_in_the_other(
    tab: Visit, locked: Client, visitors: Visitors, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Here."))
    key = await key_of("ann", locked)
    await log_in(tab, key)
    other = await (await visitors.beside(tab)).open()
    await expect(account(other)).to_be_visible()
    await end_session(tab)
    await tab.say("Are you there?")
    await expect(dialog(tab)).to_be_visible()
    await other.page.reload()
    await log_in(other, key)
    await expect(dialog(tab)).to_be_hidden()
    await expect(tab.reply).to_contain_text("Here.")


@both_colours
async def test_of_two_people_in_one_browser_the_second_finds_nothing_of_the_first(
    tab: Visit, locked: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Yours, Ann."), text_reply("Yours, Bob."))
    await log_in(tab, await key_of("ann", locked))
    await tab.ask("My diary")
    await tab.field.fill("Dear diary")
    await tab.button("Event inspector").click()
    await expect(tab.page.get_by_text("POST /chat")).to_be_visible()
    address = tab.page.url
    await log_out(tab)
    await log_in(tab, await key_of("bob", locked))
    await expect(account(tab)).to_contain_text("bob")
    await expect(tab.page.get_by_text("Your threads will be listed here.")).to_be_visible()
    await expect(tab.field).to_have_value("")
    left = await everything(tab)
    for word in ("diary", "Yours, Ann.", "thread_", "ann"):
        assert word not in left, word
    await expect(tab.page.locator(".event")).to_have_count(0)
    await tab.page.goto(address)
    await expect(tab.page.get_by_text("This thread is gone")).to_be_visible()
    await tab.log.get_by_role("button", name="New thread").click()
    await tab.ask("My own")
    await expect(tab.reply).to_contain_text("Yours, Bob.")


@both_colours
async def test_a_tab_that_slept_through_a_change_of_people_begins_anew(
    tab: Visit, locked: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Yours, Ann."))
    await log_in(tab, await key_of("ann", locked))
    await tab.ask("My diary")
    await tab.field.fill("Dear diary")
    await as_somebody_else(tab.page.context, locked)
    await tab.page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
    await expect(account(tab)).to_contain_text("bob")
    assert "diary" not in await everything(tab)


async def as_somebody_else(context: BrowserContext, client: Client) -> None:
    """Bob logs in, and no tab hears of it."""
    body = {"credential": await key_of("bob", client)}
    answer = await client.http.post("/login", json=body)
    name, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
    client.http.cookies.clear()
    await context.clear_cookies()
    await context.add_cookies([{"name": name, "value": value, "url": client.url}])


@both_colours
async def test_after_a_reload_a_draft_is_given_to_its_writer_alone(
    tab: Visit, locked: Client
) -> None:
    ann = await key_of("ann", locked)
    await log_in(tab, ann)
    await expect(account(tab)).to_be_visible()
    await tab.field.fill("Dear diary")
    await end_session(tab)
    await tab.page.reload()
    await log_in(tab, ann)
    await expect(tab.field).to_have_value("Dear diary")
    await end_session(tab)
    await tab.page.reload()
    await log_in(tab, await key_of("bob", locked))
    await expect(account(tab)).to_contain_text("bob")
    assert "diary" not in await everything(tab)


async def test_where_a_proxy_logs_people_in_a_reload_is_offered_and_the_message_kept(
    visitors: Visitors, tmp_path: Path
) -> None:
    behind_proxy = settings(tmp_path / "t.db", auth=("header",), trusted_proxies=("127.0.0.1",))
    async with serving(behind_proxy) as client:
        visit = await visitors(client.url)
        context = visit.page.context
        await context.set_extra_http_headers({"X-Forwarded-User": "ann"})
        await visit.open()
        await expect(account(visit)).to_contain_text("ann")
        await expect(visit.button("Log out")).to_have_count(0)
        await context.set_extra_http_headers({})
        await visit.field.fill("Keep me")
        await visit.field.press("Control+Enter")
        await expect(dialog(visit)).to_contain_text("proxy")
        await expect(credential(visit)).to_be_hidden()
        await context.set_extra_http_headers({"X-Forwarded-User": "ann"})
        await visit.button("Reload").click()
        await expect(visit.field).to_have_value("Keep me")
        await expect(dialog(visit)).to_be_hidden()
        await visit.leave()


@pytest.mark.full
@all_looks
async def test_axe_finds_nothing_in_the_login(tab: Visit, locked: Client, look: str) -> None:
    await credential(tab).fill("ts_wrong")
    await credential(tab).press("Enter")
    await expect(dialog(tab).get_by_role("alert")).to_contain_text("not valid")
    assert await axe(tab.page, AXE) == []
    await log_in(tab, await key_of("ann", locked))
    if look.startswith("phone"):
        await tab.button("Threads").click()
    await expect(account(tab)).to_be_visible()
    assert await axe(tab.page, AXE) == []


def over_limit(seconds: str) -> Refusal:
    over = {"limit": "requests_per_minute", "value": 5}
    return Refusal(429, "limit_exceeded", "Too many.", headers={"Retry-After": seconds}, extra=over)


async def test_a_limit_is_named_with_the_time_to_try_again_and_the_message_kept(
    wired: Visit, wire: ScriptedWire
) -> None:
    wire.script(over_limit("42"), answering("At last."))
    await wired.open()
    await wired.say("Hurry")
    await expect(wired.alert).to_contain_text("your limit of requests per minute (5)")
    await expect(wired.alert).to_contain_text("Try again in 42 seconds.")
    await expect(wired.said).to_contain_text("Hurry")
    await wired.button("Retry").click()
    await expect(wired.reply).to_contain_text("At last.")
    first, second = (body["message"] for body in wire.bodies)
    assert first == second
    assert first["parts"] == [{"type": "text", "text": "Hurry"}]


async def test_a_reader_that_a_limit_keeps_out_comes_back_when_it_may(
    wired: Visit, wire: ScriptedWire
) -> None:
    begun = [step("s1"), *text(0, "The lighthouse")]
    wire.script(Reply(begun), over_limit("1"), Reply([end_step(), finish()], first=5))
    await wired.open()
    await wired.say("Go")
    await wired.idle()
    await expect(wired.reply).to_contain_text("The lighthouse")
    await expect(wired.alert).to_have_count(0)
    assert wire.cursors == ["run-1:4", "run-1:4"]


async def test_a_reader_that_a_limit_keeps_out_for_long_is_told(
    wired: Visit, wire: ScriptedWire
) -> None:
    wire.script(Reply([step("s1"), *text(0, "The lighthouse")]), over_limit("7200"))
    await wired.open()
    await wired.say("Go")
    await expect(wired.alert).to_contain_text("your limit of requests per minute (5)")
    await expect(wired.reply).to_contain_text("The lighthouse")


async def test_what_somebody_may_not_do_is_said_and_the_message_given_back(
    wired: Visit, wire: ScriptedWire
) -> None:
    wire.script(Refusal(403, "forbidden", "Your role may not start runs."))
    await wired.open()
    await wired.field.fill("Please")
    await wired.field.press("Control+Enter")
    await expect(wired.alert).to_contain_text("Your role may not start runs.")
    await expect(wired.field).to_have_value("Please")


async def test_whoever_is_shown_no_list_of_threads_can_log_out(
    visitors: Visitors, endpoint: StrictEndpoint, tmp_path: Path
) -> None:
    page = tmp_path / "page.toml"
    page.write_text('hidden = ["threads"]', encoding="utf-8")
    own = endpoint_settings(tmp_path / "t.db", endpoint, auth=("keys",), page=page)
    async with serving(own) as client:
        visit = await (await visitors(client.url)).open()
        await log_in(visit, await key_of("ann", client))
        await visit.button("Log out").click()
        await expect(visit.page.get_by_role("dialog", name="Log in")).to_be_visible()
