"""Turns with UI tools: they end the turn; questions wait, and are answered once, or closed."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from tests.support.backend import Backend, backend, key_of
from tests.support.run_chunks import (
    ALERT,
    COMPONENT,
    QUESTION,
    SELECTION,
    answer_calls,
    send_message,
    tool_call_message,
)
from tests.support.scripted_model import ScriptedModel, finish, text
from turnstream.server.turns.chunks import ArgsFinish, StepStart
from turnstream.server.turns.messages import AssistantTurn, ToolCall
from turnstream.server.turns.requests import ClientTool, InvalidRequest, ToolAnswer, TurnRequest

MULTIPLE = (
    '{"kind":"multiple","prompt":"Which?","max_selected":2,'
    '"options":[{"value":"red"},{"value":"blue"},{"value":"green"}]}'
)
DATE = '{"kind":"date","prompt":"When?","min_date":"2024-01-01"}'
RANGE = '{"kind":"date_range","prompt":"When?"}'
CALCULATION = '{"expression":"17 * 23"}'


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel.of()


@pytest.fixture
async def home(tmp_path: Path, model: ScriptedModel) -> AsyncIterator[Backend]:
    async with backend(tmp_path / "t.db", model) as opened:
        yield opened


async def shown_calls(home: Backend) -> dict[str, ToolCall]:
    """The calls of the thread as a page shows them, by id."""
    turns = [turn for turn in await home.turns() if isinstance(turn, AssistantTurn)]
    parts = [part for turn in turns for part in turn.parts]
    return {part.tool_call_id: part for part in parts if isinstance(part, ToolCall)}


def answers_read(model: ScriptedModel) -> dict[str, Any]:
    """What the model read last of its calls, by id."""
    return {
        message.tool_call_id: json.loads(str(message.content))
        for message in model.prompts[-1]
        if isinstance(message, ToolMessage)
    }


async def test_a_component_has_its_arguments_as_its_result_and_ends_the_turn(
    home: Backend, model: ScriptedModel
) -> None:
    model.script([text("Look: "), *tool_call_message(("c1", COMPONENT, ALERT))])
    told = await send_message(home)
    assert (told.results["c1"].end, told.results["c1"].result) == ("shown", json.loads(ALERT))
    assert (told.calls[0].disposition, told.dispositions) == ("shown", {"c1": "shown"})
    assert (told.reason, told.steps, len(model.prompts)) == ("stop", 1, 1)
    assert (await send_message(home)).text == "Done."
    assert answers_read(model) == {"c1": json.loads(ALERT)}


async def test_a_question_ends_the_turn_with_its_call_pending(
    home: Backend, model: ScriptedModel
) -> None:
    model.script([text("Well: "), *tool_call_message(("c1", SELECTION, QUESTION))])
    told = await send_message(home)
    assert told.results == {}
    assert (told.calls[0].disposition, told.dispositions) == ("client", {"c1": "client"})
    assert (told.reason, told.steps, len(model.prompts)) == ("tool-calls", 1, 1)
    [finished] = [chunk for chunk in told.chunks if isinstance(chunk, ArgsFinish)]
    assert finished.args == json.loads(QUESTION)
    assert (await shown_calls(home))["c1"].end is None


@pytest.mark.parametrize(
    ("question", "given", "stored"),
    [
        (QUESTION, {"value": "red"}, {"value": "red"}),
        (QUESTION, "red", {"value": "red"}),
        (QUESTION, {"cancelled": True}, {"cancelled": True}),
        (MULTIPLE, {"values": ["red", "green"]}, {"values": ["red", "green"]}),
        (MULTIPLE, ["blue"], {"values": ["blue"]}),
        (DATE, {"date": "2024-02-29"}, {"date": "2024-02-29"}),
        (
            RANGE,
            {"start": "2024-01-01", "end": "2024-01-02"},
            {"start": "2024-01-01", "end": "2024-01-02"},
        ),
    ],
)
async def test_an_answer_that_fits_goes_to_the_model_and_the_same_turn_goes_on(
    home: Backend, model: ScriptedModel, question: str, given: Any, stored: Any
) -> None:
    model.script(tool_call_message(("c1", SELECTION, question)), [text("Good."), finish()])
    asked = await send_message(home)
    told = await answer_calls(home, ("c1", given))
    assert answers_read(model) == {"c1": stored}
    assert (told.text, told.reason) == ("Good.", "stop")
    assert (await shown_calls(home))["c1"].result == stored
    [turn] = [turn for turn in await home.turns() if isinstance(turn, AssistantTurn)]
    chunks = [*asked.chunks, *told.chunks]
    starts = [chunk.message_id for chunk in chunks if isinstance(chunk, StepStart)]
    assert set(starts) == {turn.id}, "one message, over both runs"


@pytest.mark.parametrize(
    ("question", "given"),
    [
        (QUESTION, {"value": "green"}),
        (QUESTION, "green"),
        (QUESTION, {"values": ["red"]}),
        (QUESTION, {"value": "red", "more": 1}),
        (QUESTION, None),
        (QUESTION, {"cancelled": False}),
        (MULTIPLE, {"values": ["red", "blue", "green"]}),
        (MULTIPLE, {"values": ["red", "red"]}),
        (DATE, {"date": "2023-12-31"}),
        (DATE, {"date": "tomorrow"}),
        (RANGE, {"start": "2024-02-01", "end": "2024-01-01"}),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused_and_the_question_stays(
    home: Backend, model: ScriptedModel, question: str, given: Any
) -> None:
    model.script(tool_call_message(("c1", SELECTION, question)))
    await send_message(home)
    before = await home.messages()
    with pytest.raises(InvalidRequest) as refused:
        await answer_calls(home, ("c1", given))
    assert (refused.value.status, refused.value.code) == (422, "invalid_answer")
    assert "does not fit" in refused.value.message
    assert await home.messages() == before
    assert (await answer_calls(home, ("c1", {"cancelled": True}))).text == "Done."


async def test_one_answer_that_does_not_fit_refuses_the_whole_request(
    home: Backend, model: ScriptedModel
) -> None:
    model.script(tool_call_message(("c1", SELECTION, QUESTION), ("c2", SELECTION, QUESTION)))
    await send_message(home)
    with pytest.raises(InvalidRequest, match="c2"):
        await answer_calls(home, ("c1", "red"), ("c2", "pink"))
    assert {call.end for call in (await shown_calls(home)).values()} == {None}


async def test_an_answer_that_is_an_error_always_fits(home: Backend, model: ScriptedModel) -> None:
    model.script(tool_call_message(("c1", SELECTION, QUESTION)))
    await send_message(home)
    answer = ToolAnswer("c1", "The user's browser is too old.", is_error=True)
    await home.turn(TurnRequest(answers=(answer,)))
    shown = (await shown_calls(home))["c1"]
    assert shown.end == "error"
    assert shown.result["error"]["message"] == "The user's browser is too old."


async def test_typing_past_a_question_closes_it_and_says_so(
    home: Backend, model: ScriptedModel
) -> None:
    model.script(tool_call_message(("c1", SELECTION, QUESTION)), [text("Never mind."), finish()])
    await send_message(home)
    told = await send_message(home, "Something else.")
    assert told.text == "Never mind."
    [settled] = told.settled
    assert (settled.tool_call_id, settled.end) == ("c1", "cancelled")
    assert settled.result["error"]["code"] == "not_answered"
    assert (await shown_calls(home))["c1"].end == "cancelled"
    read = [type(message) for message in model.prompts[-1]]
    assert read == [HumanMessage, AIMessage, ToolMessage, HumanMessage]


async def test_a_closed_question_cannot_be_answered_any_more(
    home: Backend, model: ScriptedModel
) -> None:
    model.script(tool_call_message(("c1", SELECTION, QUESTION)))
    await send_message(home)
    await send_message(home, "Something else.")
    await refuses(home, ("c1", "red"), "already_answered")


async def refuses(home: Backend, answer: tuple[str, Any], code: str) -> None:
    before = await home.messages()
    with pytest.raises(InvalidRequest) as refused:
        await answer_calls(home, answer)
    assert (refused.value.status, refused.value.code) == (409, code)
    assert await home.messages() == before


async def test_a_second_answer_is_refused(home: Backend, model: ScriptedModel) -> None:
    model.script(tool_call_message(("c1", SELECTION, QUESTION)))
    await send_message(home)
    await answer_calls(home, ("c1", "red"))
    await refuses(home, ("c1", "blue"), "already_answered")


async def test_two_answers_to_one_call_in_one_request_are_refused(
    home: Backend, model: ScriptedModel
) -> None:
    model.script(tool_call_message(("c1", SELECTION, QUESTION)))
    await send_message(home)
    with pytest.raises(InvalidRequest, match="twice"):
        await answer_calls(home, ("c1", "red"), ("c1", "red"))
    assert (await shown_calls(home))["c1"].end is None


async def test_an_answer_to_a_call_that_never_was_is_refused(
    home: Backend, model: ScriptedModel
) -> None:
    await refuses(home, ("c1", "red"), "not_pending")
    model.script(tool_call_message(("c1", SELECTION, QUESTION)))
    await send_message(home)
    await refuses(home, ("c2", "red"), "not_pending")


async def test_the_result_of_a_real_tool_cannot_be_sent_by_a_client(
    home: Backend, model: ScriptedModel
) -> None:
    model.script(tool_call_message(("c1", "calculator", CALCULATION), ("c2", SELECTION, QUESTION)))
    await send_message(home)
    await refuses(home, ("c1", {"value": 1}), "not_pending")


async def test_several_questions_are_answered_one_by_one_and_the_last_calls_the_model(
    home: Backend, model: ScriptedModel
) -> None:
    model.script(
        tool_call_message(*((f"c{n}", SELECTION, QUESTION) for n in range(3))),
        [text("All in."), finish()],
    )
    asked = await send_message(home)
    assert len(asked.calls) == 3
    for id in ("c1", "c0"):
        partly = await answer_calls(home, (id, "red"))
        assert (partly.steps, partly.reason) == (0, "tool-calls")
        assert len(model.prompts) == 1
        assert (await shown_calls(home))[id].result == {"value": "red"}
    told = await answer_calls(home, ("c2", "blue"))
    assert (told.text, told.reason) == ("All in.", "stop")
    assert answers_read(model) == {
        "c0": {"value": "red"},
        "c1": {"value": "red"},
        "c2": {"value": "blue"},
    }


async def test_an_answer_and_a_message_together_answer_first_and_close_the_rest(
    home: Backend, model: ScriptedModel
) -> None:
    model.script(tool_call_message(("c1", SELECTION, QUESTION), ("c2", SELECTION, QUESTION)))
    await send_message(home)
    told = await answer_calls(home, ("c1", "red"), words="And hurry.")
    assert told.text == "Done."
    assert [settled.tool_call_id for settled in told.settled] == ["c2"]
    ends = {id: call.end for id, call in (await shown_calls(home)).items()}
    assert ends == {"c1": "result", "c2": "cancelled"}
    assert model.prompts[-1][-1].content == "And hurry."


@pytest.mark.parametrize(
    ("name", "args"),
    [
        (SELECTION, '{"kind":"single","prompt":"Which?"}'),
        (SELECTION, '{"kind":"guess","prompt":"Which?"}'),
        (COMPONENT, '{"component":"alert","props":{}}'),
        (COMPONENT, '{"component":"pie","props":{}}'),
        (COMPONENT, "{}"),
    ],
)
async def test_ui_arguments_that_do_not_fit_go_back_to_the_model(
    home: Backend, model: ScriptedModel, name: str, args: str
) -> None:
    model.script(tool_call_message(("c1", name, args)))
    told = await send_message(home)
    assert told.error_codes == {"c1": "invalid_arguments"}
    assert (told.text, told.reason) == ("Done.", "stop")
    assert answers_read(model)["c1"]["error"]["code"] == "invalid_arguments"


@pytest.mark.parametrize("name", [SELECTION, COMPONENT])
async def test_truncated_ui_arguments_go_back_to_the_model(
    home: Backend, model: ScriptedModel, name: str
) -> None:
    model.script(tool_call_message(("c1", name, QUESTION[:-2]), reason="length"))
    told = await send_message(home)
    assert told.error_codes == {"c1": "invalid_json"}
    assert (told.text, told.reason) == ("Done.", "stop")


@pytest.mark.parametrize(
    ("name", "args", "reason"), [(SELECTION, QUESTION, "tool-calls"), (COMPONENT, ALERT, "stop")]
)
async def test_real_calls_beside_a_ui_call_run_first_and_then_the_turn_ends(
    home: Backend, model: ScriptedModel, name: str, args: str, reason: str
) -> None:
    model.script(tool_call_message(("c1", name, args), ("c2", "calculator", CALCULATION)))
    told = await send_message(home)
    assert told.results["c2"].result["value"] == 391
    assert (told.steps, told.reason, len(model.prompts)) == (1, reason, 1)
    assert (await shown_calls(home))["c2"].end == "result", "stored, too"


@pytest.mark.parametrize("real", [True, False])
@pytest.mark.parametrize("wrong", [("c3", "calculator", "{bad"), ("c3", SELECTION, "{}")])
async def test_an_invalid_call_beside_a_ui_call_is_read_in_the_next_run(
    home: Backend, model: ScriptedModel, real: bool, wrong: tuple[str, str, str]
) -> None:
    beside = [("c2", "calculator", CALCULATION)] if real else []
    model.script(tool_call_message(("c1", SELECTION, QUESTION), *beside, wrong))
    told = await send_message(home)
    assert (told.steps, told.reason, len(model.prompts)) == (1, "tool-calls", 1)
    assert list(told.error_codes) == ["c3"]
    assert (await answer_calls(home, ("c1", "red"))).text == "Done."
    read = answers_read(model)
    assert read["c1"] == {"value": "red"}
    assert "error" in read["c3"]
    assert ("c2" in read) == real


async def test_an_ignored_question_costs_nothing_but_its_answer(
    home: Backend, model: ScriptedModel
) -> None:
    for number in range(3):
        model.script(tool_call_message((f"c{number}", SELECTION, QUESTION)))
        assert (await send_message(home)).reason == "tool-calls"
    assert (await send_message(home)).text == "Done."
    ends = [call.end for call in (await shown_calls(home)).values()]
    assert ends == ["cancelled"] * 3


async def test_a_question_is_answered_although_a_crash_left_a_real_call_beside_it(
    home: Backend, model: ScriptedModel
) -> None:
    calls: Any = [
        {"type": "tool_call", "id": "c1", "name": "calculator", "args": {"expression": "1"}},
        {"type": "tool_call", "id": "c2", "name": SELECTION, "args": json.loads(QUESTION)},
    ]
    left: list[AnyMessage] = [HumanMessage("Go", id="u1"), AIMessage("", id="a1", tool_calls=calls)]
    await home.checkpoints.add(key_of(), left)
    told = await answer_calls(home, ("c2", "red"))
    assert told.text == "Done."
    read = answers_read(model)
    assert read["c2"] == {"value": "red"}
    assert read["c1"]["error"]["code"] == "interrupted"


async def test_a_tool_that_the_client_brings_waits_for_it(
    home: Backend, model: ScriptedModel
) -> None:
    parameters = {
        "type": "object",
        "properties": {"zoom": {"type": "number"}},
        "required": ["zoom"],
    }
    tool = ClientTool("set_zoom", "Zoom the map.", parameters)
    model.script(tool_call_message(("c1", "set_zoom", '{"zoom":2}'), ("c2", "set_zoom", "{}")))
    told = await send_message(home, client_tools=(tool,))
    assert told.error_codes == {"c2": "invalid_arguments"}
    assert told.reason == "tool-calls"
    assert (await answer_calls(home, ("c1", {"anything": ["goes"]}))).text == "Done."
    assert answers_read(model)["c1"] == {"anything": ["goes"]}


async def test_a_tool_of_the_client_is_unknown_in_a_run_that_does_not_bring_it(
    home: Backend, model: ScriptedModel
) -> None:
    model.script(tool_call_message(("c1", "set_zoom", '{"zoom":2}')))
    assert (await send_message(home)).error_codes == {"c1": "unknown_tool"}


async def test_a_message_with_nothing_open_has_nothing_to_settle(home: Backend) -> None:
    assert (await send_message(home)).settled == []


async def test_a_request_that_brings_nothing_is_refused(home: Backend) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await home.turn(TurnRequest())
    assert refused.value.code == "nothing_to_do"
