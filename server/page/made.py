"""The page as its file wants it: index.html with what is the deployer's own, and the files beside
it."""

import hashlib
import json
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path

from turnstream.server.page.file import Legal, PageFile
from turnstream.server.page.texts import Text, direction, read_texts, translated

INDEX = "index.html"
_LANGUAGE = re.compile(r'<html lang="en">')
_ICON = re.compile(r'<link rel="icon" [^<>]*>')
_TITLE = re.compile(r"(?<=<title>)[^<]*")
_ABOUT = re.compile(r'(name="description"\s+content=")[^"]*')
_MARK = re.compile(r'(?<=<span class="brand">)\s*<svg(?:[^<]|<(?!/svg>))*</svg>')
_NAME = re.compile(r'(?<=<span class="brand-name">)[^<]*')
_LEGAL = re.compile(r'<p class="legal" hidden></p>')
_HEAD_END = re.compile(r"(?=</head>)")
_NOT_NAME = re.compile(r"[^A-Za-z0-9_]")


def made_page(index: str, page: PageFile, folder: Path) -> Mapping[str, bytes]:
    """The files that are made at the start, by name: index.html, and what it names.

    `index` is the page as it was built; files that `page` names are in `folder`. Raises OSError and
    PageError.
    """
    texts: Mapping[str, Text] = {}
    if page.texts and page.locale:
        texts = read_texts(folder / page.texts)
        language = f'<html lang="{page.locale}" dir="{direction(page.locale)}">'
        index = translated(_put(_LANGUAGE, language, index), texts)
    files = _Files(folder)
    sheets = [files.add(Path("theme.css"), theme)] if (theme := _theme(page, files)) else []
    if page.logo:
        light, dark = files.named(page.logo.light), files.named(page.logo.dark or page.logo.light)
        index = _put(_ICON, f'<link rel="icon" href="{light}" />', index)
        index = _put(_MARK, _logo(light, dark), index)
    if page.title:
        for place in (_TITLE, _ABOUT, _NAME):
            index = _put(place, escape(page.title), index)
    if page.legal:
        index = _put(_LEGAL, f'<p class="legal">{_legal(page.legal)}</p>', index)
    links = [f'<link rel="stylesheet" href="{name}" />' for name in sheets]
    if page.style:
        links.append(f'<link id="overlay" rel="stylesheet" href="{files.named(page.style)}" />')
    index = _put(_HEAD_END, "\n".join([*links, _settings(page, texts)]), index)
    return {**files.by_name, INDEX: index.encode()}


class _Files:
    """Files with the hash of their content in their names, so that browsers keep them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.by_name: dict[str, bytes] = {}

    def named(self, name: str) -> str:
        """Add a file of the folder; return the name that it is served under."""
        return self.add(Path(name), (self.folder / name).read_bytes())

    def add(self, path: Path, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()[:8].upper()
        name = f"{_NOT_NAME.sub('_', path.stem)}-{digest}{path.suffix}"
        self.by_name[name] = content
        return name


def _put(place: re.Pattern[str], text: str, index: str) -> str:
    """Replace what a pattern finds in the page, but for the pattern's group."""
    changed, count = place.subn(lambda found: "".join((*found.groups(), text)), index)
    assert count == 1, place.pattern
    return changed


def _theme(page: PageFile, files: _Files) -> bytes:
    """The style sheet of colours, fonts and hidden parts; empty without any of them."""
    variables = {
        name: f"light-dark({colour.light}, {colour.dark})" for name, colour in page.colours.items()
    }
    families = {"font": page.fonts.text, "mono": page.fonts.code}
    variables |= {name: family for name, family in families.items() if family}
    faces = [
        f'@font-face {{ font-family: "{font.family}"; src: url({files.named(font.file)}); '
        f"font-weight: {font.weight}; font-style: {font.style}; font-display: swap; }}"
        for font in page.fonts.files
    ]
    lines = [f"  --{name}: {value};" for name, value in variables.items()]
    root = [":root {", *lines, "}"] if lines else []
    hidden = [f'[data-part="{part}"] {{ display: none !important; }}' for part in page.hidden]
    return "\n".join([*faces, *root, *hidden]).encode()


def _logo(light: str, dark: str) -> str:
    """The picture beside the name, for each look."""
    one = '<img src="{}" alt="" class="logo{}" />'
    if light == dark:
        return one.format(light, "")
    return one.format(light, " in-light") + one.format(dark, " in-dark")


def _legal(legal: Legal) -> str:
    text = escape(legal.text)
    if legal.link is None:
        return text
    opened = f'<a href="{escape(legal.link)}" target="_blank" rel="noopener noreferrer">'
    if legal.label is None:
        return f"{opened}{text}</a>"
    return f"{text} {opened}{escape(legal.label)}</a>"


def _settings(page: PageFile, texts: Mapping[str, Text]) -> str:
    """The element with the settings that `static/js/settings.js` reads."""
    told = page.model_dump(
        include={"title", "welcome", "prompts", "hidden", "locale"}, exclude_none=True, mode="json"
    )
    if texts:
        told["texts"] = texts
    data = json.dumps(told, ensure_ascii=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="settings">{data}</script>\n'
