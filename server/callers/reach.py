"""The part of their own that a caller reaches: rules of an extension beside ownership."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Resource = Literal["threads", "assistants", "store"]


@dataclass(frozen=True, slots=True)
class MetadataFilter:
    """Values that the metadata of a thread or an assistant must have, by name."""

    equal: Mapping[str, Any] = field(default_factory=dict)
    contained: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Elements that a list of the metadata must have."""

    @property
    def is_empty(self) -> bool:
        return not self.equal and not self.contained

    def also(self, equal: Mapping[str, Any]) -> "MetadataFilter":
        """Return the filter with further values that must be equal."""
        return replace(self, equal={**self.equal, **equal})

    def matches(self, metadata: Mapping[str, Any]) -> bool:
        if any(name not in metadata for name in (*self.equal, *self.contained)):
            return False
        lists = {name: metadata[name] for name in self.contained}
        return all(metadata[name] == value for name, value in self.equal.items()) and all(
            isinstance(kept, list) and all(one in kept for one in self.contained[name])
            for name, kept in lists.items()
        )


EVERYTHING = MetadataFilter()
"""Matches any metadata."""
