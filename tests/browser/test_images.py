"""Images on the page: chosen, pasted, dropped; made smaller; kept; shown; refused."""

import asyncio
import base64
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import FilePayload, Locator, Route, expect

from tests.browser.conftest import Visitors, both_looks
from tests.browser.site import Visit, axe
from tests.browser.test_accessibility import AXE
from tests.browser.test_threads_page import show_list
from tests.support.endpoint import StrictEndpoint
from tests.support.pictures import gif, noisy_png, png
from tests.support.serving import Client, endpoint_settings, serving, settings

EVIL = '"><img src=x onerror=alert(1)>.png'
ROTATED = b"\xff\xe1\x00\x22Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
"""An Exif segment: what was stored lying stands."""

DROP = """(files) => {
  const data = new DataTransfer();
  for (const [name, type, text] of files) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    data.items.add(new File([bytes], name, { type }));
  }
  for (const kind of ["dragover", "drop"]) {
    const event = new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true });
    document.querySelector("#log").dispatchEvent(event);
    if (!event.defaultPrevented) throw new Error("the browser would open the file");
  }
}"""
COPY = """async ([types, text]) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const held = { "image/png": new Blob([bytes], { type: "image/png" }), "text/plain": "a\\tb" };
  const items = Object.fromEntries(types.map((type) => [type, held[type]]));
  await navigator.clipboard.write([new ClipboardItem(items)]);
}"""
KEPT = """() => new Promise((resolve) => {
  const request = indexedDB.open("images-of-words");
  request.onupgradeneeded = () => request.result.createObjectStore("images");
  request.onsuccess = () => {
    const keys = request.result.transaction("images").objectStore("images").getAllKeys();
    keys.onsuccess = () => { request.result.close(); resolve(keys.result.length); };
  };
})"""


def payload(name: str, data: bytes, type: str = "image/png") -> FilePayload:
    return {"name": name, "mimeType": type, "buffer": data}


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def attached(visit: Visit) -> Locator:
    return visit.page.get_by_role("list", name="Attached images").get_by_role("listitem")


async def choose(visit: Visit, *files: FilePayload) -> None:
    """By the button, as a person does."""
    before = await attached(visit).count()
    async with visit.page.expect_file_chooser() as chooser:
        await visit.button("Attach images").click()
    await (await chooser.value).set_files(list(files))
    await expect(attached(visit).locator("img")).to_have_count(before + len(files))


async def send(visit: Visit) -> Locator:
    before = await visit.replies.count()
    await visit.button("Send").click()
    await expect(visit.replies).to_have_count(before + 1)
    await visit.idle()
    return visit.reply


async def test_a_large_photograph_is_sent_as_a_jpeg(visit: Visit) -> None:
    photograph = noisy_png(800, 800)
    assert len(photograph) > 1_500_000
    await choose(visit, payload("sky.png", photograph), payload("part.png", noisy_png(500, 500)))
    await visit.field.fill("Which?")
    reply = await send(visit)
    await expect(reply).to_contain_text("JPEG image of 800 by 800 pixels (“sky.png”)")
    await expect(reply).to_contain_text("PNG image of 500 by 500 pixels (“part.png”)")


