"""Turns made up by chance, each from a seed: what the model says, and what the user does then."""

import json
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from tests.clients.scripted_turns import ALERT, QUESTION
from tests.support.endpoint import Args, Call, CloseClean, Finish, Reply, Say
from tests.support.endpoint.script import FinishReason, Step

WORDS = (
    *("tide", " ", "\n\n", "moon.", "**low**", "", "naïve", "潮汐", "🌊", '"quoted"', "\\"),
    *("data: [DONE]", "\u2028", "</script>", "{", "`a`", "\t", "e\u0301", "id: 7\n", "0"),
)
After = Literal["nothing", "answer", "skip", "type past"]


@dataclass(frozen=True)
class RandomTurn:
    replies: tuple[Reply, ...]
    """Up to the end of the turn."""
    asked: tuple[str, ...]
    """The ids of its open questions."""
    then: After
    last: Reply | None
    """What the model says after that."""


def random_turn(seed: int) -> RandomTurn:
    chance = Random(seed)
    replies = [_going_on(chance, f"{seed}_{step}") for step in range(chance.randint(0, 3))]
    end, asked = _ending(chance, f"{seed}_end")
    ways: tuple[After, ...] = ("answer", "skip", "type past")
    then: After = chance.choice(ways) if asked else "nothing"
    last = None if then == "nothing" else Reply(tuple(_words(chance)))
    return RandomTurn((*replies, end), asked, then, last)


def _words(chance: Random) -> list[Step]:
    """At least one that shows: a message of nothing is no message."""
    said = [Say(chance.choice(WORDS)) for _ in range(chance.randint(0, 6))]
    return [*said, Say("so.")]


def _going_on(chance: Random, name: str) -> Reply:
    """Real calls, some of them broken, with or without words before them."""
    calls: list[Step] = []
    fragments: list[Step] = []
    for index in range(chance.randint(1, 3)):
        tool, text = _real_call(chance)
        cut = chance.randint(0, len(text))
        calls.append(Call(index, f"call_{name}_{index}", tool, text[:cut]))
        fragments += [Args(index, piece) for piece in _pieces(chance, text[cut:])]
    chance.shuffle(fragments) if len(calls) > 1 and _one_each(fragments) else None
    spoken = _words(chance) if chance.random() < 0.5 else []
    return Reply((*spoken, *calls, *fragments))


def _one_each(fragments: list[Step]) -> bool:
    """Whether their order is free: of one call it is not."""
    indices = [fragment.index for fragment in fragments if isinstance(fragment, Args)]
    return len(set(indices)) == len(indices)


def _pieces(chance: Random, text: str) -> list[str]:
    if len(text) < 2 or chance.random() < 0.3:
        return [text] if text else []
    cut = chance.randint(1, len(text) - 1)
    return [text[:cut], *_pieces(chance, text[cut:])]


def _real_call(chance: Random) -> tuple[str, str]:
    one, other = chance.randint(-9, 99), chance.choice((1.5, 0, 10**20))
    return chance.choice(
        (
            ("add", json.dumps({"a": one, "b": other})),
            ("add", json.dumps({"b": other, "a": one}, indent=1)),
            ("add", f'{{"a":{one},"b'),
            ("add", '{"a":"one"}'),
            ("add", "[1,2]"),
            ("find_bridge", json.dumps({"name": chance.choice(WORDS)}, ensure_ascii=False)),
            ("count", json.dumps({"to": chance.randint(0, 3)})),
            ("no_such_tool", "{}"),
        )
    )


def _ending(chance: Random, name: str) -> tuple[Reply, tuple[str, ...]]:
    kind = chance.choice(("words", "render", "ask", "ask twice", "all", "cut", "broken off"))
    words = (
        _words(chance) if kind in ("words", "cut", "broken off") or chance.random() < 0.5 else []
    )
    calls: dict[str, list[tuple[str, str]]] = {
        "render": [("render_ui_component", ALERT)],
        "ask": [("request_user_selection", QUESTION)],
        "ask twice": [("request_user_selection", QUESTION)] * 2,
        "all": [
            ("add", f'{{"a":{chance.randint(0, 99)},"b":2}}'),
            ("request_user_selection", QUESTION),
            ("render_ui_component", ALERT),
            ("add", "not JSON"),
        ],
    }
    said = [
        Call(index, f"call_{name}_{index}", tool, args)
        for index, (tool, args) in enumerate(calls.get(kind, []))
    ]
    asked = tuple(str(call.id) for call in said if call.name == "request_user_selection")
    reason: dict[str, FinishReason] = {"cut": "length"}
    end: list[Step] = [Finish(reason[kind])] if kind in reason else []
    end = [CloseClean()] if kind == "broken off" else end
    return Reply((*words, *said, *end)), asked


def answer(turn: RandomTurn) -> Any:
    return {"value": "sat"} if turn.then == "answer" else {"cancelled": True}
