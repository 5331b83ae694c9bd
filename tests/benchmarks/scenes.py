"""Tokens of seven scenes, with the data written out and by reference.

    make bench ARGS=scenes

The scenes are of the kinds and sizes that OpenUI publishes token counts for
(github.com/thesysdev/openui, benchmarks/README.md); names, words and numbers are our own. Each is
the calls of one message. A call counts as its tool's name and its arguments as compact JSON, by
the encoding of GPT-5 (`o200k_base`), as OpenUI counts; what a provider puts around a call is left
out. By reference the rows and points come from results of tools (`data_from`), which the scene
does not count: a chart or a table without a result is written out in both.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import tiktoken

from turnstream.tools.ui import render_ui_component, request_user_selection

Args = dict[str, Any]
RENDER, SELECT = render_ui_component.name, request_user_selection.name
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


@dataclass(frozen=True)
class Scene:
    name: str
    published: tuple[int, int, int]
    """OpenUI's figures for its own scene: its language, JSON of components, JSON patches."""
    calls: tuple[tuple[str, Args], ...]
    results: Mapping[str, Args] = field(default_factory=dict)
    """Results of tools, by the tools' names."""

    @property
    def written(self) -> list[tuple[str, Args]]:
        """The calls with the points of the results in them. Raises ValueError if one is invalid."""
        return [(tool, self._written(tool, args)) for tool, args in self.calls]

    def _written(self, tool: str, args: Args) -> Args:
        if tool == SELECT:
            return request_user_selection.validate(args, self.results.get)
        whole = render_ui_component.validate(args, self.results.get)
        return {name: whole[name] for name in ("component", "props")}


def shown(component: str, data_from: str | None = None, **props: Any) -> tuple[str, Args]:
    source = {} if data_from is None else {"data_from": data_from}
    return RENDER, {"component": component, "props": props, **source}


def asked(prompt: str, required: tuple[str, ...] = (), **fields: Any) -> tuple[str, Args]:
    """A form; a text field of a string alone."""
    properties = {
        name: {"type": "string"} if one is str else {"type": "boolean"} if one is bool else one
        for name, one in fields.items()
    }
    schema = {"type": "object", "properties": properties, "required": [*required]}
    return SELECT, {"kind": "form", "prompt": prompt, "fields": schema}


def table(keys: str, *rows: tuple[Any, ...]) -> Args:
    columns = keys.split()
    return {
        "columns": [{"key": key} for key in columns],
        "rows": [dict(zip(columns, row, strict=True)) for row in rows],
    }


def card(label: str, value: float | str, unit: str = "", delta: str = "") -> Args:
    rest = {"unit": unit, "delta": delta}
    return {"label": label, "value": value, **{key: text for key, text in rest.items() if text}}


