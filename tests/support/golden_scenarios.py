"""Turns of every kind, played over HTTP against the real server: what golden transcripts are of.

They know the server by its HTTP interface alone, so that they tell of any version the same.

    python -m tests.support.golden_scenarios --record    writes tests/data/golden anew
"""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from tests.support import golden
from tests.support.counting_tools import CountingTools
from tests.support.endpoint import (
    Args,
    Break,
    Call,
    Finish,
    Pause,
    Say,
    StrictEndpoint,
    call_reply,
    reply,
    text_reply,
)
from tests.support.endpoint.failures import rate_limited
from tests.support.gated_tools import GatedTools
from tests.support.golden import Json
from tests.support.golden_ag_ui import AG_UI, AgUiPlay
from tests.support.golden_play import AI_SDK, FORMATS, PARTS, STATE, Play
from tests.support.scripted_model import ScriptedModel, call, finish, reasoning, text
from tests.support.serving import endpoint_settings, serving
from turnstream.tools.builtin import CATALOGUE

FILES = Path(__file__).parents[1] / "data" / "golden"
Model = Literal["endpoint", "scripted", "offline"]
"""Who speaks: the strict endpoint, a scripted chat model (which can think), or the offline one."""

SYSTEM_PROMPT = "Say what the test says."
PICTURE = "data:image/png;base64,iVBORw0KGgo="
RESULT = {
    PARTS: "result",
    STATE: "result",
    AI_SDK: "tool-output-available",
    AG_UI: "TOOL_CALL_RESULT",
}
PROGRESS = {PARTS: "data", STATE: "data", AI_SDK: "tool-output-available", AG_UI: "CUSTOM"}
PIECE = {
    PARTS: "text-delta",
    STATE: "text-delta",
    AI_SDK: "tool-input-delta",
    AG_UI: "TOOL_CALL_ARGS",
}
AND_AG_UI = (*FORMATS, AG_UI)
"""Those of the turns that AG-UI tells in events of its own."""


@dataclass(frozen=True)
class Scenario:
    play: Callable[[Play], Awaitable[None]]
    formats: Sequence[str]
    model: Model
    values: Json
    """Settings of the server."""
    gated: bool = False
    """Whether there are tools that need an approval; such a transcript has all that is said."""


SCENARIOS: dict[str, Scenario] = {}


def scenario(
    formats: Sequence[str] = FORMATS,
    model: Model = "endpoint",
    *,
    gated: bool = False,
    **values: Any,
) -> Callable[[Callable[[Play], Awaitable[None]]], None]:
    def add(play: Callable[[Play], Awaitable[None]]) -> None:
        SCENARIOS[play.__name__] = Scenario(play, formats, model, values, gated)

    return add


def echo(word: str) -> tuple[str, str]:
    return "echo", golden.dumps({"word": word})


def hold(word: str) -> tuple[str, str]:
    return "hold", golden.dumps({"word": word})


QUESTION = (
    "request_user_selection",
    '{"prompt":"Which day?","kind":"single",'
    '"options":[{"label":"Friday","value":"fri"},{"label":"Saturday","value":"sat"}]}',
)
CHART = (
    "render_ui_component",
    '{"component": "bar_chart", "props": {"categories": ["apples", "pears"], '
    '"series": [{"name": "fruit", "data": [3, 5]}]}}',
)
COLOUR = {
    "type": "object",
    "properties": {"of": {"type": "string"}},
    "required": ["of"],
    "additionalProperties": False,
}
MADE_UP = "teleport"
"""A tool that no server has."""
MISFITS = ("call_misfit_question", "call_misfit_client")
"""Calls that only the client could answer, with arguments that are JSON and do not fit."""


TWO = ("call_1", "call_2")


def nobody_sets() -> Pause:
    return Pause(asyncio.Event())


@scenario(AND_AG_UI)
async def plain_text(play: Play) -> None:
    play.endpoint.script(text_reply("Hello, “world”:\n\n* ünïcödé \\ and 🙂."))
    await play.turn(play.message("Say hello."))
    play.endpoint.script(text_reply("Again."))
    await play.turn(play.message("And again."))


