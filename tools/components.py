"""The components that the browser can render: a folder each, with the schema of its props."""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from turnstream.tools import strict_json
from turnstream.tools.arguments import listed, shorten, unstorable
from turnstream.tools.contract import CatalogueError, ResultLookup
from turnstream.tools.props import Props
from turnstream.tools.schemas import SchemaFault

OURS = Path(__file__).parent.parent / "static" / "components"
SETTING = "TURNSTREAM_COMPONENTS"
NAME = re.compile("[a-z][a-z0-9_]{0,63}")
PROPS_DESCRIPTION = """\
What the component shows. Props of each (? means optional; every component takes title?):
{components}
No other props."""
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
                    "description": "Id of an earlier tool call of this turn (or the tool's name: "
                    f"its last call) whose points fill {', or '.join(ways)}. "
                    "Use it wherever a result offers it, and leave those out of props.",
                },
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
        """Return the arguments with `data_from` resolved. Raises ValueError with a sentence for the
        model."""
        self._call.check(args)
        resolved = self._resolved(args, results)
        self.check(resolved)
        props = self.by_name[resolved["component"]].props
        faults = [*props.uneven(resolved["props"], "props"), *unstorable(resolved)]
        if faults:
            raise ValueError(listed(faults))
        return resolved

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
            return dict(args)
        component, source = args["component"], args["data_from"]
        found = results(source) if results else None
        if found is None:
            raise ValueError(
                f"data_from: there is no earlier tool call {shorten(source)!r} with "
                "a result in this turn; write the data into props instead."
            )
        offered = self._filled_by(found)
        if component not in offered:
            raise ValueError(
                f"data_from: the result of {shorten(source)!r} has no points for a "
                f"{component}; it has them for: {', '.join(offered) or 'no component'}."
            )
        props = self.by_name[component].props
        labels = {name: found[name] for name in props.labels if isinstance(found.get(name), str)}
        points = {name: found[name] for name in props.points}
        return {**args, "props": {**labels, **args["props"], **points}}


OUR_COMPONENTS = Components(read_components(OURS))
