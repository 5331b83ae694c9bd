"""The context of a run, which the thread does not keep; and the messages that are a run's own."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from pydantic import BaseModel, ValidationError

from turnstream.graphs import stored
from turnstream.graphs.rights import EVERYTHING, ToolRights
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import UITool


@dataclass(frozen=True, slots=True)
class TurnContext:
    run_id: str | None = None
    client_tools: tuple[UITool, ...] = ()
    """UI tools that the client declared for this run; they join the catalogue's."""
    rights: ToolRights = EVERYTHING
    """The rights of the caller on the catalogue's tools."""
    user: Mapping[str, Any] = field(default_factory=dict)
    """The caller, as LangGraph's `langgraph_auth_user`."""
    model: "ChosenModel | None" = None
    """None: the graph's own."""
    catalogue: Catalogue | None = None
    """The tools as they were when the run began; None: those that the graph was built with."""
    app_context: str = ""
    """The block of the app's texts for the model (`graphs.app_context`). Empty: the one that came
    with the message of the turn."""


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """One of several models that are served, under its name in the settings."""

    name: str
    chat: BaseChatModel


@dataclass(frozen=True, slots=True)
class GraphContext:
    """Makes the context of a graph's runs, by the schema that it declares: ours, or any other class
    of named fields, or none."""

    schema: Any
    settings: Mapping[str, Any]
    """Fields that are the same for all runs."""

    @property
    def is_ours(self) -> bool:
        return isinstance(self.schema, type) and issubclass(self.schema, TurnContext)

    @property
    def names(self) -> frozenset[str]:
        """The fields of a schema that is not ours."""
        if self.schema is None or self.is_ours:
            return frozenset()
        # Not resolved: a type may be imported for type checkers alone.
        return frozenset(
            name for base in self.schema.__mro__ for name in vars(base).get("__annotations__", ())
        )

    def of(self, turn: TurnContext, given: Mapping[str, Any]) -> object:
        """For LangGraph, which makes an object of the schema's class of a dict."""
        if self.is_ours:
            return turn
        return None if self.schema is None else {**self.settings, **given}

    def made(self, turn: TurnContext, given: Mapping[str, Any]) -> object:
        """The object of the schema's class, as a run's nodes get it."""
        values = self.of(turn, given)
        if (
            self.is_ours
            or not isinstance(values, dict)
            or hasattr(self.schema, "__required_keys__")
        ):
            return values
        return self.schema(**values)

    def missing(self, given: Mapping[str, Any]) -> frozenset[str]:
        """The required fields that neither these nor the settings have."""
        if self.schema is None or self.is_ours:
            return frozenset()
        if is_dataclass(self.schema):
            required = {
                one.name
                for one in fields(self.schema)
                if one.init and one.default is MISSING and one.default_factory is MISSING
            }
        elif isinstance(self.schema, type) and issubclass(self.schema, BaseModel):
            named = self.schema.model_fields.items()
            required = {name for name, field in named if field.is_required()}
        else:
            required = set(getattr(self.schema, "__required_keys__", ()))
        return frozenset(required.difference(self.settings, given))

    def check(self, given: Mapping[str, Any]) -> None:
        """Raises ValueError if these fields and the settings' make no context."""
        if self.schema is None or self.is_ours:
            return
        values = {**self.settings, **given}
        required = getattr(self.schema, "__required_keys__", None)
        try:
            if required is None:
                self.schema(**values)
            elif required - set(values):
                raise TypeError(f"missing {', '.join(sorted(required - set(values)))}")
        except ValidationError as error:
            # Its own text has the values, which may be secrets.
            faults = error.errors(include_input=False, include_url=False, include_context=False)
            lines = (f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults)
            raise ValueError("; ".join(lines)) from None
        except Exception as error:
            raise ValueError(" ".join(str(error).split())) from error


def run_messages(
    messages: Sequence[AnyMessage], context: TurnContext
) -> list[AIMessage | ToolMessage]:
    """The run's own messages so far, and the answers to their calls, newest first."""
    found: list[AIMessage | ToolMessage] = []
    for message in reversed(messages):
        if isinstance(message, ToolMessage) or (
            isinstance(message, AIMessage) and stored.run_id(message) == context.run_id
        ):
            found.append(message)
        else:
            break
    while found and isinstance(found[-1], ToolMessage):
        found.pop()  # an answer to a call of the run before
    return found
