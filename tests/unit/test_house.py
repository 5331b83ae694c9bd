"""The house as its documents say it is: the tree, the graph, the prompts."""

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from turnstream.graphs.chat import build
from turnstream.graphs.offline import EXAMPLES, OfflineChatModel
from turnstream.tools.builtin import CATALOGUE

PROJECT = Path(__file__).parent.parent.parent
DOCS = PROJECT / "docs"
TOP_LEVEL = {
    *("pyproject.toml", "README.md", "server", "graphs", "tools", "tests", "static"),
    *(
        "Makefile",
        "constraints.txt",
        "LICENSE",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        ".pre-commit-config.yaml",
        "zensical.toml",
        ".ci",
        ".gitignore",
        ".package",
        "docs",
    ),
}
SVG = "{http://www.w3.org/2000/svg}"
MAPPED = ("server", "graphs", "tools")
HIDES_ITS_SUBJECT = re.compile(r"(What|Whether|Of|Who|Whose|Where|How|That|Those|So)\b")


def tracked() -> list[Path]:
    """The project's files: those that git knows or would take."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [Path(line) for line in listed.stdout.splitlines() if (PROJECT / line).exists()]


def docstrings(path: Path) -> Iterator[str]:
    """Yield the docstrings of a module, its classes, functions and attributes."""
    for node in ast.walk(ast.parse((PROJECT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for part in node.body:
                if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant):
                    yield str(part.value.value).strip()


def block(page: str, language: str, beginning: str) -> str:
    """Return the code block of a page that has the language and the beginning."""
    text = (DOCS / page).read_text(encoding="utf-8")
    for found in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL):
        if found.startswith(beginning):
            return str(found)
    raise AssertionError(f"{page} has no {language} block that begins with {beginning!r}")


def mapped_paths() -> set[str]:
    """Return the paths that the map names, from its indentation."""
    folders: list[str] = []
    paths = set()
    for line in block("map.md", "text", "server/").splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        for name in re.findall(r"[\w.]+(?:/|\.\w+)", line.split("  # ")[0]):
            path = "/".join([*folders[:depth], name.rstrip("/")])
            paths.add(path)
            if name.endswith("/"):
                folders[depth:] = [name.rstrip("/")]
    return paths


def test_every_package_is_installed_and_has_its_folder() -> None:
    pyproject = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = {path.parent for path in tracked() if path.name == "__init__.py"}
    folders = {".".join(path.parts) for path in packages if path.parts[0] in MAPPED}
    ours = {"turnstream", "turnstream.static", *(f"turnstream.{name}" for name in folders)}
    assert {*pyproject["tool"]["setuptools"]["packages"]} == ours


def test_nothing_stands_at_the_top_but_what_was_agreed() -> None:
    assert {path.parts[0] for path in tracked()} <= TOP_LEVEL


def test_no_line_of_the_pages_sources_is_longer_than_those_of_the_server() -> None:
    parts = (
        "static/js/",
        "static/components/",
        "static/css/",
        "static/index.html",
        "static/build.mjs",
    )
    sources = [path for path in tracked() if path.as_posix().startswith(parts)]
    assert sources
    for path in sources:
        lines = (PROJECT / path).read_text(encoding="utf-8").splitlines()
        assert max(map(len, lines)) <= 100, path


def test_docstrings_begin_with_what_they_describe() -> None:
    """ "Whether it is over", "Of a run": the reader has to find the noun first."""
    found = [
        f"{path}: {text[:60]}"
        for path in tracked()
        if path.suffix == ".py" and path.parts[0] in MAPPED
        for text in docstrings(path)
        if HIDES_ITS_SUBJECT.match(text)
    ]
    assert len(found) <= 40, found


def test_no_constructor_of_the_server_takes_more_than_seven_things() -> None:
    long = [
        f"{path}:{node.lineno}"
        for path in tracked()
        if path.suffix == ".py" and path.parts[0] == "server"
        for node in ast.walk(ast.parse((PROJECT / path).read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
        if len(node.args.args) - 1 + len(node.args.kwonlyargs) > 7
    ]
    assert long == []


def test_the_map_names_every_module_and_nothing_else() -> None:
    modules = {
        path.as_posix()
        for path in tracked()
        if path.parts[0] in MAPPED and path.suffix == ".py" and path.name != "__init__.py"
    }
    shown = mapped_paths()
    folders = {p for p in shown if (PROJECT / p).is_dir()}
    closed = {f for f in folders if not any(other.startswith(f"{f}/") for other in shown)}
    expected = {m for m in modules if not any(m.startswith(f"{folder}/") for folder in closed)}
    assert {path for path in shown if path.endswith(".py")} == expected
    assert all((PROJECT / path).exists() for path in shown)


def test_the_drawing_is_the_graphs_own() -> None:
    graph = build(OfflineChatModel(), CATALOGUE).get_graph()
    drawing = ElementTree.parse(DOCS / "images" / "built-in-graph.svg").getroot()
    assert {node.get("id") for node in nodes(drawing)} == set(graph.nodes)
    drawn = [edge(drawing, line.get("d", "")) for line in drawing.findall(f"{SVG}path")]
    assert sorted(drawn) == sorted((each.source, each.target) for each in graph.edges)


def edge(drawing: ElementTree.Element, path: str) -> tuple[str, str]:
    """Return the nodes on whose borders a line of a drawing begins and ends."""
    numbers = [float(number) for number in re.findall(r"[\d.]+", path)]
    ends = tuple(numbers[:2]), tuple(numbers[-2:])
    [source], [target] = ([node for node in nodes(drawing) if touches(node, *end)] for end in ends)
    return source.get("id", ""), target.get("id", "")


def nodes(drawing: ElementTree.Element) -> list[ElementTree.Element]:
    return drawing.findall(f"{SVG}rect")


def touches(node: ElementTree.Element, x: float, y: float) -> bool:
    left, top, width, height = (float(node.get(name, "")) for name in ("x", "y", "width", "height"))
    return left <= x <= left + width and top <= y <= top + height


def test_every_drawing_has_a_title_and_is_shown_with_a_description() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    described = {path for words, path in re.findall(r"!\[(.+?)\]\((images/[\w-]+\.svg)\)", pages)}
    drawings = list((DOCS / "images").glob("*.svg"))
    assert described == {f"images/{drawing.name}" for drawing in drawings}
    assert all(ElementTree.parse(drawing).findtext(f"{SVG}title") for drawing in drawings)


def test_every_example_prompt_of_the_start_page_is_one_that_the_offline_model_knows() -> None:
    start = (DOCS / "start.md").read_text(encoding="utf-8")
    prompts = re.findall(r"^- “(.+?)”", start, re.MULTILINE)
    assert prompts
    assert set(prompts) <= set(EXAMPLES)


def test_pinned_versions_name_no_address() -> None:
    pins = (PROJECT / "constraints.txt").read_text().splitlines()
    assert all(re.fullmatch(r"[\w.-]+==[\w.+!-]+", pin) for pin in pins)
    for lock in PROJECT.glob("**/package-lock.json"):
        if "node_modules" not in lock.parts:
            assert '"resolved"' not in lock.read_text()