@scenario(AND_AG_UI)
async def a_picture(play: Play) -> None:
    play.endpoint.script(text_reply("A picture."))
    await play.turn(play.message("What is this?", picture=PICTURE))


@scenario()
async def an_answer_cut_at_its_length(play: Play) -> None:
    play.endpoint.script(reply(Say("So much "), Say("to"), Finish("length")))
    await play.turn(play.message("Tell me all."))


@scenario()
async def no_words_at_all(play: Play) -> None:
    play.endpoint.script(reply())
    await play.turn(play.message("Be silent."))


@scenario()
async def one_tool(play: Play) -> None:
    call = (Call(0, "call_1", "echo", ""), Args(0, '{"word": '), Args(0, '"tea"}'))
    play.endpoint.script(reply(Say("Let me "), Say("see."), *call), text_reply("It is tea."))
    await play.turn(play.message("What is it?"))


@scenario()
async def two_tools_that_end_in_order(play: Play) -> None:
    calls = call_reply(echo("tea"), hold("milk"), ids=("call_1", "call_2"))
    play.endpoint.script(calls, text_reply("Tea and milk."))
    await play.turn(play.message("Both."), [RESULT[play.format]], play.release)


@scenario(AND_AG_UI)
async def two_tools_that_end_out_of_order(play: Play) -> None:
    calls = call_reply(hold("tea"), echo("milk"), ids=("call_1", "call_2"))
    play.endpoint.script(calls, text_reply("Tea and milk."))
    await play.turn(play.message("Both."), [RESULT[play.format]], play.release)


@scenario(AND_AG_UI)
async def progress_of_a_tool(play: Play) -> None:
    calls = call_reply(("report", '{"word":"tea"}'), ids=("call_1",))
    play.endpoint.script(calls, text_reply("Reported."))
    await play.turn(play.message("Report."), [PROGRESS[play.format]], play.release)


@scenario()
async def calls_without_ids_and_with_one_that_is_taken(play: Play) -> None:
    play.endpoint.script(call_reply(echo("salt"), ids=("call_1",)), text_reply("Salt."))
    await play.turn(play.message("First."))
    play.endpoint.script(reply(Call(0, None, *echo("tea"))))
    play.endpoint.script(call_reply(echo("milk"), ids=("call_1",)), text_reply("All."))
    await play.turn(play.message("Then."))


@scenario(AND_AG_UI, model="scripted")
async def text_and_reasoning(play: Play) -> None:
    thoughts = (reasoning("Hm, "), reasoning("tea."), text("Tea "), text("it is."))
    tea = call('{"word":"tea"}', name="echo", id="call_1")
    play.model.script([*thoughts, reasoning("Or milk?"), tea, finish("tool_calls")])
    play.model.script([text("Tea."), reasoning("Sure."), text(" Really."), finish()])
    await play.turn(play.message("Think."))


@scenario(AND_AG_UI)
async def a_chart_shown(play: Play) -> None:
    calls = call_reply(CHART, ids=("call_1",))
    play.endpoint.script(reply(Say("Look:"), *calls.steps))
    await play.turn(play.message("Draw."))
    play.endpoint.script(text_reply("Gladly."))
    await play.turn(play.message("Thanks."))


@scenario(AND_AG_UI)
async def a_question_and_its_answer(play: Play) -> None:
    play.endpoint.script(reply(Say("Well."), *call_reply(QUESTION, ids=("call_1",)).steps))
    await play.turn(play.message("Book it."))
    play.endpoint.script(text_reply("Saturday it is."))
    await play.turn(play.answer("call_1", QUESTION[0], {"value": "sat"}))


@scenario()
async def two_questions_answered_one_by_one(play: Play) -> None:
    play.endpoint.script(call_reply(QUESTION, QUESTION, ids=("call_1", "call_2")))
    await play.turn(play.message("Book both."))
    await play.turn(play.answer("call_2", QUESTION[0], {"value": "sat"}))
    play.endpoint.script(text_reply("Friday, and Saturday."))
    await play.turn(play.answer("call_1", QUESTION[0], {"value": "fri"}))


