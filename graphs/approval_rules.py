"""Which calls a person must approve before they run: what the tool declares, and what the caller's
rights demand or waive."""

import logging
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from langgraph.pregel import Pregel

from turnstream.graphs.faults import GraphError
from turnstream.graphs.graph_tools import tools_of
from turnstream.graphs.rights import EVERYTHING, ToolRights
from turnstream.tools.author_calls import AuthorCalls
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import approval_of

RULE_SECONDS = 10
"""Seconds that a tool's own rule may take; after that the call needs an approval."""

Need = Literal["never", "sometimes", "always"]

_ASK = AuthorCalls()

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ApprovalRules:
    catalogue: Catalogue
    rights: ToolRights = EVERYTHING
    user: Mapping[str, Any] = field(default_factory=dict)
    """The caller, as LangGraph's `langgraph_auth_user`."""

    def by_name(self, name: str) -> Need:
        """Nobody approves a UI tool: it does nothing on the server."""
        tool = self.catalogue.real_by_name.get(name)
        if tool is None:
            return "never"
        match self.rights.decide(name), approval_of(tool):
            case ("waived", _) | ("allow", False):
                return "never"
            case ("allow", rule) if callable(rule):
                return "sometimes"
        return "always"

    async def needs(self, name: str, args: Mapping[str, Any]) -> bool:
        """Check that a call whose arguments fit the schema needs an approval. If the tool's rule
        fails or takes too long, it does."""
        need = self.by_name(name)
        if need != "sometimes":
            return need == "always"
        rule = approval_of(self.catalogue.real_by_name[name])
        assert callable(rule), "a need that is not constant has a rule"
        try:
            # A copy of the arguments: what a rule changes is not what runs.
            asked = partial(rule, deepcopy(dict(args)), self.user)
            return bool(await _ASK(asked, RULE_SECONDS))
        except Exception:
            logger.exception("the rule for approvals of %(tool)s failed", {"tool": name})
            return True


def ungated(catalogue: Catalogue) -> Catalogue:
    """The tools of the catalogue that a graph which asks nobody may run; the log names the
    others."""
    gated = [tool.name for tool in catalogue.real if approval_of(tool)]
    if not gated:
        return catalogue
    named = {"tools": ", ".join(gated)}
    logger.warning("the graph does not get the tools whose calls need approvals: %(tools)s", named)
    return Catalogue(tuple(t for t in catalogue.real if t.name not in gated), catalogue.ui)


def refuse_gated_tools(graph: Pregel[Any, Any, Any, Any]) -> None:
    """Raises GraphError if a tool of a graph that is not ours declares that a person must approve
    its calls: the graph runs it by itself, and asks nobody."""
    gated = sorted(name for name, tool in tools_of(graph).items() if approval_of(tool))
    if gated:
        raise GraphError(
            f"its ToolNode runs {', '.join(gated)}, declared with needs_approval, and asks nobody "
            "first: in place of that call interrupt() in the tool, or give it to the built-in graph"
        )
