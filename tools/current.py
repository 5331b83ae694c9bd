"""The catalogue as it is now, for those who must see it change.

A run takes the catalogue as it is at its start, and keeps it to its end.
"""

from dataclasses import dataclass, field

from turnstream.tools.catalogue import Catalogue
from turnstream.tools.held_calls import HeldCalls


@dataclass(slots=True)
class CurrentCatalogue:
    """The catalogue of the server; whoever changes it puts a new one in its place."""

    current: Catalogue
    held_calls: HeldCalls = field(default_factory=HeldCalls)
