"""How often the words of a live run are written down."""

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage, messages_from_dict

from tests.support.contracts.threads import THREAD
from turnstream.server.runs.kept_words import KeptWords


class Clock:
    """The loop's timers, which run when the test says so."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.set: list[tuple[float, Callable[[], None]]] = []
        patch.setattr(asyncio.get_running_loop(), "call_later", self._call_later)

    def _call_later(self, seconds: float, then: Callable[[], None]) -> Any:
        self.set.append((seconds, then))
        return SimpleNamespace(cancel=lambda: None)

    def ring(self) -> None:
        for _, then in [self.set.pop(0) for _ in tuple(self.set)]:
            then()


class Store:
    def __init__(self) -> None:
        self.written: list[str] = []

    async def put_words(self, _key: Any, _run_id: str, words: str) -> None:
        self.written.append(words)

    async def forget_words(self, _key: Any) -> None:
        self.written.append("forgotten")


async def test_words_are_written_once_in_two_seconds_however_many_come_and_only_new_ones() -> None:
    store, said = Store(), AIMessage("One")
    step = SimpleNamespace(message=said, answers=[])
    run: Any = SimpleNamespace(unsaved=[step], substeps=None)
    words: Any = KeptWords(store, THREAD, "r1", run)  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patch:
        clock = Clock(patch)
        async with words:
            for _ in range(100):
                words.note()
            assert [seconds for seconds, _ in clock.set] == [2.0]
            assert store.written == []
            clock.ring()
            await words._keeping
            assert len(store.written) == 1
            words.note()
            clock.ring()
            await words._keeping
            assert len(store.written) == 1, "nothing new was said"
            step.message = AIMessage("One two")
            words.note()
            words.note()
            assert [seconds for seconds, _ in clock.set] == [2.0]
            clock.ring()
            await words._keeping
            assert len(store.written) == 2
    assert store.written[2:] == ["forgotten"]


async def test_a_run_that_is_over_within_two_seconds_writes_nothing() -> None:
    store = Store()
    run: Any = SimpleNamespace(
        unsaved=[SimpleNamespace(message=AIMessage("One"), answers=[])], substeps=None
    )
    async with KeptWords(store, THREAD, "r1", run) as words:  # type: ignore[arg-type]
        words.note()
    assert store.written == []


async def test_words_are_written_with_a_result_whose_artifact_is_not_json() -> None:
    store, found = Store(), {"rows": [object()], ("a", 1): b"x", "count": 3}
    answer = ToolMessage("Found.", tool_call_id="c1", artifact=found)
    step = SimpleNamespace(message=AIMessage("One"), answers=[answer])
    run: Any = SimpleNamespace(unsaved=[step], substeps=None)
    words: Any = KeptWords(store, THREAD, "r1", run)  # type: ignore[arg-type]
    await words._keep()
    [written] = store.written
    _, kept = messages_from_dict(json.loads(written))
    assert isinstance(kept, ToolMessage)
    assert kept.text == "Found."
    assert kept.artifact == {"rows": [None], "count": 3}
