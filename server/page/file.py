"""The page's file: how a deployer makes the page their own. docs/branding.md explains each key."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
)

from turnstream.server.page import PageError
from turnstream.server.page.colours import Colour as Shade
from turnstream.server.page.colours import faint, is_colour, palette
from turnstream.server.toml_file import TomlFile, near, read_toml

SETTING = "TURNSTREAM_PAGE"
MAX_FILE_BYTES = 2_000_000
IMAGES = (".svg", ".png", ".webp")
Part = Literal[
    "archive", "colours", "delete", "edit", "export", "graph", "images", "inspector", "keys",
    "model", "nodes", "reasoning", "regenerate", "rename", "search", "threads", "times", "tokens",
    "tool_calls",
]  # fmt: skip
"""A part of the page that can be hidden."""
_WORD = r"-?[^\W\d][\w-]*"
_NAME = re.compile(rf"""(?:"[\w .&+-]+"|'[\w .&+-]+'|{_WORD}(?: +{_WORD})*)""")
_FAMILY = re.compile(r"[\w .&+-]+")
_LOCALE = re.compile(
    r"[a-z]{2,3}(?:-[A-Za-z]{4})?(?:-(?:[A-Za-z]{2}|\d{3}))?"
    r"(?:-(?:[A-Za-z0-9]{5,8}|\d[A-Za-z0-9]{3}))?",
    re.ASCII,
)
"""Language, script, region and variant: a browser's `Intl` throws at any other tag."""
_ORIGIN = re.compile(r"https?://(?:\*\.)?[A-Za-z0-9.-]+(?::\d{1,5})?")


def _as_colour(value: Any) -> Any:
    return {"light": value, "dark": value} if isinstance(value, str) else value


def _as_prompt(value: Any) -> Any:
    return {"label": value, "message": value} if isinstance(value, str) else value


def _as_logo(value: Any) -> Any:
    return {"light": value} if isinstance(value, str) else value


def _hex(text: str) -> str:
    if not is_colour(text):
        raise ValueError(f"{text!r} is not a colour: write it as #rrggbb")
    return text.lower()


def _families(text: str) -> str:
    if not all(_NAME.fullmatch(name.strip(" ")) for name in text.split(",")):
        raise ValueError(
            f"{text!r} is not a list of font families, as CSS has them: put a name in quotes that "
            "is not of plain words"
        )
    return text


def _family(text: str) -> str:
    if not _FAMILY.fullmatch(text):
        raise ValueError(f"{text!r} is not the name of one font family, without quotes")
    return text


def _locale(text: str) -> str:
    if not _LOCALE.fullmatch(text):
        raise ValueError(f"{text!r} is not a language tag such as de, pt-BR or ar")
    return text


def _ancestor(text: str) -> str:
    if text not in ("'self'", "*") and not _ORIGIN.fullmatch(text):
        raise ValueError(f"{text!r} is not an origin such as https://intranet.example.org")
    return text


def _link(text: str) -> str:
    parts = urlsplit(text)
    is_web = parts.scheme in ("http", "https") and bool(parts.netloc)
    if not is_web and parts.scheme != "mailto":
        raise ValueError(f"{text!r} is not an address that begins with https:// or mailto:")
    return text


_Text = Annotated[str, StringConstraints(min_length=1, max_length=4000)]
_Hex = Annotated[str, AfterValidator(_hex)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Colour(_Section):
    light: _Hex
    dark: _Hex


class Logo(_Section):
    light: _Text
    dark: _Text | None = None
    """In the dark look; None: the same."""


class Welcome(_Section):
    heading: _Text | None = None
    text: _Text | None = None


class Prompt(_Section):
    label: _Text
    message: _Text


class PromptGroup(_Section):
    heading: _Text | None = None
    prompts: tuple[Annotated[Prompt, BeforeValidator(_as_prompt)], ...] = Field((), strict=False)


class FontFile(_Section):
    family: Annotated[str, AfterValidator(_family)]
    file: _Text
    weight: Annotated[str, StringConstraints(pattern=r"^\d{1,4}( \d{1,4})?$")] = "400"
    style: Literal["normal", "italic"] = "normal"


class Fonts(_Section):
    text: Annotated[str, AfterValidator(_families)] | None = None
    code: Annotated[str, AfterValidator(_families)] | None = None
    files: tuple[FontFile, ...] = Field((), strict=False)


class Legal(_Section):
    """A line below the message field."""

    text: _Text
    link: Annotated[str, AfterValidator(_link)] | None = None
    label: _Text | None = None
    """The words of the link; None: those of the line."""


class PageFile(_Section):
    title: Annotated[str, StringConstraints(min_length=1, max_length=80)] | None = None
    logo: Annotated[Logo, BeforeValidator(_as_logo)] | None = None
    colours: Mapping[str, Annotated[Colour, BeforeValidator(_as_colour)]] = {}
    fonts: Fonts = Fonts(files=())
    welcome: Welcome = Welcome()
    prompts: tuple[PromptGroup, ...] | None = Field(None, strict=False)
    """None: those of the demo, where that is served."""
    legal: Legal | None = None
    locale: Annotated[str, AfterValidator(_locale)] | None = None
    """The language of dates, numbers and texts; None: English."""
    texts: _Text | None = None
    """The file of the texts in that language."""
    hidden: tuple[Part, ...] = Field((), strict=False)
    style: _Text | None = None
    """A style sheet that comes after those of the page."""
    frame_ancestors: tuple[Annotated[str, AfterValidator(_ancestor)], ...] = Field((), strict=False)
    """Origins whose pages may show ours in a frame."""


def read_page_file(path: Path) -> PageFile:
    """Raises PageError."""
    file = read_toml(path, PageFile, PageError, SETTING)
    _check_colours(file)
    page = file.content
    if page.logo:
        for key, name in (("light", page.logo.light), ("dark", page.logo.dark)):
            if name is not None:
                _check_file(file, ("logo", key), name, IMAGES)
    if page.texts is not None:
        if page.locale is None:
            raise PageError(file.fault(("texts",), "say in which language they are: locale"))
        _check_file(file, ("texts",), page.texts, (".json",))
    if page.style is not None:
        _check_file(file, ("style",), page.style, (".css",))
    for index, font in enumerate(page.fonts.files):
        _check_file(file, ("fonts", "files", index, "file"), font.file, (".woff2",))
    return page


def _check_colours(file: TomlFile[PageFile]) -> None:
    """Raises PageError for an unknown name, and for colours that cannot be told apart."""
    ours, given = palette(), file.content.colours
    for name in given:
        if name not in ours:
            raise PageError(
                file.fault(("colours", name), f"the page has no such colour{near(name, ours)}")
            )
    shades = {name: Shade(colour.light, colour.dark) for name, colour in given.items()}
    for front, back, what in faint({**ours, **shades}):
        named = front if front in given else back
        raise PageError(file.fault(("colours", named), f"{front} on {back} has {what}"))


def _check_file(
    file: TomlFile[PageFile], place: Sequence[str | int], name: str, kinds: Sequence[str]
) -> None:
    path = file.path.parent / name
    if path.suffix not in kinds:
        raise PageError(file.fault(place, f"{name!r} should end with {' or '.join(kinds)}"))
    try:
        size = len(path.read_bytes())
    except OSError as error:
        raise PageError(file.fault(place, f"{path} cannot be read: {error.strerror}")) from None
    if size > MAX_FILE_BYTES:
        raise PageError(file.fault(place, f"{path} has more than {MAX_FILE_BYTES} bytes"))
