"""What a graph streams is told in its order, while the graph goes on."""

import asyncio

import pytest

from turnstream.server.runs.telling import MOST_AHEAD, Item, Telling

UPDATE: Item = {"type": "updates", "data": "a step"}


def words(text: str) -> Item:
    return {"type": "messages", "data": text}


class Told:
    """Updates wait until they are saved."""

    def __init__(self) -> None:
        self.items: list[str] = []
        self.saved = asyncio.Event()
        self.telling = Telling(self.tell)

    async def tell(self, item: Item) -> None:
        if item["type"] == "updates":
            await self.saved.wait()
        if item["data"] == "nonsense":
            raise ValueError("nonsense")
        self.items.append(item["data"])


@pytest.fixture
async def told() -> Told:
    return Told()


async def test_the_graph_goes_on_while_a_step_is_saved_and_the_order_stays(told: Told) -> None:
    async with told.telling as telling:
        await telling.add(words("before"))
        assert told.items == ["before"]
        await telling.add(UPDATE)
        await telling.add(words("behind"))
        assert told.items == ["before"]
        told.saved.set()
    assert told.items == ["before", "a step", "behind"]


async def test_once_a_step_is_told_the_next_words_are_told_at_once(told: Told) -> None:
    told.saved.set()
    async with told.telling as telling:
        await telling.add(UPDATE)
        await asyncio.sleep(0)
        await telling.add(words("next"))
        assert told.items == ["a step", "next"]


async def test_the_graph_is_not_far_ahead(told: Told) -> None:
    async with told.telling as telling:
        await telling.add(UPDATE)
        await asyncio.sleep(0)
        for _ in range(MOST_AHEAD):
            await telling.add(words("more"))
        waiting = asyncio.create_task(telling.add(words("last")))
        await asyncio.sleep(0)
        assert not waiting.done()
        told.saved.set()
        await waiting
        assert told.items == ["a step", *["more"] * MOST_AHEAD, "last"]


async def test_what_cannot_be_told_ends_the_graph(told: Told) -> None:
    told.saved.set()
    async with told.telling as telling:
        await telling.add({"type": "updates", "data": "nonsense"})
        await asyncio.sleep(0)
        with pytest.raises(ValueError, match="nonsense"):
            await telling.add(words("never"))
    assert told.items == []


async def test_what_a_graph_has_streamed_before_it_fails_is_told(told: Told) -> None:
    asyncio.get_running_loop().call_soon(told.saved.set)

    async def run() -> None:
        async with told.telling as telling:
            await telling.add(UPDATE)
            raise RuntimeError("a node")

    with pytest.raises(RuntimeError, match="a node"):
        await run()
    assert told.items == ["a step"]


async def test_a_run_that_is_cancelled_tells_nothing_more(told: Told) -> None:
    entered = asyncio.Event()

    async def run() -> None:
        async with told.telling as telling:
            await telling.add(UPDATE)
            entered.set()
            await asyncio.Event().wait()

    running = asyncio.create_task(run())
    await entered.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    told.saved.set()
    await asyncio.sleep(0)
    assert told.items == []
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