STAFF = table(
    "name team salary change",
    ("Ines Wolf", "Turbines", 71200, 3.4),
    ("Bram Visser", "Grid", 68400, 2.9),
    ("Lucia Prieto", "Planning", 73900, 5.1),
    ("Oskar Lind", "Finance", 80500, 4),
    ("Mei Tanaka", "Legal", 77100, 1.8),
)
ENERGY = {
    "categories": MONTHS[3:9],
    "series": [{"name": "Energy", "data": [412, 455, 498, 521, 507, 430]}],
}
VISITORS = {
    "categories": MONTHS,
    "series": [
        {
            "name": "Visitors",
            "data": [
                *(61200, 63100, 66800, 70400, 72900, 75100),
                *(77600, 80300, 84900, 88200, 91700, 95300),
            ],
        }
    ],
}
CHANNELS = {
    "categories": ["Search", "Fairs", "Partners", "Press", "Other"],
    "series": [{"name": "Share", "data": [31, 24, 19, 15, 11]}],
}
VIEWS = table(
    "view users share uses",
    ("Alarms", 38100, 58.2, 6.1),
    ("Loads", 29400, 44.9, 4.7),
    ("Forecast", 22600, 34.5, 3.3),
    ("Outages", 18900, 28.9, 2.8),
    ("Reports", 15200, 23.2, 1.4),
    ("Maps", 12700, 19.4, 2.2),
    ("Archive", 6300, 9.6, 1.1),
)
INCOME = {
    "x": [f"2025-{month:02}-01T00:00" for month in range(1, 13)],
    "series": [
        {"name": "Monthly", "data": [200 + 7 * month for month in range(12)]},
        {"name": "Yearly", "data": [2400 + 84 * month for month in range(12)]},
    ],
}
PLANS = table(
    "feature start team company",
    ("Price a month", "9 €", "24 €", "on request"),
    ("Sites", "1", "8", "any number"),
    ("Devices", "up to 20", "up to 500", "any number"),
    ("Archive", "30 days", "2 years", "10 years"),
    ("Users", "2", "20", "any number"),
    ("Roles", "-", "yes", "your own"),
    ("Alarms", "10 a day", "500 a day", "any number"),
    ("Interfaces", "REST", "REST, OPC UA", "also your own"),
    ("Forecasts", "-", "1 day", "7 days"),
    ("Single sign-on", "-", "-", "yes"),
    ("Audit trail", "-", "-", "yes"),
    ("Own region", "-", "-", "yes"),
    ("Help", "forum", "mail, 1 day", "phone, 1 hour"),
)
PLAN_WORDS = """\
Pick what your sites need now; change or leave at any month's end.

## Start: 9 € a month
For one site and the first devices.
- 1 site, 20 devices
- 30 days of archive
- Alarms by mail
- Help in the forum

## Team: 24 € a month
**Chosen most often.** For several sites with shifts. All of Start, and
- 8 sites, 500 devices
- 2 years of archive
- Roles and shifts
- Forecasts for a day
- OPC UA
- Answers by mail in a day

## Company: on request
For operators with duties of their own. All of Team, and
- Any number of sites and devices
- 10 years of archive
- Single sign-on, audit trail
- A region of your own
- Answers by phone in an hour

Your buyers get our papers on data protection and security."""
PLAN_QUESTIONS = """\
<details><summary>Can we change the plan?</summary>

Yes, up or down. It counts from the next month, and what is paid is set off.
</details>

<details><summary>Can we try it?</summary>

Start and Team are free for thirty days. For Company we set up a trial together.
</details>

<details><summary>Is a year cheaper?</summary>

Two months are free if you pay for a year. Company has terms of its own.
</details>

<details><summary>Where is our data?</summary>

In the region that you choose; copies are encrypted, and you get them when you leave.
</details>"""
BOOT_WORDS = """\
Light boots for a day on gravel and grating. **89.00 €**, in stock. Back within 30 days for \
free; sent in one to two days.

The **Ridge 2** has a mesh that lets air through and a cap that keeps bolts out. The sole springs \
back and holds on wet steel.

**Fit:** as your shoes are. Between two sizes, take the larger one.

`mesh` `soft cap` `wet grip` `padded tongue` `every day`"""
BOOT = table(
    "detail value",
    ("Weight", "540 g (size 42)"),
    ("Heel", "9 mm higher"),
    ("Upper", "woven mesh"),
    ("Middle", "foam"),
    ("Sole", "nitrile rubber"),
    ("Care", "brush, dry in the air"),
)
CONTACT = {
    "name": {"type": "string", "minLength": 2},
    "mail": {"type": "string", "format": "email"},
    "phone": {"type": "string", "minLength": 7, "maxLength": 20},
    "about": {"enum": ["question", "help", "offer", "invoice", "praise"]},
    "message": {"type": "string", "minLength": 10},
}

