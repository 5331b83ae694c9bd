"""Which AG-UI message a part of a step belongs to.

A step is one message under the step's own id: a text, then any number of calls. A reasoning is a
message of its own. A text that does not come first, and a call that follows a reasoning, begin
another message: a client adds whatever has the id of a message to that message, so the order would
be lost.
"""


class StepMessages:
    """The ids of one step's messages, in the order of its parts. The same parts give the same ids
    whether they are streamed or loaded."""

    def __init__(self, step_id: str) -> None:
        self._step_id = step_id
        self._parts = 0
        self._is_named = False
        """Whether a message has the step's id."""
        self._latest: str | None = None
        """The message that a call joins."""

    def of_reasoning(self) -> str:
        self._latest = None
        return self._numbered()

    def of_text(self) -> str:
        self._latest = self._new()
        return self._latest

    def of_call(self) -> str:
        if self._latest is None:
            self._latest = self._new()
        else:
            self._parts += 1
        return self._latest

    def _new(self) -> str:
        numbered = self._numbered()
        if self._is_named:
            return numbered
        self._is_named = True
        return self._step_id

    def _numbered(self) -> str:
        position, self._parts = self._parts, self._parts + 1
        return f"{self._step_id}.{position}"
