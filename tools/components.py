"""The components that the browser can render: a folder each, with the schema of its props."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from turnstream.tools import strict_json
from turnstream.tools.arguments import listed, shorten, unstorable
from turnstream.tools.contract import CatalogueError, ResultLookup
from turnstream.tools.points import Selection, shape_of
from turnstream.tools.props import Props
from turnstream.tools.schemas import SchemaFault

OURS = Path(__file__).parent.parent / "static" / "components"
SETTING = "TURNSTREAM_COMPONENTS"
NAME = re.compile("[a-z][a-z0-9_]{0,63}")
PROPS_DESCRIPTION = """\
What the component shows. Props of each (? means optional; every component takes title?):
{components}
No other props."""
SELECT = {
    "type": "object",
    "description": "The part of the points of data_from that is drawn.",
    "properties": {
        "columns": {
            "type": "array",
            "minItems": 1,
            "maxItems": 20,
            "items": {"type": "string"},
            "description": "Keys of columns, or names of series, in order.",
        },
        "sort": {
            "type": "string",
            "minLength": 1,
            "description": "A column, a series or the axis; descending behind a minus: -kw.",
        },
        "limit": {"type": "integer", "minimum": 1, "description": "Rows, or points, at most."},
    },
    "additionalProperties": False,
}
MAX_SOURCES = 8
NOTE = "note"
"""The key of what is drawn that says in a sentence what was left out."""
TITLE = {"title": {"type": "string", "maxLength": 2000}}
"""The property that each component has beside its own."""
ACTIONS = Props(
    {
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "properties": {
                "label": {"type": "string", "minLength": 1, "maxLength": 80},
                "tool": {"type": "string"},
                "arguments": {"type": "object", "additionalProperties": {"type": "string"}},
            },
            "required": ["label", "tool"],
            "additionalProperties": False,
        },
    }
)
"""`actions.json`: by name, buttons that call a tool; its arguments by the props that fill them."""


@dataclass(frozen=True)
class Component:
    """A component: its name is that of its folder."""

    name: str
    folder: Path
    props: Props
    told: str
    """Its line in the description of `props` of `render_ui_component`, as a model reads it."""
    actions: Mapping[str, Mapping[str, Any]]


def read_component(folder: Path) -> Component:
    """Raises CatalogueError that says which file is wrong, and why."""
    if not NAME.fullmatch(folder.name):
        raise CatalogueError(
            f"{folder}: a component's name, that of its folder, has 1 to 64 letters from a to z, "
            "digits and _, and begins with a letter."
        )
    if not (folder / "draw.js").is_file():
        raise CatalogueError(f"{folder} has no draw.js: a component is drawn by it.")
    path = folder / "schema.json"
    own = _read(path)
    try:
        said = Props(own).words()
        props = Props({**own, "properties": TITLE | own.get("properties", {})})
        if props.schema["properties"]["title"].get("type") != "string":
            raise SchemaFault('its property "title", which the page shows, must be a string')
    except SchemaFault as error:
        raise CatalogueError(f"{path} cannot be used: {error}.") from None
    about = f", {own['description']}" if "description" in own else ""
    told = f"- {folder.name}{about}: {said}"
    return Component(folder.name, folder, props, told, _actions(folder / "actions.json", props))


def _actions(path: Path, props: Props) -> Mapping[str, Mapping[str, Any]]:
    if not path.exists():
        return {}
    actions = _read(path)
    try:
        ACTIONS.check(actions)
    except ValueError as error:
        raise CatalogueError(f"{path} cannot be used: {error}") from None
    for name, action in actions.items():
        for prop in action.get("arguments", {}).values():
            if prop not in props.schema["properties"]:
                raise CatalogueError(f"{path}: {name!r} takes {prop!r}, which is no property.")
    return actions


def _read(path: Path) -> dict[str, Any]:
    try:
        found = strict_json.read_object(path.read_bytes())
    except OSError as error:
        raise CatalogueError(f"{path}: {error.strerror}.") from None
    if found is None:
        raise CatalogueError(f"{path} is not a JSON object.")
    return found


def read_components(folder: Path) -> list[Component]:
    """Return the components of a folder, in the order of their names. Raises CatalogueError."""
    inner = [path for path in folder.iterdir() if path.is_dir() and path.name[0] not in "._"]
    return [read_component(path) for path in sorted(inner)]


def further_components(folders: Iterable[Path]) -> list[Component]:
    """Return the components of the folders that the setting names. Raises CatalogueError."""
    found: dict[str, Component] = dict(OUR_COMPONENTS.by_name)
    for folder in folders:
        if not folder.is_dir():
            raise CatalogueError(f"{SETTING}: {folder} is not a folder.")
        components = read_components(folder.resolve())
        if not components:
            raise CatalogueError(
                f"{SETTING}: {folder} holds no component; a component is a folder in it, with "
                "schema.json and draw.js."
            )
        for component in components:
            if component.name in found:
                raise CatalogueError(
                    f"Two components are named {component.name!r}: "
                    f"{found[component.name].folder} and {component.folder}. Rename one of them."
                )
            found[component.name] = component
    return [one for name, one in found.items() if name not in OUR_COMPONENTS.by_name]


class Components:
    """The components that there are: what is checked of a call, and what fills it."""

    def __init__(self, components: Iterable[Component]) -> None:
        self.by_name = {component.name: component for component in components}
        self.parameters = self._parameters()
        """The JSON Schema of the arguments of `render_ui_component`. It is flat, since providers
        refuse `oneOf` and `allOf` at the top; `told` says the rest."""
        self._call = Props(self.parameters)

    def _parameters(self) -> dict[str, Any]:
        fillable = [one.props.points for one in self.by_name.values() if one.props.points]
        ways = [" and ".join(names) for names in dict.fromkeys(map(tuple, fillable))]
        return {
            "type": "object",
            "properties": {
                "component": {"type": "string", "enum": [*self.by_name]},
                "props": {"type": "object", "description": self.told},
                "data_from": {
                    "type": "string",
                    "minLength": 1,
                    "description": "Id of an earlier tool call (or the tool's name: its last call) "
                    f"whose points fill {', or '.join(ways)}. Several, separated by commas, are "
                    "drawn as one. Use it wherever a result offers it; leave those out of props.",
                },
                "select": SELECT,
            },
            "required": ["component", "props"],
            "additionalProperties": False,
        }

    @property
    def told(self) -> str:
        """The props of each component, a line each, as a model reads them."""
        lines = "\n".join(component.told for component in self.by_name.values())
        return PROPS_DESCRIPTION.format(components=lines)

    def check(self, args: Any) -> None:
        """Check types and limits of arguments. Raises ValueError with one sentence."""
        self._call.check(args)
        self.by_name[args["component"]].props.check(args["props"], "props")

    def validate(
        self, args: Mapping[str, Any], results: ResultLookup | None = None
    ) -> dict[str, Any]:
        """Return the arguments with `data_from` resolved, and without rows that do not fit, which
        `note` says. Raises ValueError with a sentence for the model."""
        self._call.check(args)
        resolved = self._resolved(args, results)
        try:
            self._check_whole(resolved)
        except ValueError:
            props = self.by_name[resolved["component"]].props
            left, notes = props.pruned(resolved["props"], "props")
            if not notes:
                raise
            resolved = {**resolved, "props": left, NOTE: " ".join(notes)}
            self._check_whole(resolved)
        return resolved

    def _check_whole(self, args: Mapping[str, Any]) -> None:
        """Check the arguments whose points are filled in. Raises ValueError."""
        props = self.by_name[args["component"]].props
        props.check(args["props"], "props")
        faults = [*props.uneven(args["props"], "props"), *unstorable(dict(args))]
        if faults:
            raise ValueError(listed(faults))

    def drawable(self, result: Mapping[str, Any]) -> list[str]:
        """Return the components that `data_from` can fill with a result, as the client sees it."""
        found = []
        for component in self._filled_by(result):
            rendering = {"component": component, "props": {}, "data_from": "it"}
            with suppress(ValueError):
                self.validate(rendering, lambda _: result)
                found.append(component)
        return found

    def _filled_by(self, result: Mapping[str, Any]) -> list[str]:
        """Return the components whose points a result has by their names."""
        return [
            name
            for name, component in self.by_name.items()
            if component.props.points and set(component.props.points) <= set(result)
        ]

    def _resolved(self, args: Mapping[str, Any], results: ResultLookup | None) -> dict[str, Any]:
        if "data_from" not in args:
            if "select" in args:
                raise ValueError("select: it selects from data_from, which is missing.")
            return dict(args)
        component, props = args["component"], self.by_name[args["component"]].props
        sources = [name.strip() for name in args["data_from"].split(",")]
        if results and results(args["data_from"]) is not None:
            sources = [args["data_from"]]
        if len(sources) > MAX_SOURCES:
            raise ValueError(f"data_from: should name at most {MAX_SOURCES} calls.")
        found = [(source, self._points_of(source, component, results)) for source in sources]
        (_, first), *others = found
        labels = {name: first[name] for name in props.labels if isinstance(first.get(name), str)}
        points: Mapping[str, Any] = {name: first[name] for name in props.points}
        if others or "select" in args:
            points = self._selected(component, found, args.get("select", {}))
        return {**args, "props": {**labels, **args["props"], **points}}

    def _points_of(
        self, source: str, component: str, results: ResultLookup | None
    ) -> Mapping[str, Any]:
        """The result that a source names. Raises ValueError if it has no points for the
        component."""
        found = results(source) if results else None
        if found is None:
            raise ValueError(
                f"data_from: there is no earlier tool call {shorten(source)!r} with "
                "a result in this thread; write the data into props instead."
            )
        offered = self._filled_by(found)
        if component not in offered:
            raise ValueError(
                f"data_from: the result of {shorten(source)!r} has no points for a "
                f"{component}; it has them for: {', '.join(offered) or 'no component'}."
            )
        return found

    def _selected(
        self, component: str, found: Sequence[tuple[str, Mapping[str, Any]]], select: Any
    ) -> Mapping[str, Any]:
        """The points of all results, as far as they are selected. Raises ValueError."""
        props = self.by_name[component].props
        shape = shape_of(props.schema, props.points)
        if shape is None:
            raise ValueError(f"data_from: a {component} takes the whole points of one call.")
        try:
            points = shape.joined(found) if len(found) > 1 else found[0][1]
            limit = int(select["limit"]) if "limit" in select else None  # It may be written 2.0.
            return shape.selected(points, Selection(**{**select, "limit": limit}))
        except (LookupError, TypeError, AttributeError):
            raise ValueError(
                f"data_from: the points do not have the form that a {component} takes."
            ) from None


OUR_COMPONENTS = Components(read_components(OURS))
