"""How a run ended, read off the chunks that it told."""

import pytest

from turnstream.server.runs.endings import told_end
from turnstream.server.storage.interfaces import ThreadRunState
from turnstream.server.turns.chunks import Chunk, Done, Error, MessageFinish, RunEnded, Usage

NOTHING = Usage(0, 0)


@pytest.mark.parametrize(
    ("last", "state"),
    [
        ([RunEnded("stopped"), MessageFinish("other", NOTHING)], "stopped"),
        ([RunEnded("shutdown"), MessageFinish("other", NOTHING)], "stopped"),
        (
            [RunEnded("limit", "max_run_bytes", 9), MessageFinish("other", NOTHING)],
            "stopped",
        ),
        ([RunEnded("limit", "max_steps", 9), MessageFinish("other", NOTHING)], "finished"),
        ([Error("model_error", "No.", None), MessageFinish("error", NOTHING)], "failed"),
        ([Error("run_interrupted", "No.", None), MessageFinish("error", NOTHING)], "interrupted"),
        ([MessageFinish("tool-calls", NOTHING)], "waiting"),
        ([MessageFinish("stop", NOTHING)], "finished"),
    ],
)
def test_the_last_chunks_of_a_run_say_how_it_ended(
    last: list[Chunk], state: ThreadRunState
) -> None:
    assert told_end([*last, Done()]) == state
