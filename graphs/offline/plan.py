"""The offline model's mind: a history and the bound tools in, what to say and to call out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import BaseMessage

from turnstream.graphs.offline.again import next_try, outcome, tried
from turnstream.graphs.offline.answers import words
from turnstream.graphs.offline.ask import RENDER, SELECT, Ask, Facts
from turnstream.graphs.offline.clauses import means_all, points_back, resolve, steps
from turnstream.graphs.offline.figure import listed
from turnstream.graphs.offline.figures import figures, latest_value
from turnstream.graphs.offline.history import Result, Step, Turn, read
from turnstream.graphs.offline.intents import asks_of
from turnstream.graphs.offline.solar import LIST
from turnstream.graphs.offline.solar_words import CHARTS, chart_title
from turnstream.graphs.offline.talk import sees, talk
from turnstream.graphs.offline.today import asked_today

MAX_CHARS = 4000
"""Characters of a message; what stands behind them is not searched for asks."""

Tools = Mapping[str, Mapping[str, Any]]
"""The JSON Schema of a bound tool's arguments, by its name."""


@dataclass(frozen=True, slots=True)
class Call:
    id: str
    name: str
    args_text: str


@dataclass(frozen=True, slots=True)
class Plan:
    text: str
    calls: tuple[Call, ...] = ()


def plan(messages: Sequence[BaseMessage], tools: Tools) -> Plan:
    """The next message. Whatever happened before, a turn comes to its end: no ask is repeated."""
    turn = read(messages)
    told = words(turn.steps[-1]) if turn.steps else _arrived(turn)
    attempts = tried(turn.steps)
    again = next_try(attempts[-1]) if attempts else []
    turn = replace(turn, steps=tuple(map(outcome, attempts)))
    asks = again or _asks(turn, tools) or _charts(turn, tools)
    able = [ask for ask in asks if ask.tool in tools]
    lacking = dict.fromkeys(ask.tool for ask in asks if ask.tool not in tools)
    lead = _lead_again(attempts[-1]) if again else _lead(able, first=not turn.steps)
    said = ["" if turn.steps else sees(turn), told, _lacking([*lacking]), lead]
    if not asks and not turn.steps:
        said.append(talk(turn, tools))
    text = " ".join(filter(None, said)) or talk(turn, tools)
    calls = (
        Call(f"call_{place}", ask.tool, ask.args_text)
        for place, ask in enumerate(able, start=turn.calls + 1)
    )
    return Plan(text, tuple(calls))


def _asks(turn: Turn, tools: Tools) -> list[Ask]:
    """One step a model call: the step after those that were taken already."""
    ahead = _ordered(turn.text[:MAX_CHARS], tools)[len(turn.steps) :]
    return [ask for clause in (ahead[0] if ahead else ()) for ask in _ask(clause, turn, tools)]


def _charts(turn: Turn, tools: Tools) -> list[Ask]:
    """Ask to show what was found, unless the user has said how, or was asked."""
    results = [(place, r) for place, step in enumerate(turn.steps, start=1) for r in step]
    if RENDER not in tools or any(result.tool in (RENDER, SELECT) for _, result in results):
        return []
    return [
        Ask(
            RENDER,
            {
                "component": CHARTS[result.tool],
                "props": {"title": chart_title(result)},
                "data_from": result.call_id,
            },
        )
        for place, result in results
        if CHARTS.get(result.tool) in result.draws
        # Asked for before the last step, it only told which day it is.
        and (result.tool != LIST or place == len(turn.steps))
    ]


def _ask(clause: str, turn: Turn, tools: Tools) -> list[Ask]:
    if not points_back(clause):
        return asks_of(clause, Facts(tools, turn.steps[-1] if turn.steps else ()))
    meant = _meant(turn, everything=means_all(clause))
    value = latest_value(meant)
    if value is None and turn.steps:  # what it builds on has failed
        return []
    named = clause if value is None else resolve(clause, value)
    return asks_of(named, Facts(tools, meant, points_back=True))


def _meant(turn: Turn, *, everything: bool) -> Step:
    """The results that "them" or "it" stand for: of this turn, or else of the one before."""
    taken = turn.steps or [step for step in turn.earlier if figures(step)]
    return tuple(result for step in (taken if everything else taken[-1:]) for result in step)


_STAND_IN = Result("calculator", {}, {"expression": "1", "value": 1})


def _ordered(text: str, tools: Tools) -> list[list[str]]:
    """The message's steps. Rendering ends the turn: it comes last, behind what is to be told."""

    def asks_at(clause: str) -> list[Ask]:
        back = points_back(clause)
        facts = Facts(tools, (_STAND_IN,), points_back=back)
        return asks_of(resolve(clause, 1) if back else clause, facts)

    taken = asked_today(steps(text, lambda clause: bool(asks_at(clause))), Facts(tools))
    tools_at = {c: {ask.tool for ask in asks_at(c)} for step in taken for c in step}
    shows = {clause for clause, asked in tools_at.items() if asked == {RENDER}}
    shown = [clause for step in taken for clause in step if clause in shows]
    others = [[clause for clause in step if clause not in shows] for step in taken]
    *most, last = [step for step in others if step] or [[]]
    tells = any(tools_at[clause] - {RENDER, SELECT} for clause in last)
    if shown and (tells or (last and any(map(points_back, shown)))):
        return [*most, last, shown]
    return [*most, [*last, *shown]]


def _lead(asks: Sequence[Ask], *, first: bool) -> str:
    tools = {ask.tool for ask in asks}
    if not tools:
        return ""
    if SELECT in tools:
        return "Over to you."
    if tools == {RENDER}:
        return "Here it is."
    return "Let me work that out." if first else "On to the next step."


def _lead_again(attempts: Sequence[Step]) -> str:
    return "Let me look a week around it." if len(attempts) == 1 else "Let me look there."


def _lacking(tools: Sequence[str]) -> str:
    if not tools:
        return ""
    return f"I cannot do that here: no tool named {listed(tools)} is bound to me."


def _arrived(turn: Turn) -> str:
    """Answers that came together with the message, results of a turn that a component ended."""
    return words([r for r in turn.arrived if r.tool != RENDER and not r.failed])
