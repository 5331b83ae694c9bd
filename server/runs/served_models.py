"""The models that are served, and which of them speaks in a run."""

from collections.abc import Mapping
from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage

from turnstream.graphs import stored
from turnstream.graphs.attached import AttachedGraph
from turnstream.graphs.context import ChosenModel
from turnstream.graphs.images import has_image, takes_images
from turnstream.server.callers.rights import Rights
from turnstream.server.runs.plan import Plan
from turnstream.server.turns.requests import InvalidRequest, TurnRequest


@dataclass(frozen=True, slots=True)
class ServedModels:
    by_name: Mapping[str, BaseChatModel]
    """By their names in the settings; the first is the default."""

    @property
    def are_several(self) -> bool:
        return len(self.by_name) > 1

    def allowed(self, rights: Rights) -> list[str]:
        """The names of the models that a caller may use."""
        return [name for name in self.by_name if rights.may_use_model(name)]

    def check(self, request: TurnRequest, graph: AttachedGraph, rights: Rights) -> None:
        """Raises InvalidRequest: 422 `model_not_selectable` or `unknown_model`, 403
        `model_not_allowed`."""
        name = request.model
        if graph.is_built_in and not self.allowed(rights):
            raise InvalidRequest("model_not_allowed", "You may not use any model.", 403)
        if name is None:
            return
        if not graph.is_built_in:
            raise InvalidRequest(
                "model_not_selectable",
                "The graph has a model of its own: leave out `model`. What clients may set of a "
                "graph, GET /graphs lists.",
            )
        if name not in self.by_name:
            listed = ", ".join(self.allowed(rights)) or "none"
            raise InvalidRequest(
                "unknown_model", f"There is no model {name[:64]!r}; there are: {listed}."
            )
        if not rights.may_use_model(name):
            raise InvalidRequest(
                "model_not_allowed",
                f"You may not use the model {name[:64]!r}; GET /models lists yours.",
                403,
            )

    def choose(
        self, request: TurnRequest, graph: AttachedGraph, plan: Plan, rights: Rights
    ) -> ChosenModel | None:
        """The model of a run whose request has been checked: the one that the request names; for a
        run that goes on with a turn the one that spoke last in it; else the first that the caller
        may use. None: the graph's own."""
        if not graph.is_built_in or not (self.are_several or rights.restricts_models):
            return None
        allowed = self.allowed(rights)
        wanted = request.model or self._of_turn(plan)
        name = wanted if wanted in allowed else allowed[0]
        return ChosenModel(name, self.by_name[name])

    def check_images(self, plan: Plan, name: str | None) -> None:
        """Raises InvalidRequest 422 `images_not_supported` if the run would ask a model about
        images that it does not take; None: a graph's own model, which is not known."""
        if name is None or takes_images(self.by_name[name]):
            return
        if not any(has_image(message) for message in plan.new or ()):
            return
        others = [other for other, model in self.by_name.items() if takes_images(model)]
        seeing = f" Of those here, {', '.join(others)} can." if others else ""
        raise InvalidRequest(
            "images_not_supported",
            f"The model {name!r} takes no images: send the message without them, or choose another "
            f"model.{seeing}",
        )

    def name_of(self, chosen: ChosenModel | None) -> str | None:
        """The model that speaks in a run of the built-in graph; without a choice the default."""
        return chosen.name if chosen else next(iter(self.by_name), None)

    def _of_turn(self, plan: Plan) -> str | None:
        if not plan.continues:
            return None
        spoken = (m for m in reversed(plan.before.messages) if isinstance(m, AIMessage))
        return next(filter(None, map(stored.model, spoken)), None)
