"""The page's file: what it says, the sentence of each fault, and what is made of it."""

import json
import re
from pathlib import Path

import pytest

from turnstream.server.app import PAGE
from turnstream.server.page import PageError
from turnstream.server.page.colours import contrast, faint, palette
from turnstream.server.page.file import read_page_file
from turnstream.server.page.made import made_page
from turnstream.server.page.texts import direction

INDEX = (PAGE / "index.html").read_text(encoding="utf-8")
SVG = "<svg xmlns='http://www.w3.org/2000/svg'/>"


def written(folder: Path, text: str) -> Path:
    (folder / "logo.svg").write_text(SVG, encoding="utf-8")
    file = folder / "page.toml"
    file.write_text(text, encoding="utf-8")
    return file


def made(folder: Path, text: str) -> dict[str, str]:
    """The files that are made, by their names without the hash."""
    files = made_page(INDEX, read_page_file(written(folder, text)), folder)
    return {re.sub(r"-[0-9A-Z]{8}\.", ".", name): file.decode() for name, file in files.items()}


def test_the_page_keeps_its_contrasts() -> None:
    assert [*faint(palette())] == []
    assert contrast("#000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('titel = "Desk"', "line 1: titel: unknown key; did you mean 'title'?"),
        (
            '[welcome]\nheadline = "Hi"',
            "line 2: welcome.headline: unknown key; did you mean 'heading'?",
        ),
        (
            '[[prompts]]\nprompts = [{ label = "a", text = "b" }]',
            "line 2: prompts.prompts.message: missing",
        ),
        (
            '[[prompts]]\nprompts = ["a"]\n\n[[prompts]] # of = the evening\nprompts = [1]',
            "line 5: prompts.prompts: should be a table, not 1",
        ),
        ('locale = "de-de-de"', "line 1: locale: 'de-de-de' is not a language tag such as de"),
        (
            '[colours]\naccent = "teal"',
            "line 2: colours.accent.light: 'teal' is not a colour: write it as #rrggbb",
        ),
        (
            '[colours]\nacent = "#000000"',
            "line 2: colours.acent: the page has no such colour; did you mean 'accent'?",
        ),
        (
            '[colours]\naccent = { light = "#0b6b64", dark = "#333333" }',
            "line 2: colours.accent: accent on page has a contrast of 1.41 in the dark look; "
            "it needs 4.5 or more",
        ),
        ('logo = "none.svg"', "line 1: logo.light: {folder}/none.svg cannot be read: No such file"),
        ('logo = "logo.gif"', "line 1: logo.light: 'logo.gif' should end with .svg or .png"),
        (
            '[fonts]\ntext = "x; } body {"',
            "line 2: fonts.text: 'x; } body {' is not a list of font families, as CSS has them",
        ),
        (
            '[fonts]\ntext = "Source Sans 3, serif"',
            "line 2: fonts.text: 'Source Sans 3, serif' is not a list of font families, as CSS has "
            "them: put a name in quotes that is not of plain words",
        ),
        (
            '[[fonts.files]]\nfamily = "A, B"\nfile = "a.woff2"',
            "line 2: fonts.files.family: 'A, B' is not the name of one font family, without quotes",
        ),
        (
            '[colours]\ninfo = { light = "#ffffff", dark = "#82b7f2" }\n'
            'info-tint = { light = "#1d5fa8", dark = "#1a2836" }',
            "line 3: colours.info-tint: text on info-tint has a contrast of 2.42 in the light look",
        ),
        (
            '[legal]\ntext = "a"\nlink = "javascript:alert(1)"',
            "line 3: legal.link: 'javascript:alert(1)' is not an address that begins with https://",
        ),
        ('hidden = ["tokns"]', "line 1: hidden: 'tokns' should be 'archive', 'colours',"),
    ],
)
def test_a_fault_is_one_sentence_with_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(PageError) as fault:
        read_page_file(written(tmp_path, text))
    assert str(fault.value).startswith(f"page.toml, {sentence.replace('{folder}', str(tmp_path))}")


def test_title_logo_and_legal_line_are_in_the_page_before_its_scripts_run(tmp_path: Path) -> None:
    index = made(
        tmp_path,
        'title = "R&D desk"\nlogo = "logo.svg"\n'
        '[legal]\ntext = "<b>Check it.</b>"\nlink = "https://example.org/terms"\nlabel = "Terms"',
    )["index.html"]
    assert "<title>R&amp;D desk</title>" in index
    assert '<span class="brand-name">R&amp;D desk</span>' in index
    assert re.search(r'<link rel="icon" href="logo-[0-9A-F]{8}\.svg" />', index)
    assert re.search(r'<img src="logo-[0-9A-F]{8}\.svg" alt="" class="logo" />', index)
    assert "&lt;b&gt;Check it.&lt;/b&gt; <a href=" in index


