"""Graphs as their authors write them: each in a module of its own, on a scripted model.

The functions that build them know nothing of the server that is tested with them.
"""

from tests.graphs.zoo import (
    agentic_rag,
    agents,
    approval,
    interrupts,
    map_reduce,
    middleware,
    plan_and_execute,
    published,
    rag,
    reducers,
    reflection,
    returns,
    routing,
    streaming,
    subagents,
    subgraphs,
    supervisor,
    swarm,
    todos,
)
from tests.graphs.zoo.animal import Animal
from tests.graphs.zoo.model import ReplyingModel

__all__ = ["ZOO", "Animal", "ReplyingModel"]

ZOO: tuple[Animal, ...] = (
    *agents.ANIMALS,
    *middleware.ANIMALS,
    *approval.ANIMALS,
    *supervisor.ANIMALS,
    *swarm.ANIMALS,
    *map_reduce.ANIMALS,
    *agentic_rag.ANIMALS,
    *rag.ANIMALS,
    *plan_and_execute.ANIMALS,
    *reflection.ANIMALS,
    *interrupts.ANIMALS,
    *streaming.ANIMALS,
    *returns.ANIMALS,
    *subgraphs.ANIMALS,
    *subagents.ANIMALS,
    *routing.ANIMALS,
    *reducers.ANIMALS,
    *todos.ANIMALS,
    *published.ANIMALS,
)
