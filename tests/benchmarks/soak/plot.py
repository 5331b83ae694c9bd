"""The figures of a soak as a picture: one panel each, in SVG, for any browser."""

from collections.abc import Sequence
from html import escape

from tests.benchmarks.soak.trends import WARM_UP, Verdict

WIDTH, PANEL, LEFT, RIGHT, TOP, BOTTOM = 900, 130, 70, 20, 26, 22
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.title{font-weight:600}.axis{stroke:#999}"
    ".warm{fill:#eee}.line{fill:none;stroke:#1f6feb;stroke-width:1.5}.grows .line{stroke:#c62828}"
)


def draw(verdicts: Sequence[Verdict], seconds: float) -> str:
    """An SVG document; the warm-up is grey, what grows is red."""
    panels = "".join(
        f'<g class="{"grows" if each.grows else "still"}" transform="translate(0 {n * PANEL})">'
        f"{_panel(each, seconds)}</g>"
        for n, each in enumerate(verdicts)
    )
    height = PANEL * len(verdicts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">'
        f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#fff"/>{panels}</svg>\n'
    )


def _panel(verdict: Verdict, seconds: float) -> str:
    points = verdict.points
    top = max(value for _, value in points) * 1.1 or 1.0
    width, height = WIDTH - LEFT - RIGHT, PANEL - TOP - BOTTOM

    def place(at: float, value: float) -> str:
        return f"{LEFT + width * at / seconds:.1f},{TOP + height * (1 - value / top):.1f}"

    line = " ".join(place(min(at, seconds), value) for at, value in points)
    base = TOP + height
    return (
        f'<text class="title" x="{LEFT}" y="{TOP - 8}">{escape(verdict.figure.title)}</text>'
        f'<rect class="warm" x="{LEFT}" y="{TOP}" width="{width * WARM_UP:.1f}" height="{height}"/>'
        f'<path class="axis" d="M{LEFT} {TOP}V{base}H{LEFT + width}" fill="none"/>'
        f'<text x="{LEFT - 8}" y="{TOP + 10}" text-anchor="end">{top:.3g}</text>'
        f'<text x="{LEFT - 8}" y="{base}" text-anchor="end">0</text>'
        f'<text x="{LEFT + width}" y="{base + 15}" text-anchor="end">{seconds / 60:.3g} min</text>'
        f'<polyline class="line" points="{line}"/>'
    )