@scenario(AND_AG_UI)
async def real_and_ui_calls_in_one_message(play: Play) -> None:
    ids = ("call_1", "call_2", "call_3")
    play.endpoint.script(call_reply(QUESTION, echo("tea"), CHART, ids=ids))
    await play.turn(play.message("All of it."))
    play.endpoint.script(text_reply("Friday."))
    await play.turn(play.answer("call_1", QUESTION[0], {"value": "fri"}))


@scenario(AND_AG_UI)
async def arguments_that_are_no_json(play: Play) -> None:
    broken = (("echo", '{"word": "tea'), (QUESTION[0], "{bad"), (CHART[0], "[1]"))
    play.endpoint.script(call_reply(*broken, ids=("call_1", "call_2", "call_3")))
    play.endpoint.script(text_reply("I am sorry."))
    await play.turn(play.message("Break it."))


@scenario()
async def arguments_that_do_not_fit(play: Play) -> None:
    misfits = (("echo", '{"wrod":"tea"}'), (QUESTION[0], '{"prompt":7}'), (CHART[0], "{}"))
    ids = ("call_1", MISFITS[0], "call_3")
    play.endpoint.script(call_reply(*misfits, ids=ids), text_reply("I am sorry."))
    await play.turn(play.message("Bend it."))


@scenario()
async def a_misfit_beside_a_question(play: Play) -> None:
    calls = (("echo", '{"wrod":"tea"}'), QUESTION)
    play.endpoint.script(call_reply(*calls, ids=("call_1", "call_2")))
    await play.turn(play.message("Ask me."))
    play.endpoint.script(text_reply("Friday."))
    await play.turn(play.answer("call_2", QUESTION[0], {"value": "fri"}))


@scenario()
async def a_tool_that_the_model_made_up(play: Play) -> None:
    calls = call_reply((MADE_UP, '{"to":"Oslo"}'), echo("tea"), ids=("call_1", "call_2"))
    play.endpoint.script(calls, text_reply("There is no such tool."))
    await play.turn(play.message("Beam me up."))


@scenario(AND_AG_UI)
async def a_tool_of_the_client(play: Play) -> None:
    play.endpoint.script(call_reply(("pick_colour", '{"of":"tea"}'), ids=("call_1",)))
    await play.turn(play.with_tool(play.message("Paint."), "pick_colour", COLOUR))
    play.endpoint.script(call_reply(("pick_colour", '{"of":"milk"}'), ids=("call_2",)))
    answer = play.answer("call_1", "pick_colour", {"colour": "green"})
    await play.turn(play.with_tool(answer, "pick_colour", COLOUR))
    play.endpoint.script(text_reply("Green, then."))
    await play.turn(play.answer("call_2", "pick_colour", "The paint is out.", is_error=True))


@scenario()
async def a_misfit_of_a_tool_of_the_client(play: Play) -> None:
    misfit = call_reply(("pick_colour", '{"off":"tea"}'), ids=(MISFITS[1],))
    play.endpoint.script(misfit, text_reply("I am sorry."))
    await play.turn(play.with_tool(play.message("Paint."), "pick_colour", COLOUR))


@scenario(AND_AG_UI)
async def a_question_typed_past(play: Play) -> None:
    play.endpoint.script(call_reply(QUESTION, ids=("call_1",)))
    await play.turn(play.message("Book it."))
    play.endpoint.script(text_reply("As you like."))
    await play.turn(play.message("Never mind."))


@scenario(AND_AG_UI)
async def a_stop_in_the_text(play: Play) -> None:
    play.endpoint.script(reply(Say("So far."), nobody_sets()))
    await play.turn(
        play.message("Tell me."),
        ["TEXT_MESSAGE_CONTENT" if play.format == AG_UI else "text-delta"],
        play.stop,
    )
    play.endpoint.script(text_reply("On and on."))
    await play.turn(play.message("Go on."))


