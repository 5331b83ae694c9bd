"""The side that ends a call: expected from the call's name while it streams, decided once when it
is whole.

Nothing else compares a call's name with the catalogue; everything reads the disposition.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel, ValidationError

from turnstream.graphs import stored
from turnstream.graphs.answers import failed, shown
from turnstream.graphs.approval_rules import ApprovalRules
from turnstream.graphs.calls import StreamedCall
from turnstream.graphs.parts import stored_call
from turnstream.graphs.rights import EVERYTHING, Refusal, ToolRights, refusal_by_name
from turnstream.graphs.stored import End
from turnstream.graphs.stored_approvals import AskedApproval
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import Disposition, ResultLookup, UITool
from turnstream.tools.schemas import misfit
from turnstream.tools.strict_json import clean_text

MAX_PROBLEM_CHARS = 2000


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision on one call; `answer` is there if it is due at once."""

    call: StreamedCall
    disposition: Disposition
    answer: ToolMessage | None = None


@dataclass(frozen=True)
class Classifier:
    """The rules of one run: the catalogue, the tools that the client brought, and what the caller
    may do with the catalogue's tools; a client's own are not restricted.

    A UI tool of the catalogue takes precedence over a client tool of the same name. `unknown` is
    the disposition of a name that neither has: in a graph that is not ours the graph ends it.
    """

    catalogue: Catalogue
    client_tools: tuple[UITool, ...] = ()
    rights: ToolRights = EVERYTHING
    user: Mapping[str, Any] = field(default_factory=dict)
    """The caller, as LangGraph's `langgraph_auth_user`."""
    unknown: Disposition = "invalid"
    graph_tools: Mapping[str, Disposition] = field(default_factory=dict)
    """UI tools that a graph of one's own runs, by name."""

    @cached_property
    def approvals(self) -> ApprovalRules:
        return ApprovalRules(self.catalogue, self.rights, self.user)

    @cached_property
    def ui_tools(self) -> Mapping[str, UITool]:
        return {**{tool.name: tool for tool in self.client_tools}, **self.catalogue.ui_by_name}

    def expected(self, name: str) -> Disposition:
        """The disposition that a call of this name has unless its arguments are wrong."""
        if self._refusal(name):
            return "invalid"
        if name in self.graph_tools:
            return self.graph_tools[name]
        # A graph of one's own does not run the catalogue's tools: a client may bring one so named.
        is_brought = self.unknown == "server" and name in self.ui_tools
        if name in self.catalogue.real_by_name and not is_brought:
            return "approval" if self.approvals.by_name(name) == "always" else "server"
        tool = self.ui_tools.get(name)
        if tool is None:
            return self.unknown
        return "client" if tool.awaits_client else "shown"

    def classify(self, call: StreamedCall, results: ResultLookup) -> Verdict:
        """Decide on a call whose arguments are whole; `results` are those of the turn so far.

        Whether its caller may make this very call, and whether a person must approve it,
        `permitted` says.
        """
        refusal = self._refusal(call.given_name)
        if refusal:
            return _refused(call, refusal)
        expected = self.expected(call.given_name)
        if expected == "invalid":
            return Verdict(call, "invalid", self._unknown_tool(call))
        args = call.args
        if args is None:
            sentence = "The arguments were not one whole JSON object. Call again with valid JSON."
            return Verdict(call, "invalid", failed(call, "invalid_json", sentence))
        try:
            filled = self._checked(call.given_name, args, results)
        except ValueError as error:
            sentence = clean_text(str(error))[:MAX_PROBLEM_CHARS]
            return Verdict(call, "invalid", failed(call, "invalid_arguments", sentence))
        answer = shown(call, args, filled) if expected == "shown" else None
        return Verdict(call, expected, answer)

    async def permitted(self, verdict: Verdict) -> Verdict:
        """The verdict, or that its caller may not make this very call, or that a person must
        approve it."""
        call, name, args = verdict.call, verdict.call.given_name, verdict.call.args or {}
        if verdict.disposition == "invalid" or not self._is_ours(name):
            return verdict
        refusal = await self.rights.refusal(name, args)
        if refusal:
            return _refused(call, refusal)
        gated = verdict.disposition == "server" and await self.approvals.needs(name, args)
        return replace(verdict, disposition="approval") if gated else verdict

    def fallback(self, message: AIMessage, name: str) -> Disposition:
        """For a message that carries no dispositions: one of another graph, or of format 1, in
        which every name that the catalogue did not have was a client tool's."""
        known = name in self.catalogue.real_by_name or name in self.ui_tools
        if not known and stored.is_format_1(message):
            return "client"
        return self.expected(name)

    def _is_ours(self, name: str) -> bool:
        return name in self.catalogue.real_by_name or name in self.catalogue.ui_by_name

    def _refusal(self, name: str) -> Refusal | None:
        """By the name alone."""
        return refusal_by_name(self.rights, name) if self._is_ours(name) else None

    def _checked(self, name: str, args: dict[str, Any], results: ResultLookup) -> dict[str, Any]:
        real, ui = self.catalogue.real_by_name.get(name), self.ui_tools.get(name)
        if real is not None:
            check_args(real, args)
        elif ui is not None:
            return ui.validate(args, results)
        return args

    def _unknown_tool(self, call: StreamedCall) -> ToolMessage:
        tools = [*self.catalogue.real_by_name, *self.ui_tools]
        known = [name for name in tools if not self._refusal(name)]
        near = get_close_matches(call.name, known) or known
        sentence = f"There is no tool of this name. Use one of: {', '.join(near)}."
        return failed(call, "unknown_tool", sentence)