SCENES = (
    Scene(
        "a table of five people",
        (148, 357, 340),
        (shown("table", "list_staff", title="Staff"),),
        {"list_staff": STAFF},
    ),
    Scene(
        "a figure and a chart of six months",
        (231, 516, 520),
        (
            shown("metric_cards", cards=[card("Energy", 2823, "MWh", "+6.1 % on last half-year")]),
            shown("bar_chart", "energy", title="Energy by month", y_label="MWh"),
        ),
        {"energy": ENERGY},
    ),
    Scene("a contact form", (294, 849, 893), (asked("Write to us", tuple(CONTACT), **CONTACT),)),
    Scene(
        "a dashboard",
        (1226, 2261, 2247),
        (
            shown(
                "metric_cards",
                title="Portal",
                cards=[
                    card("Visitors a month", 95300, delta="+3.9 %"),
                    card("New in 30 days", 18200, delta="+2.4 %"),
                    card("Monthly income", 277, "k€", "+2.6 %"),
                    card("Yearly income", 3.32, "M€", "+16 % on last year"),
                ],
            ),
            shown("bar_chart", "visitors", title="Visitors by month"),
            shown("pie_chart", "channels", title="Where new ones come from"),
            shown("table", "views", title="Views used most, last 30 days"),
            shown("line_chart", "income", title="Income", y_label="k€"),
        ),
        {"visitors": VISITORS, "channels": CHANNELS, "views": VIEWS, "income": INCOME},
    ),
    Scene(
        "a page of prices",
        (1195, 2379, 2487),
        (
            shown("report", title="Plans", markdown=PLAN_WORDS),
            shown("table", "plans", title="All features"),
            shown("report", title="Questions", markdown=PLAN_QUESTIONS),
            (
                SELECT,
                {
                    "kind": "single",
                    "prompt": "Which plan?",
                    "options": [{"value": one} for one in ("Start", "Team", "Company")],
                },
            ),
        ),
        {"plans": PLANS},
    ),
    Scene(
        "a panel of settings",
        (540, 1205, 1244),
        (
            asked(
                "Your profile",
                ("shown_name",),
                shown_name={"type": "string", "minLength": 2, "maxLength": 60},
                picture={"type": "string", "format": "uri"},
            ),
            asked(
                "Logging in",
                second_factor={
                    "type": "boolean",
                    "description": "Ask for a code as well. Have an app or codes at hand.",
                },
            ),
            asked(
                "What you get by mail",
                of_the_account={
                    "type": "boolean",
                    "default": True,
                    "description": "What happens to your account",
                },
                news={"type": "boolean", "description": "What is new in the portal"},
                warnings={
                    "type": "boolean",
                    "default": True,
                    "description": "Log-ins from new devices",
                },
            ),
        ),
    ),
    Scene(
        "a product",
        (1166, 2381, 2449),
        (
            shown("report", title="Ridge 2, work boots", markdown=BOOT_WORDS),
            shown("table", "details", title="Details"),
            asked(
                "Into the cart",
                ("size", "colour"),
                size={"enum": [str(size) for size in range(37, 47)]},
                colour={"enum": ["black", "sand", "grey with orange"], "default": "black"},
            ),
        ),
        {"details": BOOT},
    ),
)


def main() -> None:
    encoding = tiktoken.encoding_for_model("gpt-5")

    def tokens(calls: list[tuple[str, Args]]) -> int:
        return sum(
            len(encoding.encode(tool))
            + len(encoding.encode(json.dumps(args, ensure_ascii=False, separators=(",", ":"))))
            for tool, args in calls
        )

    print("| scene | by reference | written out | OpenUI Lang | JSON tree | JSON patches |")
    print("|---|---:|---:|---:|---:|---:|")
    rows = [(tokens([*s.calls]), tokens(s.written), *s.published) for s in SCENES]
    for scene, row in zip(SCENES, rows, strict=True):
        print(f"| {scene.name} | {' | '.join(map(str, row))} |")
    print(f"| all | {' | '.join(str(sum(column)) for column in zip(*rows, strict=True))} |")


if __name__ == "__main__":
    main()