@scenario()
async def a_stop_in_a_tool(play: Play) -> None:
    calls = call_reply(echo("tea"), hold("milk"), ids=("call_1", "call_2"))
    play.endpoint.script(reply(Say("Wait."), *calls.steps))
    await play.turn(play.message("Both."), [RESULT[play.format]], play.stop)


@scenario(AND_AG_UI)
async def a_stop_while_arguments_come(play: Play) -> None:
    play.endpoint.script(reply(Call(0, "call_1", "echo", '{"word": "te'), nobody_sets()))
    await play.turn(play.message("Call it."), [PIECE[play.format]], play.stop)


@scenario()
async def a_tool_that_fails(play: Play) -> None:
    calls = call_reply(("broken", '{"word":"tea"}'), ids=("call_1",))
    play.endpoint.script(calls, text_reply("It failed."))
    await play.turn(play.message("Fail."))


@scenario()
async def a_model_that_limits_requests(play: Play) -> None:
    calls = call_reply(echo("tea"), ids=("call_1",))
    play.endpoint.script(calls, *[rate_limited(0.001)] * 3)
    await play.turn(play.message("Hurry."))


@scenario(AND_AG_UI)
async def a_model_that_breaks_off(play: Play) -> None:
    play.endpoint.script(reply(Say("It was "), Break()))
    await play.turn(play.message("Tell me."))
    play.endpoint.script(text_reply("Here I am."))
    await play.turn(play.message("Hello?"))


@scenario(max_steps=2)
async def the_limit_of_steps(play: Play) -> None:
    play.endpoint.script(call_reply(echo("tea"), ids=("call_1",)))
    play.endpoint.script(call_reply(echo("milk"), ids=("call_2",)))
    await play.turn(play.message("On and on."))


@scenario(max_identical_calls=1)
async def the_limit_of_identical_calls(play: Play) -> None:
    play.endpoint.script(call_reply(echo("tea"), ids=("call_1",)))
    play.endpoint.script(call_reply(echo("tea"), ids=("call_2",)))
    await play.turn(play.message("The same again."))


@scenario((PARTS, AI_SDK))
async def a_stopped_turn_continued(play: Play) -> None:
    play.endpoint.script(call_reply(echo("tea"), ids=("call_1",)))
    play.endpoint.script(reply(Say("So far."), nobody_sets()))
    seen = [RESULT[play.format], "text-delta"]
    await play.turn(play.message("Tell me."), seen, play.stop)
    play.endpoint.script(text_reply("And so on."))
    await play.turn({"continue": True})


@scenario((PARTS, AI_SDK))
async def an_answer_made_anew(play: Play) -> None:
    play.endpoint.script(text_reply("One."), text_reply("Two."), text_reply("Two anew."))
    await play.turn(play.message("First."))
    await play.turn(play.message("Second."))
    await play.turn(play.regenerate(f"{play.message_ids[1]}.a"))


@scenario(AND_AG_UI)
async def the_first_message_edited(play: Play) -> None:
    play.endpoint.script(call_reply(echo("tea"), ids=("call_1",)), text_reply("One."))
    await play.turn(play.message("First."))
    play.endpoint.script(text_reply("Two."), text_reply("One anew."))
    await play.turn(play.message("Second."))
    await play.turn(play.edit(play.message_ids[0], "First, anew."))


@scenario(model="offline")
async def the_offline_model(play: Play) -> None:
    await play.turn(play.message("Multiply 6 by 7, then convert the result from km to miles"))
    await play.turn(play.message("Draw a line chart of 1, 4, 9, 16, 25"))


PAY = ("pay", '{"word":"tea"}')


@scenario(AND_AG_UI, gated=True)
async def a_call_approved_beside_one_that_needs_none(play: Play) -> None:
    play.endpoint.script(reply(Say("Well."), *call_reply(echo("tea"), PAY, ids=TWO).steps))
    await play.turn(play.message("Buy tea."))
    play.endpoint.script(text_reply("Paid."))
    await play.turn(play.decision(("call_2", PAY[0], True, None)))


