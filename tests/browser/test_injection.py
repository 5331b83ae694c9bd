"""Hostile text in every field that a model, a tool or a person controls: nothing runs or loads.

That nothing ran, nothing was blocked and nothing foreign was asked for is what every test of this
folder ends with; here the text is such that it would.
"""

import json

from playwright.async_api import expect

from tests.browser.site import Visit
from tests.support.endpoint import Say, StrictEndpoint, call_reply, reply, text_reply
from tests.support.serving import Client

EVIL = (
    "<img src=x onerror=\"throw new Error('ran')\"><script>throw new Error('ran')</script>"
    "\"'></textarea><svg onload=alert(1)><style>*{display:none}</style>{{7*7}}${7*7}"
)
IMAGE = "http://evil.invalid/leak.png"
RENDER, SELECT = "render_ui_component", "request_user_selection"

MARKDOWN = f"""{EVIL}

![alt]({IMAGE}) ![x](data:image/svg+xml,<svg/onload=alert(1)>)

[js](javascript:alert(1)) [js2](java&#115;cript:alert(1)) [rel](/chat) [cred](https://a:b@evil.invalid/)
[ok](https://example.org/a?b=c&d=%22) <javascript:alert(1)> <https://example.org/auto>

<div onclick="alert(1)" style="position:fixed;inset:0">block</div>

```html
{EVIL}
```

```"><img src=x onerror=alert(1)>
text
```

| {EVIL.replace("|", "")} | b |
|---|---|
| <img src={IMAGE}> | [x](vbscript:x) |
"""

SERIES = [{"name": EVIL[:80], "data": [1, 2]}, {"name": "__proto__", "data": [1, 2]}]
LABELS = {"title": EVIL, "x_label": EVIL, "y_label": EVIL}
CARD = {"label": EVIL, "value": EVIL, "unit": EVIL, "delta": EVIL}
COMPONENTS: dict[str, dict[str, object]] = {
    "line_chart": LABELS | {"x": [EVIL, "b"], "series": SERIES},
    "bar_chart": LABELS | {"categories": [EVIL[:80], "b"], "series": SERIES},
    "table": {
        "title": EVIL,
        "columns": [{"key": "constructor", "label": EVIL}, {"key": EVIL}],
        "rows": [{"constructor": EVIL, EVIL: EVIL}, {}],
    },
    "metric_cards": {"title": EVIL, "cards": [CARD]},
    "report": {"title": EVIL, "markdown": MARKDOWN},
    "alert": {"title": EVIL, "message": EVIL, "tone": "danger"},
}


async def nothing_came_in(visit: Visit) -> None:
    """No element that only hostile text could have made."""
    made = visit.log.locator(
        "script, style, iframe, object, embed, link, [onerror], [onclick], [style*=fixed]"
    )
    await expect(made).to_have_count(0)
    await expect(visit.log.locator("img")).to_have_count(0)
    for link in await visit.log.get_by_role("link").all():
        assert str(await link.get_attribute("href")).startswith(
            ("https://example.org/", "http://evil.invalid/leak.png")
        )


async def test_hostile_markdown_is_text(scripted_visit: Visit, endpoint: StrictEndpoint) -> None:
    endpoint.script(reply(*(Say(MARKDOWN[i : i + 40]) for i in range(0, len(MARKDOWN), 40))))
    reply_ = await scripted_visit.ask(EVIL)
    await nothing_came_in(scripted_visit)
    await expect(reply_).to_contain_text("onerror=")
    await expect(reply_.get_by_role("link", name="ok")).to_have_attribute(
        "href", "https://example.org/a?b=c&d=%22"
    )
    for name in ("js", "js2", "rel", "cred"):
        await expect(reply_.get_by_role("link", name=name, exact=True)).to_have_count(0)
    await expect(scripted_visit.said).to_contain_text("onerror=")
    await scripted_visit.page.reload()
    await expect(scripted_visit.reply).to_contain_text("onerror=")
    await nothing_came_in(scripted_visit)


async def test_hostile_props_are_text(scripted_visit: Visit, endpoint: StrictEndpoint) -> None:
    calls = [{"component": name, "props": props} for name, props in COMPONENTS.items()]
    endpoint.script(call_reply(*((RENDER, json.dumps(call)) for call in calls)))
    reply_ = await scripted_visit.ask("Show")
    await expect(reply_.locator("figure")).to_have_count(len(COMPONENTS))
    await expect(reply_.locator("canvas")).to_be_attached()
    await nothing_came_in(scripted_visit)


async def test_hostile_questions_are_text_and_their_values_come_back_whole(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    options = [{"value": EVIL, "label": EVIL, "description": EVIL}, {"value": "b"}]
    question = {"kind": "single", "prompt": EVIL[:400], "options": options, "default": EVIL}
    endpoint.script(call_reply((SELECT, json.dumps(question))), text_reply("Thank you."))
    await scripted_visit.ask("Ask")
    await nothing_came_in(scripted_visit)
    await scripted_visit.page.locator("form.question").get_by_role("button", name="Answer").click()
    await expect(scripted_visit.page.locator(".answered")).to_be_visible()
    await scripted_visit.idle()
    await nothing_came_in(scripted_visit)
    assert json.loads(endpoint.requests[-1]["messages"][-1]["content"]) == {"value": EVIL}


async def test_hostile_tool_names_arguments_results_and_errors_are_text(
    scripted_visit: Visit, endpoint: StrictEndpoint
) -> None:
    endpoint.script(
        call_reply(
            (EVIL[:60], json.dumps({"expression": EVIL, "__proto__": EVIL})),
            ("calculator", json.dumps({"expression": EVIL})),
            ("calculator", EVIL),
            ("__proto__", "{}"),
        ),
        text_reply("Done."),
    )
    await scripted_visit.ask("Call")
    for card in await scripted_visit.cards.all():
        await card.locator("summary").click()
    await nothing_came_in(scripted_visit)
    await scripted_visit.button("Event inspector").click()
    panel = scripted_visit.page.locator("#inspector")
    await panel.locator(".event button").first.click()
    await expect(panel.locator("img, script")).to_have_count(0)


async def test_a_hostile_title_is_text(visit: Visit, client: Client) -> None:
    thread_id, _ = await client.turn({"message": "Hello"})
    answer = await client.http.patch(f"/threads/{thread_id}", json={"title": EVIL[:190]})
    assert answer.status_code == 200
    await visit.open(thread_id)
    await expect(visit.page.locator("#title")).to_contain_text("onerror=")
    await expect(visit.page.locator("#threads img, #threads script")).to_have_count(0)


async def test_an_image_of_a_message_is_shown_only_when_it_came_along(
    visit: Visit, client: Client
) -> None:
    pixel = (
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGA"
        "WjR9awAAAABJRU5ErkJggg=="
    )
    parts = [
        {"type": "text", "text": "See"},
        {"type": "image", "image": pixel},
        {"type": "image", "image": IMAGE},
    ]
    thread_id, _ = await client.turn({"message": {"parts": parts}})
    await visit.open(thread_id)
    await expect(visit.said.locator("img")).to_have_count(1)
    await expect(visit.said).to_contain_text(IMAGE)
