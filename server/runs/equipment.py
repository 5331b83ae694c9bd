"""The graphs, models and tools that the server has for runs."""

from dataclasses import dataclass

from turnstream.graphs.classify import Classifier
from turnstream.server.runs.served_graphs import ServedGraphs
from turnstream.server.runs.served_models import ServedModels
from turnstream.tools.current import CurrentCatalogue


@dataclass(frozen=True, slots=True)
class Equipment:
    graphs: ServedGraphs
    models: ServedModels
    classifier: Classifier
    """The rules for tool calls, before a run's client tools are added."""
    catalogue: CurrentCatalogue
    """A run takes the tools as they are when it begins."""
