"""The zoo without a server: what each graph says, asks and leaves, in a plain loop."""

import pytest

from tests.graphs.zoo import ZOO, Animal
from tests.graphs.zoo.plain_loop import opened, turn

pytestmark = pytest.mark.filterwarnings("ignore:create_react_agent has been moved")


@pytest.fixture(params=ZOO, ids=lambda animal: animal.name)
def animal(request: pytest.FixtureRequest) -> Animal:
    found: Animal = request.param
    return found


async def test_it_runs_through_its_questions_to_its_end(animal: Animal) -> None:
    played = opened(animal)
    assert tuple(await turn(played, animal)) == animal.thread
    assert played.asked == [question.asked for question in animal.questions]
    assert tuple(played.custom) == animal.custom
    assert tuple(await played.beside()) == animal.beside
    assert not played.model.refused


async def test_it_takes_a_second_message(animal: Animal) -> None:
    played = opened(animal)
    await turn(played, animal)
    thread = await turn(played, animal)
    assert thread[-1].startswith("ai: ")
    assert not (await played.graph.aget_state({"configurable": {"thread_id": "thread-1"}})).next
    assert not played.model.refused


def test_the_names_are_unique() -> None:
    assert len({animal.name for animal in ZOO}) == len(ZOO) >= 16
