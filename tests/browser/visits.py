"""A tool whose calls a person must approve, with arguments of every kind."""

from typing import Any, Literal

from tests.support.gated_tools import GatedTools
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool

Work = Literal["cleaning", "repair", "service"]


class VisitTools(GatedTools):
    """Beside those of `GatedTools`: `plan_visit`."""

    def __init__(self) -> None:
        super().__init__()
        self.visits: list[dict[str, Any]] = []
        """The arguments of each execution."""
        self.catalogue = Catalogue(
            (*self.catalogue.real, self._plan_visit()),
            self.catalogue.ui,
        )

    def _plan_visit(self) -> Any:
        @real_tool(client_fields=["planned"], needs_approval=True)
        async def plan_visit(
            inverter: str | int,
            day: str,
            work: Work,
            crew: int = 1,
            urgent: bool = False,
            note: str | None = None,
            parts: list[dict[str, Any]] | None = None,
        ) -> dict[str, Any]:
            """Plan the visit of a technician to one inverter.

            Args:
                inverter: The inverter, by number or name.
                day: The day, YYYY-MM-DD.
                work: What is to be done.
                crew: How many people.
                urgent: Whether it cannot wait.
                note: What the technician has to know.
                parts: What to bring along.
            """
            self.visits.append(
                {
                    "inverter": inverter,
                    "day": day,
                    "work": work,
                    "crew": crew,
                    "urgent": urgent,
                    "note": note,
                    "parts": parts,
                }
            )
            return {"planned": day}

        return plan_visit