@dataclass(frozen=True, slots=True)
class ClassifiedCalls:
    """The calls of one message as they are to be stored, and the answers that are due at once."""

    verdicts: Sequence[Verdict]

    @property
    def stored(self) -> list[ToolCall]:
        return [stored_call(verdict.call) for verdict in self.verdicts]

    @property
    def dispositions(self) -> list[Disposition]:
        return [verdict.disposition for verdict in self.verdicts]

    def asked(self, now: float, user: Mapping[str, Any]) -> dict[str, AskedApproval]:
        """By call id: the calls that a person is asked about; `now` is in Unix time, `user` is who
        calls."""
        gated = (verdict.call.id for verdict in self.verdicts if verdict.disposition == "approval")
        by, name = str(user.get("identity", "")), str(user.get("display_name", ""))
        roles = [*user.get("permissions", ())]
        return {
            id: AskedApproval(asked_at=now, by=by, roles=roles, name=name, decisions=[])
            for id in gated
        }

    @property
    def answers(self) -> list[ToolMessage]:
        return [verdict.answer for verdict in self.verdicts if verdict.answer]

    @property
    def goes_on(self) -> bool:
        """True if the model gets to see the results: there are calls, and none ends the turn."""
        return bool(self.verdicts) and not any(map(ends_turn, self.dispositions))


def ends_turn(disposition: Disposition) -> bool:
    """Check that a call of this disposition ends the turn once the others are done."""
    return disposition in ("shown", "client", "approval")


async def classify_all(
    calls: Sequence[StreamedCall], classifier: Classifier, results: ResultLookup
) -> ClassifiedCalls:
    verdicts = []
    for call in calls:
        await asyncio.sleep(0)  # others have their turn: to check a call's arguments takes a while
        verdicts.append(await classifier.permitted(classifier.classify(call, results)))
    return ClassifiedCalls(verdicts)


def refuse_all(
    calls: Sequence[StreamedCall], code: str, sentence: str, *, end: End = "error"
) -> ClassifiedCalls:
    """Answer every call with the same error."""
    return ClassifiedCalls(
        [Verdict(call, "invalid", failed(call, code, sentence, end=end)) for call in calls]
    )


def _refused(call: StreamedCall, refusal: Refusal) -> Verdict:
    return Verdict(call, "invalid", failed(call, refusal.code, refusal.message))


def check_args(tool: BaseTool, args: dict[str, Any]) -> None:
    """Raises ValueError with a sentence for the model if the arguments do not fit the schema."""
    # LangChain makes a new dict of the schema each time, which would be read each time.
    schema = tool.args_schema if isinstance(tool.args_schema, dict) else tool.tool_call_schema
    if isinstance(schema, dict):
        problem = misfit(schema, args)
        if problem:
            raise ValueError(f"The arguments do not fit the schema. {problem}")
    elif issubclass(schema, BaseModel):
        unknown = sorted(set(args) - set(schema.model_fields))
        if unknown:
            raise ValueError(
                f"The arguments do not fit the schema. There is no argument {unknown[0][:64]!r}; "
                f"there are: {', '.join(schema.model_fields) or 'none'}."
            )
        try:
            schema.model_validate(args)
        except ValidationError as error:
            raise ValueError(f"The arguments do not fit the schema. {_problems(error)}.") from None


def _problems(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False)[:5]
    )