async def test_a_chosen_image_is_made_smaller_described_sent_shown_and_enlarged(
    visit: Visit,
) -> None:
    page = visit.page
    await choose(visit, payload("roof.png", png(3000, 1500)), payload("cell.png", png(20, 10)))
    description = page.get_by_role("textbox", name="Description of image 1")
    await expect(description).to_have_value("roof.png")
    await description.fill("The roof in May")
    await visit.field.fill("Which is larger?")
    reply = await send(visit)
    await expect(reply).to_contain_text("PNG image of 1568 by 784 pixels (“The roof in May”)")
    await expect(reply).to_contain_text("PNG image of 20 by 10 pixels (“cell.png”)")
    await expect(attached(visit)).to_have_count(0)
    await visit.open(await visit.thread_id())
    shown = visit.said.get_by_role("img", name="The roof in May")
    await expect(shown).to_be_visible()
    assert await shown.evaluate("(image) => image.naturalWidth") == 1568
    await shown.click()
    large = page.get_by_role("dialog", name="Image")
    await expect(large.get_by_role("img", name="The roof in May")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(large).to_be_hidden()
    await visit.button("Edit message").click()
    await page.get_by_role("textbox", name="Edit your message").fill("And now?")
    await page.get_by_role("textbox", name="Edit your message").press("Control+Enter")
    await expect(visit.said).to_contain_text("And now?")
    await expect(visit.said.locator("img")).to_have_count(2)
    await visit.idle()
    await expect(visit.reply).to_contain_text("(“The roof in May”)")


@both_looks
async def test_what_is_taken_is_seen_before_an_image_is_sent(
    visitors: Visitors, page_server: Client, look: str
) -> None:
    visit = await (await visitors(page_server.url, look)).open()
    button, hint = visit.button("Attach images"), visit.page.locator("#image-limits")
    limits = re.compile(r"Up to 10 images: PNG, JPEG, GIF, WEBP, \d+ MB in all")
    await expect(button).to_have_accessible_description(limits)
    await expect(hint).to_be_hidden()
    async with visit.page.expect_file_chooser():
        await button.click()
    await expect(hint).to_be_visible()
    await expect(hint).to_have_text(limits)
    await visit.field.click()
    await expect(hint).to_be_hidden()
    await visit.page.evaluate(
        DROP.replace('["dragover", "drop"]', '["dragover"]'), [["a.png", "image/png", ""]]
    )
    await expect(hint).to_be_visible()
    await visit.page.evaluate(DROP, [["a.png", "image/png", base64_of(png(9, 9))]])
    await expect(hint).to_have_text(re.compile("1 of 10 images: PNG"))
    await expect(hint).to_be_visible()
    assert await axe(visit.page, AXE) == []
    await visit.button("Remove image 1").click()
    await visit.field.click()
    await expect(hint).to_be_hidden()


async def test_an_image_is_pasted_and_one_beside_text_is_not_meant(
    page_server: Client, visitors: Visitors, look: str
) -> None:
    visit = await visitors(page_server.url, look, permissions=["clipboard-read", "clipboard-write"])
    await visit.open()
    await expect(visit.button("Attach images")).to_be_enabled()
    await visit.page.evaluate(COPY, [["image/png"], base64_of(png(30, 20))])
    await visit.field.focus()
    await visit.page.keyboard.press("Control+v")
    await expect(attached(visit).locator("img")).to_have_count(1)
    await visit.page.evaluate(COPY, [["image/png", "text/plain"], base64_of(png(30, 20))])
    await visit.page.keyboard.press("Control+v")
    await expect(visit.field).to_have_value("a\tb")
    await expect(attached(visit)).to_have_count(1)
    await visit.field.fill("")
    await expect(await send(visit)).to_contain_text("PNG image of 30 by 20 pixels (“image.png”)")
    await expect(visit.page.locator("#title")).to_contain_text("image.png")


async def test_dropped_files_are_taken_if_they_are_images_and_named_if_not(visit: Visit) -> None:
    svg = base64_of(b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>")
    broken = base64_of(png(9, 9)[:40])
    good = base64_of(png(40, 30))
    note = visit.page.locator("#connection")
    await expect(visit.button("Attach images")).to_be_enabled()
    for name, text in (("logo.png", svg), ("half.png", broken)):
        await visit.page.evaluate(DROP, [[name, "image/png", text]])
        await expect(note).to_contain_text(f"“{name}”")
        await expect(attached(visit)).to_have_count(0)
    await visit.page.evaluate(DROP, [[EVIL, "image/png", good]])
    await expect(attached(visit).locator("input")).to_have_value(EVIL)
    await expect(attached(visit).locator("img")).to_have_count(1)
    await expect(await send(visit)).to_contain_text(EVIL)
    assert await visit.said.locator("img").get_attribute("alt") == EVIL
    await expect(visit.page.locator("#title")).to_have_text(EVIL)
    await visit.page.evaluate(DROP, [[f"{i}.png", "image/png", good] for i in range(11)])
    await expect(note).to_contain_text("10 images at most")
    await expect(attached(visit).locator("img")).to_have_count(10)


async def test_images_that_are_too_large_together_are_refused_until_one_is_removed(
    visitors: Visitors, tmp_path: Path, look: str
) -> None:
    async with serving(settings(tmp_path / "t.db", max_image_bytes=12_000)) as client:
        visit = await (await visitors(client.url, look)).open()
        await choose(visit, payload("first.png", png(640, 480)))
        async with visit.page.expect_file_chooser() as chooser:
            await visit.button("Attach images").click()
        await (await chooser.value).set_files([payload("second.png", png(640, 480, (9, 90, 9)))])
        note = visit.page.locator("#connection")
        await expect(note).to_contain_text("“second.png” is too much.")
        await expect(note).to_contain_text("12 kB in all")
        await expect(attached(visit)).to_have_count(1)
        await visit.field.fill("What is this?")
        await visit.button("Remove image 1").press("Enter")
        await choose(visit, payload("second.png", png(640, 480, (9, 90, 9))))
        await expect(await send(visit)).to_contain_text("pixels (“second.png”)")


async def test_a_photograph_stands_the_right_way_up_and_tells_no_place(visit: Visit) -> None:
    drawn: str = await visit.page.evaluate(
        """() => {
          const canvas = Object.assign(document.createElement("canvas"), { width: 60, height: 40 });
          canvas.getContext("2d").fillRect(0, 0, 60, 40);
          return canvas.toDataURL("image/jpeg");
        }"""
    )
    lying = base64.b64decode(drawn.partition(",")[2])
    photograph = payload("day.jpg", lying[:2] + ROTATED + lying[2:], "image/jpeg")
    await choose(visit, photograph, payload("dot", gif(1, 1), ""))
    reply = await send(visit)
    await expect(reply).to_contain_text("JPEG image of 40 by 60 pixels (“day.jpg”)")
    await expect(reply).to_contain_text("GIF image of 1 by 1 pixels (“dot”)")
    source = await visit.said.locator("img").first.get_attribute("src")
    assert source is not None
    assert b"Exif" not in base64.b64decode(source.partition(",")[2])


async def test_images_of_a_draft_outlive_a_reload_and_are_forgotten_once_they_are_sent(
    visit: Visit,
) -> None:
    page = visit.page
    await choose(visit, payload("leaf.png", png(24, 16)), payload("stem.png", png(8, 8)))
    await page.get_by_role("button", name="Remove image 2").click()
    await expect(attached(visit)).to_have_count(1)
    await page.get_by_role("textbox", name="Description of image 1").fill("A leaf")
    await page.wait_for_function(f"({KEPT})().then((count) => count === 1)")
    await page.reload()
    await expect(attached(visit).locator("img")).to_have_count(1)
    await expect(attached(visit).locator("input")).to_have_value("A leaf")
    await expect(await send(visit)).to_contain_text("24 by 16 pixels (“A leaf”)")
    await page.wait_for_function(f"({KEPT})().then((count) => count === 0)")


async def test_words_typed_while_a_draft_is_opened_leave_its_images(visit: Visit) -> None:
    await choose(visit, payload("roof.png", png(40, 30)))
    await visit.page.wait_for_function(f"({KEPT})().then((count) => count === 1)")
    known = asyncio.Event()

    async def hold(route: Route) -> None:
        await known.wait()
        await route.continue_()

    await visit.page.route("**/me", hold)
    await visit.page.reload()
    await visit.field.fill("Which roof is this?")
    await expect(attached(visit)).to_have_count(0)
    known.set()
    for _ in range(2):
        await expect(attached(visit).locator("img")).to_have_count(1)
        await expect(visit.field).to_have_value("Which roof is this?")
        await visit.page.reload()


async def test_a_deletion_that_is_undone_brings_the_images_of_the_draft_back(
    visitors: Visitors, tmp_path: Path, look: str
) -> None:
    async with serving(settings(tmp_path / "undo.db", undo_seconds=60)) as client:
        visit = await (await visitors(client.url, look)).open()
        await visit.ask("Hello")
        await choose(visit, payload("leaf.png", png(24, 16)))
        await visit.page.wait_for_function(f"({KEPT})().then((count) => count === 1)")
        await show_list(visit)
        await visit.page.get_by_role("link", name="Hello").hover()
        await visit.button("Delete Hello").click()
        await expect(visit.page.locator("#undo")).to_contain_text("Deleted “Hello”.")
        await visit.field.fill("N")
        await choose(visit, payload("stem.png", png(8, 8)))
        await visit.button("Remove image 1").press("Enter")
        await visit.page.wait_for_function(f"({KEPT})().then((count) => count === 1)")
        await visit.field.fill("")
        await visit.button("Undo").click()
        await expect(visit.said).to_have_text("Hello")
        await expect(attached(visit).locator("img")).to_have_count(1)
        await expect(attached(visit).locator("input")).to_have_value("leaf.png")
        await visit.leave()


async def test_images_of_somebody_elses_draft_are_forgotten(visit: Visit) -> None:
    await choose(visit, payload("leaf.png", png(24, 16)))
    await visit.page.wait_for_function(f"({KEPT})().then((count) => count === 1)")
    await visit.page.evaluate("() => localStorage.setItem('words-of', 'somebody else')")
    await visit.page.reload()
    await expect(visit.button("Attach images")).to_be_enabled()
    await visit.page.wait_for_function(f"({KEPT})().then((count) => count === 0)")
    await expect(attached(visit)).to_have_count(0)


async def test_a_message_whose_images_are_lost_is_not_sent_and_its_words_are_in_the_field(
    visit: Visit,
) -> None:
    page = visit.page
    await visit.ask("Hello")
    await choose(visit, payload("leaf.png", png(24, 16)))
    await visit.field.fill("What is it?")
    await page.route("**/chat", lambda route: route.abort())
    await visit.button("Send").click()
    await expect(visit.said.last).to_contain_text("Not sent yet")
    await page.wait_for_function(f"({KEPT})().then((count) => count === 1)")
    await page.evaluate("() => { indexedDB.deleteDatabase('images-of-words'); }")
    await page.unroute("**/chat")
    await page.reload()
    await expect(visit.field).to_have_value("What is it?")
    await expect(visit.page.locator("#connection")).to_contain_text("were not kept")
    await expect(visit.said).to_have_count(1)
    await page.reload()
    await expect(visit.field).to_have_value("What is it?")
    await expect(visit.said).to_have_count(1)


@pytest.mark.full
@both_looks
async def test_axe_finds_nothing_where_images_are(visit: Visit) -> None:
    page = visit.page
    await choose(visit, payload("leaf.png", png(240, 160)), payload("stem.png", png(8, 8)))
    await send(visit)
    await choose(visit, payload("leaf.png", png(240, 160)))
    await visit.button("Export thread").click()
    await expect(visit.button("Markdown")).to_be_visible()
    assert await axe(page, AXE) == []
    await page.keyboard.press("Escape")
    await visit.said.get_by_role("img", name="leaf.png").click()
    await expect(page.get_by_role("dialog", name="Image")).to_be_visible()
    assert await axe(page, AXE) == []


async def test_a_message_with_an_image_waits_over_a_reload_and_is_sent_whole(visit: Visit) -> None:
    page = visit.page
    await visit.ask("Hello")
    await choose(visit, payload("leaf.png", png(24, 16)))
    await page.route("**/chat", lambda route: route.abort())
    await visit.button("Send").click()
    await expect(visit.said.last).to_contain_text("Not sent yet")
    await expect(visit.said.last.locator("img")).to_have_count(1)
    await page.reload()
    await expect(visit.said.last).to_contain_text("Not sent yet")
    await expect(visit.said.last.locator("img")).to_have_count(1)
    await page.unroute("**/chat")
    await page.reload()
    await expect(visit.replies).to_have_count(2)
    await visit.idle()
    await expect(visit.reply).to_contain_text("24 by 16 pixels (“leaf.png”)")


async def test_what_the_server_refuses_goes_back_to_the_field_with_its_images(visit: Visit) -> None:
    page = visit.page
    refusal: dict[str, Any] = {"code": "images_not_supported", "detail": "It takes none."}
    await page.route("**/chat", lambda route: route.fulfill(status=422, json=refusal))
    await choose(visit, payload("leaf.png", png(24, 16)))
    await visit.field.fill("What is it?")
    await visit.button("Send").click()
    await expect(visit.alert).to_contain_text("This model takes no images")
    await expect(visit.field).to_have_value("What is it?")
    await expect(attached(visit).locator("img")).to_have_count(1)


@pytest.mark.parametrize("look", ["desktop light"], indirect=False)
async def test_a_model_that_takes_no_images_is_offered_none(
    tmp_path: Path, endpoint: StrictEndpoint, visitors: Visitors, look: str
) -> None:
    values = {"models": ("offline",), "image_models": "offline"}
    async with serving(endpoint_settings(tmp_path / "m.db", endpoint, **values)) as client:
        visit = await (await visitors(client.url, look)).open()
        attach = visit.button("Attach images")
        await expect(attach).to_be_disabled()
        await expect(attach).to_have_attribute("title", "The model scripted takes no images.")
        await attach.click(force=True)
        await expect(visit.page.locator("#connection")).to_contain_text("scripted takes no images")
        await expect(visit.page.locator("#image-limits")).to_be_visible()
        await visit.page.evaluate(DROP, [["a.png", "image/png", base64_of(png(9, 9))]])
        await expect(visit.page.locator("#connection")).to_contain_text("takes no images")
        await visit.page.get_by_role("combobox", name="Model").select_option("offline")
        await choose(visit, payload("leaf.png", png(24, 16)))
        await visit.leave()


@pytest.mark.full
async def test_limits_that_could_not_be_loaded_are_loaded_again(
    visitors: Visitors, client: Client
) -> None:
    visit = await visitors(client.url)
    await visit.page.route("**/models", lambda route: route.abort(), times=1)
    await visit.open()
    await visit.button("Attach images").click(force=True)
    await expect(visit.status).to_have_text(re.compile("is not known yet"))
    await expect(visit.page.locator(".image-limits")).to_contain_text("Up to 10 images")