def test_colours_and_fonts_are_variables_of_one_more_style_sheet(tmp_path: Path) -> None:
    (tmp_path / "inter.woff2").write_bytes(b"font")
    files = made(
        tmp_path,
        'hidden = ["tokens"]\n[colours]\naccent = { light = "#123456", dark = "#abcdef" }\n'
        "[fonts]\ntext = \"'Source Sans 3', -apple-system, sans-serif\"\n"
        'files = [{ family = "Source Sans 3", file = "inter.woff2", weight = "100 900" }]',
    )
    theme = files["theme.css"]
    assert "--accent: light-dark(#123456, #abcdef);" in theme
    assert "--font: 'Source Sans 3', -apple-system, sans-serif;" in theme
    assert '@font-face { font-family: "Source Sans 3";' in theme
    assert re.search(r"src: url\(inter-[0-9A-F]{8}\.woff2\); font-weight: 100 900;", theme)
    assert '[data-part="tokens"] { display: none !important; }' in theme
    assert files["inter.woff2"] == "font"


def test_the_scripts_get_their_part_as_data_that_ends_no_element(tmp_path: Path) -> None:
    index = made(
        tmp_path,
        '[welcome]\nheading = "</script>"\n[[prompts]]\nprompts = ["One", '
        '{ label = "Two", message = "Two, at length" }]',
    )["index.html"]
    data = index.split('id="settings">')[1].split("</script>")[0]
    assert json.loads(data) == {
        "welcome": {"heading": "</script>"},
        "prompts": [
            {
                "prompts": [
                    {"label": "One", "message": "One"},
                    {"label": "Two", "message": "Two, at length"},
                ]
            }
        ],
        "hidden": [],
    }


@pytest.mark.parametrize(
    ("texts", "fault"),
    [
        ('{"Send": 1}', "'Send' should be a string"),
        ('{"Send": "{x}"}', "'Send' has {x}, which stands for nothing"),
        (
            '{"{count} steps": "{count} Schritte"}',
            "'{count} steps' should be an object of plural forms, with \"other\" among them",
        ),
        (
            '{"{count} steps": {"other": "{count}", "more": ""}}',
            "'{count} steps' has the form 'more'; there are: zero, one, two, few, many, other",
        ),
        ('{"problem.queue_full": {}}', "'problem.queue_full' should be a string"),
        ("[]", "is not a JSON object of texts"),
        ("{", "is not JSON: "),
    ],
)
def test_a_text_that_cannot_be_shown_is_named(tmp_path: Path, texts: str, fault: str) -> None:
    (tmp_path / "de.json").write_text(texts, encoding="utf-8")
    with pytest.raises(PageError) as refused:
        made(tmp_path, 'locale = "de"\ntexts = "de.json"')
    assert fault in str(refused.value)


def test_texts_are_translated_and_what_is_missing_stays_english(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "ar.json").write_text('{"New thread": "<جديد>", "Sned": "x"}', encoding="utf-8")
    index = made(tmp_path, 'locale = "ar"\ntexts = "ar.json"')["index.html"]
    assert '<html lang="ar" dir="rtl">' in index
    assert "&lt;جديد&gt;" in index
    assert 'placeholder="Write a message"' in index
    data = json.loads(index.split('id="settings">')[1].split("</script>")[0])
    assert (data["locale"], data["texts"]) == ("ar", {"New thread": "<جديد>"})
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.endswith("ar.json: the page has no text 'Sned'; is 'Send' meant by the first?")


@pytest.mark.parametrize(
    ("locale", "way"),
    [("ar-EG", "rtl"), ("pa-Arab-PK", "rtl"), ("sd-Deva", "ltr"), ("ur-PK", "rtl"), ("de", "ltr")],
)
def test_the_page_runs_as_the_script_of_its_language_does(locale: str, way: str) -> None:
    assert direction(locale) == way


def test_texts_need_their_language(tmp_path: Path) -> None:
    with pytest.raises(PageError, match="line 1: texts: say in which language they are: locale"):
        made(tmp_path, 'texts = "de.json"')


def test_the_example_of_the_documentation_is_a_page_file(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "branding.md").read_text(encoding="utf-8")
    example = guide.split("```toml\n")[1].split("```")[0]
    for name in ("logo-dark.svg", "inter.woff2", "desk.css"):
        (tmp_path / name).write_text("", encoding="utf-8")
    (tmp_path / "de.json").write_text("{}", encoding="utf-8")
    index = made(tmp_path, example)["index.html"]
    assert "Loads of the night" in index
    page = read_page_file(written(tmp_path, example))
    assert not [name for name, value in page.model_dump().items() if value in (None, (), {})]