@scenario(AND_AG_UI, gated=True)
async def a_call_declined(play: Play) -> None:
    play.endpoint.script(call_reply(PAY, ids=("call_1",)))
    await play.turn(play.message("Buy tea."))
    play.endpoint.script(text_reply("As you like."))
    await play.turn(play.decision(("call_1", PAY[0], False, "Too dear.")))


@scenario(gated=True)
async def two_calls_of_which_one_is_declined(play: Play) -> None:
    play.endpoint.script(call_reply(PAY, ("pay", '{"word":"milk"}'), ids=TWO))
    await play.turn(play.message("Buy tea and milk."))
    play.endpoint.script(text_reply("Milk alone."))
    decisions = (("call_1", PAY[0], False, None), ("call_2", PAY[0], True, None))
    await play.turn(play.decision(*decisions))


@scenario(AND_AG_UI, gated=True)
async def an_approved_call_stopped_and_asked_about_again(play: Play) -> None:
    slow = ("pay_slowly", golden.dumps({"word": play.format}))
    play.endpoint.script(call_reply(slow, ids=("call_1",)))
    await play.turn(play.message("Buy milk."))

    async def stop() -> None:
        await play.counting_tools.begun(play.format)
        await play.stop()

    await play.turn(play.decision(("call_1", slow[0], True, None)), then=stop)
    play.endpoint.script(text_reply("As you like."))
    await play.turn(play.decision(("call_1", slow[0], False, None), number=2))


@scenario(gated=True)
async def a_call_that_waits_typed_past(play: Play) -> None:
    play.endpoint.script(call_reply(PAY, ids=("call_1",)))
    await play.turn(play.message("Buy tea."))
    play.endpoint.script(text_reply("As you like."))
    await play.turn(play.message("Never mind."))


async def played(name: str, folder: Path) -> dict[str, Json]:
    """The transcripts of a scenario by format, as the server told them."""
    scenario, model = SCENARIOS[name], ScriptedModel.of()
    counting_tools = GatedTools() if scenario.gated else CountingTools()
    values = {"system_prompt": SYSTEM_PROMPT, **scenario.values}
    if scenario.model == "offline":
        values["model"] = "offline"
    async with StrictEndpoint() as endpoint:
        configured = endpoint_settings(folder / "t.db", endpoint).model_copy(update=values)
        catalogue = CATALOGUE if scenario.model == "offline" else counting_tools.catalogue
        spoken = model if scenario.model == "scripted" else None
        async with serving(configured, catalogue, spoken) as client:
            told = {}
            for format in scenario.formats:
                counting_tools.release.clear()
                kind = AgUiPlay if format == AG_UI else Play
                play = kind(format, client, endpoint, model, counting_tools)
                await scenario.play(play)
                told[format] = {"turns": play.turns, "threads": await play.threads()}
        assert endpoint.refused == []
        assert endpoint.unplayed == 0
    return told


def file_of(name: str, format: str) -> Path:
    return FILES / f"{name}.{format}.json"


def record(folder: Path, names: Sequence[str], only: str | None = None) -> None:
    """Write the transcripts of these scenarios, in each of their formats or in one; without names
    those of all, and nothing else."""
    for old in () if names or only else folder.glob("*.json"):
        old.unlink()
    for name in names or SCENARIOS:
        with TemporaryDirectory() as directory:
            told = asyncio.run(played(name, Path(directory)))
        for format, transcript in told.items():
            if only not in (None, format):
                continue
            path = folder / file_of(name, format).name
            path.write_text(golden.written(golden.normalised(transcript)), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.golden_scenarios")
    parser.add_argument("--record", action="store_true", required=True)
    parser.add_argument("--folder", type=Path, default=FILES, help="where to write them")
    parser.add_argument("--format", help="the only one to write")
    parser.add_argument("names", nargs="*", help="of scenarios; the others stay as they are")
    given = parser.parse_args()
    folder: Path = given.folder
    folder.mkdir(parents=True, exist_ok=True)
    record(folder, given.names, given.format)
    sys.stdout.write(f"{len(list(folder.glob('*.json')))} transcripts in {folder}\n")


if __name__ == "__main__":
    main()
